import { type ConversationLine, generateConversation } from './conversation.ts';
import { createMetadata } from './metadata.ts';
import type { Session, TranscriptRecord } from './session.ts';

/** The records of one session in the order of their lines, without end. */
export function* generateRecords(session: Session): Generator<TranscriptRecord> {
  yield* holdBackLate(withMetadata(session));
}

function* withMetadata(session: Session): Generator<ConversationLine> {
  for (const line of generateConversation(session)) {
    yield line;
    while (session.random.chance(session.shape.metadataShare)) yield { record: createMetadata(session), delayLines: 0 };
  }
}

/** Writes each delayed line `delayLines` after its turn; with 2 % of the messages delayed, a handful waits at a time. */
function* holdBackLate(lines: Iterable<ConversationLine>): Generator<TranscriptRecord> {
  const waiting: { readonly record: TranscriptRecord; readonly dueLine: number }[] = [];
  let lineCount = 0;
  for (const { record, delayLines } of lines) {
    if (delayLines > 0) {
      waiting.push({ record, dueLine: lineCount + delayLines });
      continue;
    }
    yield record;
    lineCount += 1;
    for (let due = takeDue(); due; due = takeDue()) {
      yield due.record;
      lineCount += 1;
    }
  }

  function takeDue() {
    const index = waiting.findIndex((line) => line.dueLine <= lineCount);
    return index === -1 ? undefined : waiting.splice(index, 1)[0];
  }
}
