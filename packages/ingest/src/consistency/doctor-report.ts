import type { IngestDependencies } from '../ingest-dependencies.ts';
import { createDoctorCounts, type DoctorCounts } from './check-raw-objects.ts';
import type { RebuildFinding } from './rebuild-database.ts';
import { type DoctorOptions, type Finding, runDoctor } from './run-doctor.ts';

/** In one report; the command prints all findings. */
const MAX_FINDINGS = 500;

export interface DoctorReport {
  /** The first 500, in the order of the search. */
  findings: Finding[];
  /** Number of all findings, without notices. */
  findingCount: number;
  /** The number of all findings that need a person. */
  needAttention: number;
  checked: Omit<DoctorCounts, 'skipped'>;
  skipped: DoctorCounts['skipped'];
}

/**
 * Objects without a row only take up space; a worker deletes those recorded for deletion, and what lost segments left,
 * within the hour.
 */
export const isHarmless = ({ kind }: Finding | RebuildFinding): boolean =>
  kind === 'orphan-object' ||
  kind === 'orphan-stream' ||
  kind === 'orphan-attachment' ||
  kind === 'unfinished-deletion' ||
  kind === 'lost-segments';

/**
 * A notice loses nothing, an orphan object that could be received only takes up space, and what search lacks will be indexed in time, unless it
 * fails.
 */
export function needsAttention(finding: Finding | RebuildFinding): boolean {
  if (finding.kind === 'notice') return false;
  if (finding.kind === 'search-behind') return finding.failingSessions > 0;
  if (finding.kind === 'orphan-object' && finding.obstacle !== undefined) return true;
  return !finding.fixed && !isHarmless(finding);
}

export interface ReportedDoctorOptions extends Omit<DoctorOptions, 'counts'> {
  /** Updated with what was checked, while it runs. */
  counts?: DoctorCounts;
}

/** Runs the doctor on a workspace or the whole installation, and keeps the first of its findings. */
export async function runReportedDoctor(
  deps: IngestDependencies,
  { counts = createDoctorCounts(), ...options }: ReportedDoctorOptions,
): Promise<DoctorReport> {
  const findings: Finding[] = [];
  let findingCount = 0;
  let needAttention = 0;
  for await (const finding of runDoctor(deps, { ...options, counts })) {
    // A notice disagrees with nothing.
    if (finding.kind !== 'notice') findingCount += 1;
    if (needsAttention(finding)) needAttention += 1;
    if (findings.length < MAX_FINDINGS) findings.push(finding);
  }
  const { skipped, ...checked } = counts;
  return { findings, findingCount, needAttention, checked, skipped };
}
