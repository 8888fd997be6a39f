import { toBilledRequestKey } from '../assemble/open-response.ts';
import type { ResponseRecord, RunRecord, SessionRecord, TurnEndRecord } from '../records/records.ts';
import { COST_UNITS_PER_USD, type ReportedTotals } from '../records/rows.ts';
import { toFinalUsage, type Usage } from '../records/usage.ts';

/** Tokens as Anthropic's API counts them: `input` excludes what was read from or written to the cache. */
export interface TokenCounts {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
}

const NO_TOKENS: Readonly<TokenCounts> = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

export function toTokenCounts(usage: Usage): TokenCounts {
  return {
    input: usage.inputTokens,
    output: usage.outputTokens,
    cacheRead: usage.cacheReadTokens,
    cacheWrite: usage.cacheWriteTokens,
  };
}

function combineTokens(
  a: TokenCounts,
  b: TokenCounts,
  combine: (a: number, b: number) => number = (x, y) => x + y,
): TokenCounts {
  return {
    input: combine(a.input, b.input),
    output: combine(a.output, b.output),
    cacheRead: combine(a.cacheRead, b.cacheRead),
    cacheWrite: combine(a.cacheWrite, b.cacheWrite),
  };
}

interface TokenAccumulator {
  /** Takes in the usage on one line of a response and returns the response's figure so far. */
  add(key: string | null, usage: Usage): { counts: TokenCounts; isFirst: boolean };
  readonly total: TokenCounts;
}

/** Responses whose later lines are still recognised; the lines of a response are close together. */
const MAX_OPEN_MESSAGES = 10_000;

/** Counts every response once, however many lines carry its id and usage. Without a key, each line is a response. */
export function createTokenAccumulator(): TokenAccumulator {
  const open = new Map<string, Usage>();
  let total: TokenCounts = NO_TOKENS;
  return {
    add(key, usage) {
      const before = key === null ? undefined : open.get(key);
      const after = before === undefined ? usage : toFinalUsage(before, usage);
      if (key !== null) {
        open.delete(key);
        open.set(key, after);
        const oldest = open.size > MAX_OPEN_MESSAGES ? open.keys().next().value : undefined;
        if (oldest !== undefined) open.delete(oldest);
      }
      const counts = toTokenCounts(after);
      const grown = before === undefined ? counts : combineTokens(counts, toTokenCounts(before), (a, b) => a - b);
      total = combineTokens(total, grown);
      return { counts, isFirst: before === undefined };
    },
    get total() {
      return total;
    },
  };
}

