/** What a server notes in `postmaster.pid` in its data directory. */
export interface PostmasterPid {
  pid: number;
  port: number;
}

const pidLine = 0;
const portLine = 3;
const highestPort = 65_535;

function parsePositiveInteger(text: string | undefined): number | undefined {
  if (text === undefined || !/^ *\d{1,10} *$/.test(text)) return undefined;
  const value = Number(text);
  return value > 0 ? value : undefined;
}

/** Undefined for a file that is empty or cut short, as a crash or a start in progress leaves it. */
export function parsePostmasterPid(text: string): PostmasterPid | undefined {
  const lines = text.split(/\r?\n/);
  const pid = parsePositiveInteger(lines[pidLine]);
  const port = parsePositiveInteger(lines[portLine]);
  if (pid === undefined || port === undefined || port > highestPort) return undefined;
  return { pid, port };
}
