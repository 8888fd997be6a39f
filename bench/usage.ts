import { execFile } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { parseArgs, promisify } from 'node:util';
import { generateTranscript } from './generate-transcript.ts';

/**
 * `pnpm bench:usage` alternates `recount usage daily` and, if given, `ccusage claude daily --offline` over the same
 * history, each in its own process, and prints medians, and their ratios to ccusage. Requires GNU time.
 *
 *   --projects <folder>   Claude Code's `projects`; default: a generated history
 *   --size <MB>           of the generated history (default 1000)
 *   --recount <program>   default: the one of this checkout; the package starts faster
 *   --ccusage <program>   its native program, such as node_modules/@ccusage/ccusage-linux-x64/bin/ccusage
 *   --runs <n>            default 5
 */
const { values } = parseArgs({
  options: {
    projects: { type: 'string' },
    size: { type: 'string', default: '1000' },
    recount: { type: 'string', default: join(import.meta.dirname, '../apps/cli/bin/recount.mjs') },
    ccusage: { type: 'string' },
    runs: { type: 'string', default: '5' },
  },
});

const CCUSAGE = 'ccusage claude daily --offline';
const FILE_MB = 5;
const MB = 1_000_000;

interface Run {
  cpuSeconds: number;
  wallSeconds: number;
  peakRssMiB: number;
}

const folder = await mkdtemp(join(tmpdir(), 'recount-bench-usage-'));
try {
  await mkdir(join(folder, '.claude'));
  if (values.projects === undefined) await generate();
  else await symlink(resolve(values.projects), join(folder, '.claude/projects'));
  await compare();
} finally {
  await rm(folder, { recursive: true, force: true });
}

async function generate(): Promise<void> {
  const projects = join(folder, '.claude/projects');
  await mkdir(join(projects, '-bench'), { recursive: true });
  for (let seed = 1; seed <= Number(values.size) / FILE_MB; seed += 1) {
    const bytes = Readable.from(generateTranscript({ seed, targetBytes: FILE_MB * MB }));
    await pipeline(bytes, createWriteStream(join(projects, '-bench', `session-${seed}.jsonl`)));
  }
}

async function compare(): Promise<void> {
  const recount = [process.execPath, resolve(values.recount)];
  const commands: [string, string[]][] = [
    ['recount usage daily, cold', [...recount, 'usage', 'daily', '--no-cache']],
    ['recount usage daily, second call', [...recount, 'usage', 'daily']],
    ['recount usage statusline', [...recount, 'usage', 'statusline']],
    ['node -e 0', [process.execPath, '-e', '0']],
  ];
  if (values.ccusage !== undefined)
    commands.splice(1, 0, [CCUSAGE, [resolve(values.ccusage), 'claude', 'daily', '--offline']]);
  const runs = new Map(commands.map(([name]) => [name, [] as Run[]]));
  // The first round compiles and fills the cache.
  for (let round = 0; round <= Number(values.runs); round += 1) {
    for (const [name, command] of commands) {
      const run = await measure(command);
      if (round > 0) runs.get(name)?.push(run);
    }
  }
  const medians = new Map([...runs].map(([name, measured]) => [name, toMedians(measured)]));
  const other = medians.get(CCUSAGE);
  console.log('command | processor s | wall s | peak RSS MiB | processor, wall ÷ ccusage');
  for (const [name, { cpuSeconds, wallSeconds, peakRssMiB }] of medians) {
    const ratios = other && [cpuSeconds / other.cpuSeconds, wallSeconds / other.wallSeconds];
    const cells = [cpuSeconds.toFixed(3), wallSeconds.toFixed(3), peakRssMiB.toFixed(0)];
    console.log([name, ...cells, ratios?.map((ratio) => ratio.toFixed(2)).join(', ') ?? '–'].join(' | '));
  }
}

function toMedians(measured: readonly Run[]): Run {
  const median = (pick: (run: Run) => number): number =>
    measured.map(pick).sort((one, other) => one - other)[Math.floor(measured.length / 2)] ?? Number.NaN;
  return {
    cpuSeconds: median((run) => run.cpuSeconds),
    wallSeconds: median((run) => run.wallSeconds),
    peakRssMiB: median((run) => run.peakRssMiB),
  };
}

async function measure([program = '', ...words]: string[]): Promise<Run> {
  const env = { PATH: process.env.PATH, HOME: folder, CLAUDE_CONFIG_DIR: join(folder, '.claude'), TZ: 'UTC' };
  const time = ['-f', '%U %S %e %M', program, ...words];
  const { stderr } = await promisify(execFile)('/usr/bin/time', time, { env, maxBuffer: 64 * MB });
  const [user = 0, system = 0, wall = 0, rssKiB = 0] = (stderr.trim().split('\n').at(-1) ?? '').split(' ').map(Number);
  return { cpuSeconds: user + system, wallSeconds: wall, peakRssMiB: rssKiB / 1024 };
}