/** What is known about a stream so far, or at its end. */
export interface StreamSummary {
  /** The agent's own id of the session (for Codex and Amp, of the thread), or null while unknown. */
  agentSessionId: string | null;
  /** The first model named, or null. */
  model: string | null;
  /** Counted from the lines, each API response once. */
  tokens: TokenCounts;
  /** `session` if `tokens` include earlier runs of a resumed session, as Codex counts them. */
  tokensCover: 'stream' | 'session';
  /** The agent's own total, if it gives one; `tokens` are lower if lines hold only placeholders. */
  reportedTokens: TokenCounts | null;
  /** The agent's own latest cumulative cost; null if it gives none. */
  costUsd: number | null;
  /** The last result, or null if none came. `error` is the agent's code for a failure. */
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
  /** Null if a signal ended it. */
  exitCode: number | null;
  /** E.g. `SIGTERM`, or null. */
  signal: string | null;
  /** The end of its stderr; see createTextTail. */
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

/** Signals, and the exit codes with which shells and agents report them. */
const ABORTING = new Set<string | number | null>(['SIGTERM', 'SIGKILL', 143, 137]);
/** Stop reasons after which the agent would have continued. */
const UNFINISHED = new Set<string | null>([null, 'tool_use', 'pause_turn']);

/**
 * How a stream ended. Exit code 0 is success unless the agent's result says otherwise; a missing result does not
 * matter. If nothing is known about the process, the result decides, and without a result, whether the last response
 * ended its turn.
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

/** The totals stored for a session. */
export interface SessionTotals {
  tokens: TokenCounts;
  costUsd: number | null;
  model: string | null;
}

/** A session's totals when one of its streams closes: the earlier totals plus the stream's. */
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

/** Rounds to units of 1e-10 dollars, in which all costs are counted. */
export function roundCost(costUsd: number): number {
  return Math.round(costUsd * COST_UNITS_PER_USD) / COST_UNITS_PER_USD;
}

/** The running figures of a stream. */
interface StreamFigures {
  startLine(receivedMs: number): void;
  countWarning(): void;
  /** Notes activity, whether or not it was a complete line. */
  touch(receivedMs: number): void;
  /** The tokens of the record's response so far; undefined if the record has no usage. */
  addResponse(record: ResponseRecord): TokenCounts | undefined;
  addSession(record: SessionRecord): void;
  addRun(record: RunRecord): void;
  /** The cumulative cost as of this line in US dollars, or null. */
  endTurn(record: TurnEndRecord): number | null;
  toSummary(): StreamSummary;
}

export function createStreamFigures(tokensCover: StreamSummary['tokensCover']): StreamFigures {
  const tokens = createTokenAccumulator();
  const summary: Omit<StreamSummary, 'tokens'> = {
    agentSessionId: null,
    model: null,
    tokensCover,
    reportedTokens: null,
    costUsd: null,
    lastResult: null,
    stopReason: null,
    lineCount: 0,
    warningCount: 0,
    lastActivityMs: null,
  };
  let hasReportedTotal = false;
  let costOfLine: number | null = null;

  return {
    startLine(receivedMs) {
      summary.lineCount++;
      summary.lastActivityMs = receivedMs;
      costOfLine = null;
    },
    countWarning() {
      summary.warningCount++;
    },
    touch(receivedMs) {
      summary.lastActivityMs = receivedMs;
    },
    addResponse(record) {
      const { usage, model, isSynthetic, reportedCostUsd } = record;
      if (model !== null && !isSynthetic) summary.model ??= model;
      summary.stopReason = record.stopReason ?? summary.stopReason;
      if (usage === undefined || isSynthetic) return undefined;
      const key = record.responseId ?? (record.uuid === null ? null : `uuid:${record.uuid}`);
      for (const request of record.billedRequests) {
        tokens.add(key === null ? null : toBilledRequestKey(key, request), request.usage);
      }
      const { counts, isFirst } = tokens.add(key, usage);
      if (isFirst && reportedCostUsd !== null && !hasReportedTotal) {
        summary.costUsd = roundCost((summary.costUsd ?? 0) + reportedCostUsd);
      }
      return counts;
    },
    addSession({ first, reportedTotals }) {
      summary.agentSessionId ??= first?.sessionId ?? null;
      if (reportedTotals === undefined) return;
      hasReportedTotal = true;
      costOfLine = reportedTotals.cost_usd;
      summary.costUsd = costOfLine;
      summary.reportedTokens = toReportedTokens(reportedTotals) ?? summary.reportedTokens;
    },
    addRun({ model, sessionId }) {
      if (model !== null) summary.model ??= model;
      if (sessionId !== '') summary.agentSessionId = sessionId;
    },
    endTurn({ success, errorCode, stopReason }) {
      summary.lastResult = { success, error: errorCode };
      summary.stopReason = stopReason ?? summary.stopReason;
      return costOfLine ?? (hasReportedTotal ? null : summary.costUsd);
    },
    toSummary: () => ({ ...summary, tokens: tokens.total }),
  };
}

function toReportedTokens({ tokens_in, tokens_out, cache_read, cache_write }: ReportedTotals): TokenCounts | null {
  if (tokens_in === null && tokens_out === null) return null;
  return { input: tokens_in ?? 0, output: tokens_out ?? 0, cacheRead: cache_read ?? 0, cacheWrite: cache_write ?? 0 };
}
