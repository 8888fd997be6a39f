import type { Afterwards } from './check-afterwards.ts';
import type { ChaosOptions } from './run-chaos.ts';

export interface ChaosReport extends Afterwards {
  options: ChaosOptions;
  kills: Record<string, number>;
  faults: Record<string, number>;
  /** Answers that the clients got, by status. */
  answers: Record<string, number>;
  uploads: number;
  acknowledged: number;
  backfillRuns: number;
  chaosMs: number;
  longestPostgresStartMs: number;
  failedPostgresStarts: readonly string[];
}

const toTotal = (counts: Record<string, number>): number =>
  Object.values(counts).reduce((sum, count) => sum + count, 0);
const toText = (counts: Record<string, number>): string =>
  Object.entries(counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ') || 'none';
const toSeconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

export function formatReport(report: ChaosReport): string {
  const { options, kills, faults, answers, tables, failures } = report;
  const lines: (readonly [string, string])[] = [
    ['seed, store', `${options.seed}, ${options.store}`],
    ['kills', `${toTotal(kills)}: ${toText(kills)}`],
    ['faults', `${toTotal(faults)}: ${toText(faults)}`],
    [
      'uploads',
      `${report.uploads}, of which ${report.acknowledged} acknowledged; ${report.unacknowledgedThere} of the others there`,
    ],
    ['answers', toText(answers)],
    ['backfill runs', String(report.backfillRuns)],
    ['chaos', toSeconds(report.chaosMs)],
    ['until no job left', toSeconds(report.settleMs)],
    ['longest start of Postgres', toSeconds(report.longestPostgresStartMs)],
    ['failed starts of Postgres', String(report.failedPostgresStarts.length)],
    ['transcripts', toText(report.statuses)],
    ['cut off at least once', `${report.repeatedTranscripts}; most attempts at one ${report.mostAttempts}`],
    ['doctor --fix', toText(report.findings)],
    ['requeue --failed', String(report.requeued)],
    ['rows compared', toText(Object.fromEntries(Object.entries(tables).map(([name, { rows }]) => [name, rows])))],
  ];
  const width = Math.max(...lines.map(([name]) => name.length));
  const table = lines.map(([name, text]) => `${name.padEnd(width)}  ${text}`);
  const verdict =
    failures.length === 0 ? ['nothing lost, doubled or stuck'] : failures.map((text) => `FAILED: ${text}`);
  return ['', ...table, '', ...verdict].join('\n');
}
