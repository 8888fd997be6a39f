import type { MessageRecord, UsageRecord } from '../records/records.ts';
import type { TranscriptMessage } from '../records/rows.ts';
import { toIsoTimestamp } from '../records/timestamps.ts';
import { createOpenResponse, type OpenResponse, toResponseKey } from './open-response.ts';

export const isOfSubagent = (row: TranscriptMessage): boolean => row.is_sidechain || row.agent_id !== null;

/** The response that starts with a message. */
export function toMessageResponse(record: MessageRecord, row: TranscriptMessage, turnLine: number): OpenResponse {
  return createOpenResponse({
    key: toResponseKey(record, row.session_id, row.line_number),
    source: 'message',
    sessionId: row.session_id,
    messageRowId: row.id,
    facts: row,
    turnLine,
    isSubagent: isOfSubagent(row),
    gitBranch: record.gitBranch,
    agentVersion: record.agentVersion,
    isMarkedCopy: record.isMarkedCopy,
    isSynthetic: record.isSynthetic,
  });
}

/** The response for usage without a message. */
export function toUsageResponse(
  record: UsageRecord,
  sessionId: string,
  { lineNumber, turnLine }: { lineNumber: number; turnLine: number },
): OpenResponse {
  return createOpenResponse({
    key: toResponseKey(record, sessionId, lineNumber),
    source: 'progress',
    sessionId,
    messageRowId: null,
    facts: {
      provider_message_id: record.responseId,
      request_id: record.requestId,
      model: record.model,
      timestamp: toIsoTimestamp(record.timestampMs),
      agent_id: record.agentId,
      stop_reason: record.stopReason,
      line_number: lineNumber,
    },
    turnLine,
    isSubagent: record.isSubagent,
    gitBranch: record.gitBranch,
    agentVersion: record.agentVersion,
    isMarkedCopy: record.isMarkedCopy,
    isSynthetic: record.isSynthetic,
  });
}
