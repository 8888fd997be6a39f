import { toBilledRequestKey } from '../assemble/open-response.ts';
import type { ResponseRecord, RunRecord, SessionRecord, TurnEndRecord } from '../records/records.ts';
import { COST_UNITS_PER_USD, type ReportedTotals, type TokenSums } from '../records/rows.ts';
import { toFinalUsage, type Usage } from '../records/usage.ts';

const NO_TOKENS: Readonly<TokenSums> = { tokens_in: 0, tokens_out: 0, cache_read: 0, cache_write: 0 };

interface TokenAccumulator {
  /** Takes in the usage on one line of a response. Returns whether it is the response's first. */
  add(key: string | null, usage: Usage): boolean;
  readonly total: TokenSums;
}

/** Responses whose later lines are still recognised; the lines of a response are close together. */
const MAX_OPEN_MESSAGES = 10_000;

/** Counts every response once, however many lines carry its id and usage. Without a key, each line is a response. */
export function createTokenAccumulator(): TokenAccumulator {
  const open = new Map<string, Usage>();
  let total: TokenSums = NO_TOKENS;
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
      total = {
        tokens_in: total.tokens_in + after.inputTokens - (before?.inputTokens ?? 0),
        tokens_out: total.tokens_out + after.outputTokens - (before?.outputTokens ?? 0),
        cache_read: total.cache_read + after.cacheReadTokens - (before?.cacheReadTokens ?? 0),
        cache_write: total.cache_write + after.cacheWriteTokens - (before?.cacheWriteTokens ?? 0),
      };
      return before === undefined;
    },
    get total() {
      return total;
    },
  };
}

/** The state of a stream so far, or at its end. */
export interface StreamSummary {
  /** The agent's own id of the session (for Codex and Amp, of the thread), or null while unknown. */
  agentSessionId: string | null;
  /** The first model named, or null. */
  model: string | null;
  /** Counted from the lines, each API response once. */
  tokens: TokenSums;
  /** `session` if `tokens` include earlier runs of a resumed session, as Codex counts them. */
  tokensCover: 'stream' | 'session';
  /** The agent's own total, if it gives one; `tokens` are lower if lines hold only placeholders. */
  reportedTokens: TokenSums | null;
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

/** Rounds to units of 1e-10 dollars, the unit of all costs. */
export function roundCost(costUsd: number): number {
  return Math.round(costUsd * COST_UNITS_PER_USD) / COST_UNITS_PER_USD;
}

/** The running figures of a stream. */
export class StreamFigures {
  readonly #tokens = createTokenAccumulator();
  readonly #summary: Omit<StreamSummary, 'tokens'>;
  #hasReportedTotal = false;
  #costOfLine: number | null = null;

  constructor(tokensCover: StreamSummary['tokensCover']) {
    this.#summary = {
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
  }

  startLine(receivedMs: number): void {
    this.#summary.lineCount++;
    this.#summary.lastActivityMs = receivedMs;
    this.#costOfLine = null;
  }

  countWarning(): void {
    this.#summary.warningCount++;
  }

  /** Notes activity, whether or not it was a complete line. */
  touch(receivedMs: number): void {
    this.#summary.lastActivityMs = receivedMs;
  }

  addResponse(record: ResponseRecord): void {
    const summary = this.#summary;
    const { usage, model, isSynthetic, reportedCostUsd } = record;
    if (model !== null && !isSynthetic) summary.model ??= model;
    summary.stopReason = record.stopReason ?? summary.stopReason;
    if (usage === undefined || isSynthetic) return;
    const key = record.responseId ?? (record.uuid === null ? null : `uuid:${record.uuid}`);
    for (const request of record.billedRequests) {
      this.#tokens.add(key === null ? null : toBilledRequestKey(key, request), request.usage);
    }
    const isFirst = this.#tokens.add(key, usage);
    if (isFirst && reportedCostUsd !== null && !this.#hasReportedTotal) {
      summary.costUsd = roundCost((summary.costUsd ?? 0) + reportedCostUsd);
    }
  }

  addSession({ first, reportedTotals }: SessionRecord): void {
    const summary = this.#summary;
    summary.agentSessionId ??= first?.sessionId ?? null;
    if (reportedTotals === undefined) return;
    this.#hasReportedTotal = true;
    this.#costOfLine = reportedTotals.cost_usd;
    summary.costUsd = this.#costOfLine;
    summary.reportedTokens = toReportedTokens(reportedTotals) ?? summary.reportedTokens;
  }

  addRun({ model, sessionId }: Pick<RunRecord, 'model' | 'sessionId'>): void {
    if (model !== null) this.#summary.model ??= model;
    if (sessionId !== '') this.#summary.agentSessionId = sessionId;
  }

  /** The cumulative cost as of this line in US dollars, or null. */
  endTurn({ success, errorCode, stopReason }: TurnEndRecord): number | null {
    const summary = this.#summary;
    summary.lastResult = { success, error: errorCode };
    summary.stopReason = stopReason ?? summary.stopReason;
    return this.#costOfLine ?? (this.#hasReportedTotal ? null : summary.costUsd);
  }

  toSummary(): StreamSummary {
    return { ...this.#summary, tokens: this.#tokens.total };
  }
}

function toReportedTokens({ tokens_in, tokens_out, cache_read, cache_write }: ReportedTotals): TokenSums | null {
  if (tokens_in === null && tokens_out === null) return null;
  return {
    tokens_in: tokens_in ?? 0,
    tokens_out: tokens_out ?? 0,
    cache_read: cache_read ?? 0,
    cache_write: cache_write ?? 0,
  };
}
