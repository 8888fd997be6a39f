import type { StoredTranscript } from '../deliver/delivery-target.ts';
import {
  type BackfillFailure,
  type BackfillOutcome,
  type BackfillReport,
  type BackfillSkipReason,
  createReport,
  MAX_KEPT_FAILURES,
} from './backfill-report.ts';

export type BackfillEvent =
  /** Counts changed, or more input was consumed. */
  | { kind: 'progress' }
  /** Every source is read and delivered: from here on, the run waits for ingestion and search. */
  | { kind: 'delivered' }
  /**
   * `transcript` is set once the target has it. An item that is awaited has two outcomes: `queued`, then the final one.
   */
  | { kind: 'outcome'; location: string; outcome: BackfillOutcome; reason?: string; transcript?: StoredTranscript }
  /** The target is temporarily unavailable: it is tried again after the pause. */
  | { kind: 'retrying'; reason: string; delayMs: number }
  /** For a while, no waiting item was ingested or worked on: perhaps no worker is running. */
  | { kind: 'stalled'; waitingCount: number };

export type OnBackfillEvent = (event: BackfillEvent, report: Readonly<BackfillReport>) => void;

export interface BackfillTally {
  report: BackfillReport;
  emit(event: BackfillEvent): void;
  count(location: string, outcome: Exclude<BackfillOutcome, 'skipped' | 'failed'>, transcript?: StoredTranscript): void;
  countSkipped(location: string, reason: BackfillSkipReason): void;
  countFailed(failure: BackfillFailure, transcript?: StoredTranscript): void;
}

const COUNTERS = {
  queued: 'queued',
  ingested: 'ingested',
  superseded: 'superseded',
  'already-there': 'alreadyThere',
  healed: 'healed',
  new: 'new',
} as const;

/** Maintains a run's report and emits each change. */
export function createTally(onEvent: OnBackfillEvent | undefined): BackfillTally {
  const report = createReport();
  const emit = (event: BackfillEvent): void => onEvent?.(event, report);
  return {
    report,
    emit,
    count(location, outcome, transcript) {
      report[COUNTERS[outcome]] += 1;
      emit({ kind: 'outcome', location, outcome, ...(transcript && { transcript }) });
    },
    countSkipped(location, reason) {
      report.skipped += 1;
      report.skippedByReason[reason] = (report.skippedByReason[reason] ?? 0) + 1;
      emit({ kind: 'outcome', location, outcome: 'skipped', reason });
    },
    countFailed({ location, reason }, transcript) {
      report.failed += 1;
      if (report.failures.length < MAX_KEPT_FAILURES) report.failures.push({ location, reason });
      emit({ kind: 'outcome', location, outcome: 'failed', reason, ...(transcript && { transcript }) });
    },
  };
}
