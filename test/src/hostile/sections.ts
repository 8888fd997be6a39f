import type { RedactionMode } from '@recount/db';
import { findCorpus } from '../corpus.ts';
import { attackApi } from './attack-api.ts';
import { type ArchiveCheck, checkBombs, checkManyMembers, checkTooManyMembers } from './check-archives.ts';
import { feedMutatedLines } from './feed-mutated-lines.ts';
import { checkGiantLine, checkGiantTranscript, type GiantCheck } from './giant-inputs.ts';
import { type MemoryMeasure, measureMemory } from './measure-memory.ts';
import { toMemoryCases } from './memory-cases.ts';
import { readSeedLines } from './seed-lines.ts';

export interface HostileSettings {
  lines: number;
  seed: number;
  transcriptBytes: number;
  lineBytes: number;
  members: number;
  /** Of the workspace, in the section `memory`. */
  redaction: RedactionMode;
  /** Text in the names of the cases of the section `memory`. */
  only: string;
}

/** A section's result. Figures are for people; there must be no violations. */
export interface SectionResult {
  figures: string[];
  violations: string[];
  /** Of a process other than the section's own. */
  peakRssBytes?: number | undefined;
}

export interface Section {
  /** Memory limit; exceeding it means that something holds what it should not. */
  maxRssBytes: number;
  run(settings: HostileSettings): Promise<SectionResult>;
}

const MEBIBYTE = 1024 ** 2;
const GIBIBYTE = 1024 ** 3;
/** Besides those that were thought of. */
const RANDOM_CASES = 12;
/** For one chunk of at most 64 KiB, with lines of up to some hundreds of KiB. */
const MAX_CHUNK_MS = 10_000;

const toRate = (bytes: number, seconds: number): string => `${(bytes / seconds / MEBIBYTE).toFixed(0)} MiB/s`;

/** By name, in the order of their runs. */
export const SECTIONS: Readonly<Record<string, Section>> = {
  'mutated lines': { maxRssBytes: 800 * MEBIBYTE, run: runMutations },
  'giant transcript': {
    maxRssBytes: 400 * MEBIBYTE,
    run: async ({ transcriptBytes }) => toGiantResult(await checkGiantTranscript(transcriptBytes)),
  },
  'giant line': {
    maxRssBytes: 300 * MEBIBYTE,
    run: async ({ lineBytes }) => toGiantResult(await checkGiantLine(lineBytes)),
  },
  'tar members': {
    maxRssBytes: 300 * MEBIBYTE,
    run: async ({ members }) => toArchiveResult([await checkManyMembers('tar', members)]),
  },
  'zip members': {
    maxRssBytes: 300 * MEBIBYTE,
    run: async ({ members }) => toArchiveResult([await checkManyMembers('zip', members)]),
  },
  'too many members': {
    maxRssBytes: 300 * MEBIBYTE,
    run: async () =>
      toArchiveResult([await checkTooManyMembers('tar', 100_000), await checkTooManyMembers('zip', 100_000)]),
  },
  bombs: { maxRssBytes: 500 * MEBIBYTE, run: async () => toArchiveResult(await checkBombs(4 * GIBIBYTE)) },
  api: { maxRssBytes: 400 * MEBIBYTE, run: runApiAttack },
  // The resources that docker-compose.yml gives a worker.
  memory: { maxRssBytes: GIBIBYTE, run: runMemory },
};

