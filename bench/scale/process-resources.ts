import { readdir, readFile } from 'node:fs/promises';

/** Linux reports CPU times in hundredths of a second, whatever the machine. */
const TICKS_PER_SECOND = 100;

interface ProcessTimes {
  parentPid: number;
  /** User and kernel mode. */
  cpuSeconds: number;
  /** Of its children that have ended. */
  endedChildrenCpuSeconds: number;
}

/** CPU time of a process, in user and kernel mode. Linux only. */
export async function readCpuSeconds(pid: number): Promise<number> {
  return parseTimes(await readFile(`/proc/${pid}/stat`, 'utf8')).cpuSeconds;
}

/**
 * CPU time of a process's parent and all of its children, running and ended. Given any backend, that is the whole
 * server.
 */
export async function readServerCpuSeconds(backendPid: number): Promise<number> {
  const { parentPid } = parseTimes(await readFile(`/proc/${backendPid}/stat`, 'utf8'));
  const server = parseTimes(await readFile(`/proc/${parentPid}/stat`, 'utf8'));
  let seconds = server.cpuSeconds + server.endedChildrenCpuSeconds;
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    // A process that ended since the folder was listed counts among the ended children next time.
    const text = await readFile(`/proc/${name}/stat`, 'utf8').catch(() => undefined);
    const times = text === undefined ? undefined : parseTimes(text);
    if (times?.parentPid === parentPid) seconds += times.cpuSeconds;
  }
  return seconds;
}

/** The most memory that a process has had resident so far. Linux only. */
export async function readPeakRssBytes(pid: number): Promise<number> {
  const [, kilobytes] = /^VmHWM:\s*(\d+) kB$/m.exec(await readFile(`/proc/${pid}/status`, 'utf8')) ?? [];
  if (kilobytes === undefined) throw new Error(`Process ${pid} has ended`);
  return Number(kilobytes) * 1024;
}

function parseTimes(stat: string): ProcessTimes {
  // The program's name is in parentheses and may contain spaces.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [userTicks = 0, kernelTicks = 0, childUserTicks = 0, childKernelTicks = 0] = fields.slice(11, 15).map(Number);
  return {
    parentPid: Number(fields[1]),
    cpuSeconds: (userTicks + kernelTicks) / TICKS_PER_SECOND,
    endedChildrenCpuSeconds: (childUserTicks + childKernelTicks) / TICKS_PER_SECOND,
  };
}
