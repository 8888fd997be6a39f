import type { DrainFigures } from './drain-queue.ts';
import type { ReceivedFleet } from './receive-fleet.ts';
import type { RelationSize } from './server-counters.ts';

/** Relations smaller than this share of the raw bytes are summed up. */
const MIN_RELATION_SHARE = 0.01;
const MIN_BACKENDS = 0.05;

/** The figures of all runs as the tables of docs/scaling.md. */
export function toReport(fleet: ReceivedFleet, runs: readonly DrainFigures[], sizes: readonly RelationSize[]): string {
  const groups = [...Map.groupBy(runs, ({ workers }) => workers)].sort(([a], [b]) => a - b);
  const means = groups.map(([, group]) => toMean(group));
  const sections = [
    `${fleet.transcripts} transcripts, ${toFixed(fleet.bytes / 1e6, 0)} MB; mean of ${runs.length / groups.length} runs each`,
    toRateTable(fleet, means),
    toCostTable(fleet, means),
    toWaitTable(means),
    toShareTable(fleet, runs),
    toSearchTable(fleet, means),
    toSizeTable(fleet, sizes),
  ];
  return sections.filter((section) => section !== '').join('\n\n');
}

type Mean = Omit<DrainFigures, 'statementShares' | 'withSearch'> & {
  withSearch: Pick<DrainFigures['withSearch'], 'workerCpuSeconds' | 'postgresCpuSeconds' | 'walBytes'>;
};

function toMean(group: readonly DrainFigures[]): Mean {
  const mean = (of: (run: DrainFigures) => number): number =>
    group.reduce((sum, run) => sum + of(run), 0) / group.length;
  const waits = new Set(group.flatMap(({ backendsByWait }) => Object.keys(backendsByWait)));
  return {
    workers: mean((run) => run.workers),
    seconds: mean((run) => run.seconds),
    workerCpuSeconds: mean((run) => run.workerCpuSeconds),
    postgresCpuSeconds: mean((run) => run.postgresCpuSeconds),
    walBytes: mean((run) => run.walBytes),
    walPageBytes: mean((run) => run.walPageBytes),
    commits: mean((run) => run.commits),
    deadlocks: mean((run) => run.deadlocks),
    statements: mean((run) => run.statements),
    backendsByWait: Object.fromEntries(
      [...waits].map((wait) => [wait, mean(({ backendsByWait }) => backendsByWait[wait] ?? 0)]),
    ),
    secondsWithSearch: mean((run) => run.secondsWithSearch),
    withSearch: {
      workerCpuSeconds: mean(({ withSearch }) => withSearch.workerCpuSeconds),
      postgresCpuSeconds: mean(({ withSearch }) => withSearch.postgresCpuSeconds),
      walBytes: mean(({ withSearch }) => withSearch.walBytes),
    },
  };
}

function toRateTable({ transcripts, bytes }: ReceivedFleet, means: readonly Mean[]): string {
  const [first] = means;
  return toTable(
    ['worker processes', 'transcripts/s', 'MB/s', 'speed-up', 'worker CPU s', 'Postgres CPU s', 'cores busy'],
    means.map((mean) => [
      `${mean.workers}`,
      toFixed(transcripts / mean.seconds, 1),
      toFixed(bytes / 1e6 / mean.seconds, 1),
      toFixed((first?.seconds ?? Number.NaN) / mean.seconds, 2),
      toFixed(mean.workerCpuSeconds, 1),
      toFixed(mean.postgresCpuSeconds, 1),
      toFixed((mean.workerCpuSeconds + mean.postgresCpuSeconds) / mean.seconds, 2),
    ]),
  );
}

function toCostTable({ transcripts, bytes }: ReceivedFleet, means: readonly Mean[]): string {
  const megabytes = bytes / 1e6;
  return toTable(
    [
      'worker processes',
      'worker CPU ms/MB',
      'Postgres CPU ms/MB',
      'WAL MB/MB',
      'of it whole pages',
      'commits/transcript',
      'statements/transcript',
      'deadlocks',
    ],
    means.map((mean) => [
      `${mean.workers}`,
      toFixed((mean.workerCpuSeconds * 1000) / megabytes, 1),
      toFixed((mean.postgresCpuSeconds * 1000) / megabytes, 1),
      toFixed(mean.walBytes / bytes, 2),
      toFixed(mean.walPageBytes / bytes, 2),
      toFixed(mean.commits / transcripts, 1),
      toFixed(mean.statements / transcripts, 1),
      `${mean.deadlocks}`,
    ]),
  );
}

