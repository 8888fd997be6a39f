import type { ResponseRecord, RunRecord, SessionRecord, TurnEndRecord } from '../agents/records.ts';
import type { ReportedTotals } from '../rows.ts';
import { roundCost, type StreamSummary } from './stream-summary.ts';
import { createTokenAccumulator, type TokenCounts } from './token-counts.ts';

/** The running figures of a stream: what its records count for. */
export interface StreamFigures {
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
