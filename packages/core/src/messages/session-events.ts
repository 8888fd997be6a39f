import type { EventRecord } from '../agents/records.ts';
import { createRecentKeys } from '../ids/recent-keys.ts';
import { toIsoTimestamp } from '../records/timestamps.ts';
import type { SessionEvent } from '../rows.ts';

/** Events whose copies within the transcript are told from them. */
const MAX_REMEMBERED_EVENTS = 10_000;

/** Hands every event on once, also if the transcript holds copies of its line: `known` are those handed on before. */
export function createSessionEventTracker(
  sessionId: string,
  emit: (event: SessionEvent) => void,
  known = new Set<string>(),
): (record: EventRecord, lineNumber: number) => void {
  const knownKeys = createRecentKeys(MAX_REMEMBERED_EVENTS, known);
  return ({ event, uuid, timestampMs, isSubagent, identity }, lineNumber) => {
    const eventKey = `${event.kind}:${uuid ?? `${sessionId}:${lineNumber}`}`;
    if (!knownKeys.add(identity ?? eventKey)) return;
    emit({
      event_key: eventKey,
      kind: event.kind,
      session_id: sessionId,
      timestamp: toIsoTimestamp(timestampMs),
      is_subagent: isSubagent,
      name: event.name,
      details: event.details,
      line_number: lineNumber,
    });
  };
}