function toWaitTable(means: readonly Mean[]): string {
  const waits = [...new Set(means.flatMap(({ backendsByWait }) => Object.keys(backendsByWait)))]
    .filter((wait) => means.some(({ backendsByWait }) => (backendsByWait[wait] ?? 0) >= MIN_BACKENDS))
    .sort();
  return toTable(
    ['active backends on average', ...means.map(({ workers }) => `${workers} workers`)],
    waits.map((wait) => [wait, ...means.map(({ backendsByWait }) => toFixed(backendsByWait[wait] ?? 0, 2))]),
  );
}

/** Only of runs with one worker, because waiting for each other would count as the server's time. */
function toShareTable({ transcripts, bytes }: ReceivedFleet, runs: readonly DrainFigures[]): string {
  const [run] = runs.toSorted((a, b) => a.workers - b.workers);
  if (run === undefined) return '';
  const totalMs = run.statementShares.reduce((sum, { milliseconds }) => sum + milliseconds, 0);
  return toTable(
    [`statements for, ${run.workers} worker`, 'share of server time', 'ms/transcript', 'calls/transcript', 'WAL MB/MB'],
    run.statementShares.map(({ purpose, milliseconds, calls, walBytes }) => [
      purpose,
      `${toFixed((milliseconds / totalMs) * 100, 0)} %`,
      toFixed(milliseconds / transcripts, 2),
      toFixed(calls / transcripts, 1),
      toFixed(walBytes / bytes, 2),
    ]),
  );
}

/**
 * Workers without a job index for search while others still ingest, so only this says the total gain of more workers.
 */
function toSearchTable({ bytes }: ReceivedFleet, means: readonly Mean[]): string {
  const megabytes = bytes / 1e6;
  const [first] = means;
  return toTable(
    ['with search, worker processes', 'MB/s', 'speed-up', 'worker CPU ms/MB', 'Postgres CPU ms/MB', 'WAL MB/MB'],
    means.map(({ workers, secondsWithSearch, withSearch }) => [
      `${workers}`,
      toFixed(megabytes / secondsWithSearch, 1),
      toFixed((first?.secondsWithSearch ?? Number.NaN) / secondsWithSearch, 2),
      toFixed((withSearch.workerCpuSeconds * 1000) / megabytes, 1),
      toFixed((withSearch.postgresCpuSeconds * 1000) / megabytes, 1),
      toFixed(withSearch.walBytes / bytes, 2),
    ]),
  );
}

function toSizeTable({ bytes, transcripts }: ReceivedFleet, sizes: readonly RelationSize[]): string {
  const isLarge = (size: RelationSize): boolean => size.bytes >= bytes * MIN_RELATION_SHARE;
  const sum = (some: readonly RelationSize[]): number => some.reduce((total, size) => total + size.bytes, 0);
  const toRow = (name: string, kind: string, relationBytes: number): string[] => [
    name,
    kind,
    toFixed(relationBytes / 1e6, 1),
    toFixed(relationBytes / bytes, 3),
    toFixed(relationBytes / 1e3 / transcripts, 1),
  ];
  return toTable(
    ['on disk', 'kind', 'MB', 'MB/MB', 'KB/transcript'],
    [
      ...sizes.filter(isLarge).map(({ name, kind, bytes: relationBytes }) => toRow(name, kind, relationBytes)),
      toRow('the others', '', sum(sizes.filter((size) => !isLarge(size)))),
      toRow('all', '', sum(sizes)),
    ],
  );
}

function toTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const toLine = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const rule = header.map((_, index) => (index === 0 ? '---' : '---:'));
  return [header, rule, ...rows].map(toLine).join('\n');
}

const toFixed = (value: number, digits: number): string => value.toFixed(digits);
