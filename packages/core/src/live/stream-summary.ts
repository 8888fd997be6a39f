import type { ResponseRecord, RunRecord, SessionRecord, TurnEndRecord } from '../agents/records.ts';
import { COST_UNITS_PER_USD } from '../pricing/price-table.ts';
import type { ReportedTotals } from '../rows.ts';
import { toFinalUsage, type Usage } from '../usage/usage.ts';

/** Tokens as Anthropic's API counts them: `input` without what was read from or written to the cache. */
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
  /** Takes note of the usage on one line of a response, and gives the response's final figure so far. */
  add(key: string | null, usage: Usage): { counts: TokenCounts; isFirst: boolean };
  readonly total: TokenCounts;
}

/** Responses whose later lines still count as theirs; those of one response lie close together. */
const MAX_OPEN_MESSAGES = 10_000;

/** Counts every response once, however many lines carry its id and usage; without a key each line is a response. */
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
  /** The agent's own cumulative cost, the latest; null if it gives none. */
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

/** The running figures of a stream: what its records count for. */
interface StreamFigures {
  startLine(receivedMs: number): void;
  countWarning(): void;
  /** Something came, though it may be no line. */
  touch(receivedMs: number): void;
  /** The tokens of the record's response so far; undefined if the record says nothing about them. */
  addResponse(record: ResponseRecord): TokenCounts | undefined;
  addSession(record: SessionRecord): void;
  addRun(record: RunRecord): void;
  /** The cumulative cost by this line, US dollars, or null. */
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
      for (const [index, advisor] of record.advisors.entries()) {
        tokens.add(key === null ? null : `${key}#${index}`, advisor.usage);
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
