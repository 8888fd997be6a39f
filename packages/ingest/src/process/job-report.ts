import type { IngestJob } from '@recount/db';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import type { OutageGate } from './outage-gate.ts';

/** A worker's report about a job; never contains text of the transcript. */
export interface JobReport extends IngestJob {
  /** `alone` means taken in a batch, and left to be done separately; with the reason if the batch failed. */
  outcome: 'done' | 'superseded' | 'gone' | 'alone' | 'failed' | 'outage' | 'handed-back';
  durationMs: number;
  sizeBytes?: number;
  attempt?: number;
  reason?: string;
  /** The kind of the failure, for counting. */
  failureKind?: string;
}

export type HandleDeps = Pick<IngestDependencies, 'database' | 'rawStore'> & {
  onReport: (report: JobReport) => void;
  /** Defaults to none, so that every outage counts against the job's limit. */
  outages?: Pick<OutageGate, 'isShared'>;
};
