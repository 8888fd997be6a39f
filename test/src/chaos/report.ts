import type { Afterwards } from './check-afterwards.ts';
import type { ClusterOptions } from './cluster.ts';
import type { StoreKind } from './installation.ts';

export interface ChaosOptions {
  kills: number;
  /** Seed of victims, faults and uploads. The timing still depends on the machine. */
  seed: number;
  store: StoreKind;
  /** Folder or archives of transcripts; undefined means the samples. */
  corpus: string | undefined;
  /** Defaults to a separate PostgreSQL. */
  cluster?: ClusterOptions | undefined;
  /** Leaves logs and data behind. */
  keep?: boolean;
  onProgress?: (text: string) => void;
}

export interface ChaosReport extends Afterwards {
  options: ChaosOptions;
  kills: Record<string, number>;
  faults: Record<string, number>;
  attacks: Record<string, number>;
  /** Damaged raw objects healed by uploads during the faults whose answer arrived. */
  healedByClients: number;
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
  const { options, kills, faults, attacks, answers, tables, failures } = report;
  const lines: (readonly [string, string])[] = [
    ['seed, store', `${options.seed}, ${options.store}${options.cluster === undefined ? '' : ', on Citus'}`],
    ['kills', `${toTotal(kills)}: ${toText(kills)}`],
    ['faults', `${toTotal(faults)}: ${toText(faults)}`],
    ['attacks', `${toTotal(attacks)}: ${toText(attacks)}`],
    ['healed by uploads', `${report.healedByClients} under fire, ${report.healedAfterwards} afterwards`],
    [
      'uploads',
      `${report.uploads}, of which ${report.acknowledged} acknowledged; ${report.unacknowledgedThere} of the others there`,
    ],
    ['answers', toText(answers)],
    ['put off by a full disk', `${report.putOffByFullDisk} jobs`],
    ['backfill runs', String(report.backfillRuns)],
    ['chaos', toSeconds(report.chaosMs)],
    ['until no job left', toSeconds(report.settleMs)],
    ['longest start of Postgres', toSeconds(report.longestPostgresStartMs)],
    ['failed starts of Postgres', String(report.failedPostgresStarts.length)],
    ['transcripts', toText(report.statuses)],
    ['cut off at least once', `${report.repeatedTranscripts}; most attempts at one ${report.mostAttempts}`],
    ['doctor --fix', toText(report.findings)],
    ['rebuild and ingestion', toSeconds(report.rebuildMs)],
    ['requeue --failed', String(report.requeued)],
    ['rows compared', toText(Object.fromEntries(Object.entries(tables).map(([name, { rows }]) => [name, rows])))],
  ];
  const width = Math.max(...lines.map(([name]) => name.length));
  const table = lines.map(([name, text]) => `${name.padEnd(width)}  ${text}`);
  const verdict =
    failures.length === 0 ? ['nothing lost, doubled, damaged or stuck'] : failures.map((text) => `FAILED: ${text}`);
  return ['', ...table, '', ...verdict].join('\n');
}
