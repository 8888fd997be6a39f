import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { RedactionMode } from '@recount/db';
import { type HostileSettings, SECTIONS, type SectionResult } from './sections.ts';

const HELP = `Usage: pnpm hostile [--lines N] [--seed N] [--transcript-bytes N] [--line-bytes N] [--members N]
                    [--redaction MODE] [--only TEXT] [SECTION...]

Feeds what nobody should send: mutated lines, a giant transcript, a giant line, archives of very many members, bombs,
and an API under attack. Each section is a process of its own, whose peak memory is told. Exit code 1 where a section
crashes, hangs, takes too much memory, or makes rows that cannot be.

  --lines N             mutated lines, default 1000000
  --seed N              of the mutations, default 1
  --transcript-bytes N  default 2000000000
  --line-bytes N        default 1000000000
  --members N           of each archive, default 1000000
  --redaction MODE      of the workspace in memory: off (default), rows or rows-and-raw
  --only TEXT           cases of memory whose name has the text

Sections: ${Object.keys(SECTIONS).join(', ')}. Default: all.
`;

const MODES: readonly RedactionMode[] = ['off', 'rows', 'rows-and-raw'];
/** A section that takes longer hangs. */
const SECTION_TIMEOUT_MS = 60 * 60_000;
/** The flags of `recount`. A larger young generation would keep more garbage than what is measured. */
const NODE_OPTIONS = ['--max-semi-space-size=8'];
const RESULT_MARK = 'result of the section: ';

interface MeasuredResult extends SectionResult {
  peakRssBytes: number;
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      lines: { type: 'string', default: '1000000' },
      seed: { type: 'string', default: '1' },
      'transcript-bytes': { type: 'string', default: '2000000000' },
      'line-bytes': { type: 'string', default: '1000000000' },
      members: { type: 'string', default: '1000000' },
      redaction: { type: 'string', default: 'off' },
      only: { type: 'string', default: '' },
      section: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  const settings: HostileSettings = {
    lines: Number(values.lines),
    seed: Number(values.seed),
    transcriptBytes: Number(values['transcript-bytes']),
    lineBytes: Number(values['line-bytes']),
    members: Number(values.members),
    redaction: values.redaction as RedactionMode,
    only: values.only,
  };
  const names = positionals.length === 0 ? Object.keys(SECTIONS) : positionals;
  const { redaction, only: _, ...sizes } = settings;
  const isValid =
    Object.values(sizes).every((value) => Number.isSafeInteger(value) && value >= 1) && MODES.includes(redaction);
  if (values.help || !isValid || names.some((name) => !Object.hasOwn(SECTIONS, name))) {
    console.log(HELP);
    return values.help ? 0 : 2;
  }
  if (values.section !== undefined) return await runSection(values.section, settings);
  const failed: string[] = [];
  for (const name of names) if (!(await reportSection(name))) failed.push(name);
  console.log(failed.length === 0 ? '\nnothing crashed, hung or grew' : `\nFAILED: ${failed.join(', ')}`);
  return failed.length === 0 ? 0 : 1;
}

/** Runs a section in a separate process and prints its result; returns false if it has violations. */
async function reportSection(name: string): Promise<boolean> {
  const child = spawn(
    process.execPath,
    [...NODE_OPTIONS, fileURLToPath(import.meta.url), ...process.argv.slice(2), '--section', name],
    { stdio: ['ignore', 'pipe', 'inherit'], timeout: SECTION_TIMEOUT_MS, killSignal: 'SIGKILL' },
  );
  const [output, [exitCode, signal]] = await Promise.all([text(child.stdout), once(child, 'close')]);
  const line = output.split('\n').find((candidate) => candidate.startsWith(RESULT_MARK));
  if (line === undefined) {
    console.log(`\n${name}\n  FAILED: it ended with ${signal ?? exitCode}`);
    return false;
  }
  const { figures, violations, peakRssBytes } = JSON.parse(line.slice(RESULT_MARK.length)) as MeasuredResult;
  const peakRss = `peak RSS ${(peakRssBytes / 1024 ** 2).toFixed(0)} MiB`;
  const limit = SECTIONS[name]?.maxRssBytes ?? 0;
  if (peakRssBytes > limit) violations.push(`${peakRss} is more than ${limit / 1024 ** 2} MiB`);
  const lines = [...figures, peakRss, ...violations.map((violation) => `FAILED: ${violation}`)];
  console.log([`\n${name}`, ...lines].join('\n  '));
  return violations.length === 0;
}

async function runSection(name: string, settings: HostileSettings): Promise<number> {
  const result = await SECTIONS[name]?.run(settings);
  const peakRssBytes = result?.peakRssBytes ?? process.resourceUsage().maxRSS * 1024;
  console.log(RESULT_MARK + JSON.stringify({ ...result, peakRssBytes }));
  return 0;
}

process.exitCode = await main();
