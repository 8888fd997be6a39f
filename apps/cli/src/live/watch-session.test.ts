import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { readFollowedEvents } from './watch-session.ts';

const EVENTS =
  'retry: 2000\n\nid: 1\nevent: text\ndata: {"text":"schön"}\n\n: alive\n\ndata: {"b":2}\r\n\r\ndata: {"c"';

async function readAll(answer: Readable): Promise<unknown[]> {
  const events: unknown[] = [];
  for await (const event of readFollowedEvents(answer)) events.push(event);
  return events;
}

it('reads events however the answer is cut, and leaves out an incomplete one', async () => {
  const bytes = Buffer.from(EVENTS);
  for (const size of [1, 7, bytes.length]) {
    const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
      bytes.subarray(i * size, (i + 1) * size),
    );
    expect(await readAll(Readable.from(chunks, { objectMode: false }))).toEqual([{ text: 'schön' }, { b: 2 }]);
  }
});

it('fails if the answer breaks off', async () => {
  const answer = new Readable({ read: () => undefined });
  answer.push(EVENTS);
  setImmediate(() => answer.destroy(new Error('broken off')));
  await expect(readAll(answer)).rejects.toThrow('broken off');
});
