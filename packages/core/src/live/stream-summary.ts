import { COST_UNITS_PER_USD } from '../pricing/price-table.ts';
import { combineTokens, type TokenCounts } from './token-counts.ts';

/** What is known of a stream so far, or in the end. */
export interface StreamSummary {
  /** The agent's own id of the session (Codex, Amp: of the thread), or null while unknown. */
  agentSessionId: string | null;
  /** The first one named, or null. */
  model: string | null;
  /** Counted from the lines, each API response once. */
  tokens: TokenCounts;
  /** `session` where `tokens` include earlier runs of a resumed session, as Codex counts them. */
  tokensCover: 'stream' | 'session';
  /** The agent's own total, where it gives one; `tokens` fall short of it where lines hold mere placeholders. */
  reportedTokens: TokenCounts | null;
  /** The agent's own cumulative cost, the latest; null where it gives none. */
  costUsd: number | null;
  /** The last result, or null where none came. `error` is the agent's code for a failure. */
  lastResult: { success: boolean; error: string | null } | null;
  /** Why the last API response ended, e.g. `end_turn` or `tool_use`. */
  stopReason: string | null;
  /** JSON objects read. */
  lineCount: number;
  warningCount: number;
  /** Milliseconds since 1970 when the last line was received, or null. */
  lastActivityMs: number | null;
}

/** How the agent's process ended. */
export interface AgentExit {
  /** Null where a signal ended it. */
  exitCode: number | null;
  /** E.g. `SIGTERM`, or null. */
  signal: string | null;
  /** The end of what it wrote to stderr; see createTextTail. */
  stderrTail?: string | undefined;
}

export interface StreamOutcome {
  state: 'complete' | 'error';
  success: boolean;
  /** SIGTERM or SIGKILL ended the agent. */
  aborted: boolean;
  /** Null on success. Quotes stderr, never the stream. */
  error: string | null;
  stopReason: string | null;
}

/** Signals, and the exit codes by which shells and agents pass them on. */
const ABORTING = new Set<string | number | null>(['SIGTERM', 'SIGKILL', 143, 137]);
/** Stop reasons after which the agent itself would have gone on. */
const UNFINISHED = new Set<string | null>([null, 'tool_use', 'pause_turn']);

/**
 * How a stream ended. Exit code 0 is success unless the agent's result says otherwise, also where no result came. Where
 * nothing is known of the process, the result decides, and without one whether the last response ended its turn.
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

/** Figures of a session, as they are kept. */
export interface SessionTotals {
  tokens: TokenCounts;
  costUsd: number | null;
  model: string | null;
}

/** What a session has when a stream of it closes: what it had, and the stream's. */
export function addStreamTotals(
  session: SessionTotals,
  stream: SessionTotals & Pick<StreamSummary, 'tokensCover'>,
): SessionTotals {
  return {
    tokens: combineTokens(session.tokens, stream.tokens, stream.tokensCover === 'session' ? Math.max : undefined),
    costUsd: addCost(session.costUsd, stream.costUsd),
    model: session.model ?? stream.model,
  };
}

function addCost(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : roundCost(a + b);
}

/** To units of 1e-10 dollars, in which all costs are counted. */
export function roundCost(costUsd: number): number {
  return Math.round(costUsd * COST_UNITS_PER_USD) / COST_UNITS_PER_USD;
}
