import type { Readable } from 'node:stream';
import type { FollowedEvent } from '@recount/contract';
import { createParser } from 'eventsource-parser';

/**
 * Parses a session's events as the API sends them (`text/event-stream`). An incomplete event at the end of the answer is
 * dropped.
 */
export async function* readFollowedEvents(answer: Readable): AsyncGenerator<FollowedEvent> {
  const events: FollowedEvent[] = [];
  const parser = createParser({ onEvent: ({ data }) => events.push(JSON.parse(data)) });
  for await (const text of answer.setEncoding('utf8')) {
    parser.feed(text);
    yield* events.splice(0);
  }
}
