import type { Readable } from 'node:stream';
import type { FollowedEvent } from '@recount/contract';

/**
 * Parses a session's events as the API sends them (`text/event-stream`). An incomplete event at the end of the answer is
 * dropped.
 */
export async function* readFollowedEvents(answer: Readable): AsyncGenerator<FollowedEvent> {
  let rest = '';
  for await (const chunk of answer.setEncoding('utf8')) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line.startsWith('data: ')) yield JSON.parse(line.slice('data: '.length));
  }
}
