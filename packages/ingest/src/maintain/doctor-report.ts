import type { IngestDependencies } from '../ingest-dependencies.ts';
import { createDoctorCounts, type DoctorCounts } from './check-raw-objects.ts';
import type { RebuildFinding } from './rebuild-database.ts';
import { type DoctorOptions, type Finding, runDoctor } from './run-doctor.ts';

/** Of one report; the command prints all. */
const MAX_FINDINGS = 500;

export interface DoctorReport {
  /** The first 500, in the order of the search. */
  findings: Finding[];
  /** All. */
  findingCount: number;
  /** Of all, those that somebody must see to. */
  needAttention: number;
  checked: Omit<DoctorCounts, 'skipped'>;
  skipped: DoctorCounts['skipped'];
}

/** What nothing names takes up room, and no more; what was to be deleted, a worker deletes within the hour. */
export const isHarmless = ({ kind }: Finding | RebuildFinding): boolean =>
  kind === 'orphan-object' ||
  kind === 'orphan-stream' ||
  kind === 'orphan-attachment' ||
  kind === 'unfinished-deletion';

/** An orphan object that could be received takes up room, and what search lacks it gets in time, unless it fails. */
export function needsAttention(finding: Finding | RebuildFinding): boolean {
  if (finding.kind === 'search-behind') return finding.failingSessions > 0;
  if (finding.kind === 'orphan-object' && finding.obstacle !== undefined) return true;
  return !finding.fixed && !isHarmless(finding);
}

export interface ReportedDoctorOptions extends Omit<DoctorOptions, 'counts'> {
  /** Counts what was looked at, while it runs. */
  counts?: DoctorCounts;
}

/** Has the doctor examine a workspace or the installation, and keeps the first of what it finds. */
export async function runReportedDoctor(
  deps: IngestDependencies,
  { counts = createDoctorCounts(), ...options }: ReportedDoctorOptions,
): Promise<DoctorReport> {
  const findings: Finding[] = [];
  let findingCount = 0;
  let needAttention = 0;
  for await (const finding of runDoctor(deps, { ...options, counts })) {
    findingCount += 1;
    if (needsAttention(finding)) needAttention += 1;
    if (findings.length < MAX_FINDINGS) findings.push(finding);
  }
  const { skipped, ...checked } = counts;
  return { findings, findingCount, needAttention, checked, skipped };
}
