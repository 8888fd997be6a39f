import type { AgentExit, CloseEvent, StreamOutcome } from './live-event.ts';
import type { StreamSummary } from './stream-summary.ts';

/** Signals, and the exit codes that shells and agents report for them. */
const ABORTING = new Set<string | number | null>(['SIGTERM', 'SIGKILL', 143, 137]);
/** Stop reasons where the agent would have continued. */
const UNFINISHED = new Set<string | null>([null, 'tool_use', 'pause_turn']);

/** The last event of a stream. */
export function toCloseEvent(timestampMs: number, exit?: AgentExit, summary?: StreamSummary): CloseEvent {
  const outcome = toStreamOutcome(summary ?? { lastResult: null, stopReason: null }, exit);
  return { type: 'close', timestampMs, ...outcome, exit, summary };
}

/**
 * The end of a stream. Exit code 0 is success unless the agent's result says otherwise; a missing result does not
 * matter. Without facts about the process, the result decides, and without a result, whether the last response ended
 * its turn.
 */
export function toStreamOutcome(
  summary: Pick<StreamSummary, 'lastResult' | 'stopReason'>,
  exit?: AgentExit,
): StreamOutcome {
  const { lastResult, stopReason } = summary;
  const aborted = exit !== undefined && (ABORTING.has(exit.signal) || ABORTING.has(exit.exitCode));
  const error = toExitError(exit) ?? toResultError(lastResult);
  const isCutOff = exit === undefined && lastResult === null && UNFINISHED.has(stopReason);
  const message = error ?? (isCutOff ? 'The stream ended within a turn' : null);
  const success = message === null;
  return { state: success ? 'complete' : 'error', success, aborted, error: message, stopReason };
}

function toExitError(exit: AgentExit | undefined): string | null {
  if (exit === undefined || (exit.exitCode === 0 && exit.signal === null)) return null;
  const how = exit.signal === null ? `exited with code ${exit.exitCode}` : `was ended by ${exit.signal}`;
  const stderr = exit.stderrTail?.trim() ?? '';
  return `The agent ${how}${stderr === '' ? '' : `: ${stderr}`}`;
}

function toResultError(result: StreamSummary['lastResult']): string | null {
  return result === null || result.success ? null : `The agent reported ${result.error ?? 'an error'}`;
}