async function runMutations({ lines, seed }: HostileSettings): Promise<SectionResult> {
  const seeds = await readSeedLines(findCorpus(), { maxArchiveBytes: GIBIBYTE, maxBytes: 32 * MEBIBYTE });
  const seedRssBytes = process.memoryUsage.rss();
  const startedAtMs = performance.now();
  const run = await feedMutatedLines({ seeds, lineCount: lines, seed });
  const seconds = (performance.now() - startedAtMs) / 1000;
  const figures = [
    `${run.lines} lines of ${seeds.length} in ${run.transcripts} transcripts, ${(run.bytes / MEBIBYTE).toFixed(0)} MiB`,
    `${run.rows} rows and issues, ${run.liveEvents} live events`,
    `${seconds.toFixed(0)} s: ${(run.lines / seconds).toFixed(0)} lines/s, mutation, three live readers and checks included`,
    `RSS with the lines to be mutated alone ${(seedRssBytes / MEBIBYTE).toFixed(0)} MiB`,
    `slowest piece ${run.slowestChunkMs.toFixed(0)} ms`,
  ];
  return { figures, violations: run.slowestChunkMs > MAX_CHUNK_MS ? ['a piece took too long'] : [] };
}

function toGiantResult({ seconds, bytes, messages, issues, violations }: GiantCheck): SectionResult {
  const figures = [
    `${(bytes / MEBIBYTE).toFixed(0)} MiB in ${seconds.toFixed(0)} s: ${toRate(bytes, seconds)}`,
    `${messages} messages, issues ${JSON.stringify(issues)}`,
  ];
  return { figures, violations };
}

function toArchiveResult(checks: readonly ArchiveCheck[]): SectionResult {
  return {
    figures: checks.map(
      ({ name, seconds, outcomes, decodedBytes }) =>
        `${name}: ${seconds.toFixed(1)} s, ${(decodedBytes / MEBIBYTE).toFixed(0)} MiB decoded, ${JSON.stringify(outcomes)}`,
    ),
    violations: checks.flatMap(({ name, violations }) => violations.map((violation) => `${name}: ${violation}`)),
  };
}

async function runApiAttack(): Promise<SectionResult> {
  const attack = await attackApi({ uploads: 200, damagedBodies: 2000, decodedBytes: 8 * GIBIBYTE });
  const answers = Object.entries(attack.answers).map(([name, count]) => `${name}: ${count}`);
  const figures = [`${attack.seconds.toFixed(0)} s`, ...answers];
  return { figures, violations: attack.violations, peakRssBytes: attack.peakRssBytes };
}

async function runMemory({ seed, redaction, only }: HostileSettings): Promise<SectionResult> {
  const toMebibytes = (bytes: number): string => (bytes / MEBIBYTE).toFixed(0);
  const toLine = (measure: MemoryMeasure): string =>
    [
      `worker ${toMebibytes(measure.workerPeakBytes)} MiB, API ${toMebibytes(measure.apiPeakBytes)} MiB for`,
      `${toMebibytes(measure.bytes)} MiB sent as ${(measure.sentBytes / 1024).toFixed(0)} KiB, ${measure.seconds.toFixed(0)} s:`,
      [measure.name, ...toNotes(measure), ...measure.violations].join('; '),
    ].join(' ');
  const toNotes = ({ senderPeakBytes, refusals }: MemoryMeasure): string[] => [
    ...(senderPeakBytes > 0 ? [`backfill ${toMebibytes(senderPeakBytes)} MiB`] : []),
    ...Object.entries(refusals).map(([problem, count]) => `${count} × ${problem}, then continued`),
  ];
  const toPeak = ({ workerPeakBytes, apiPeakBytes, senderPeakBytes }: MemoryMeasure): number =>
    Math.max(workerPeakBytes, apiPeakBytes, senderPeakBytes);
  const measures = await measureMemory(toMemoryCases(seed, RANDOM_CASES), { redaction, only }, (measure) =>
    console.error(`  ${toLine(measure)}`),
  );
  const [largest] = measures.toSorted((one, other) => toPeak(other) - toPeak(one));
  return {
    figures: largest === undefined ? [] : [`${measures.length} cases; the largest:`, toLine(largest)],
    violations: measures.flatMap(({ name, violations }) => violations.map((violation) => `${name}: ${violation}`)),
    peakRssBytes: largest && toPeak(largest),
  };
}
