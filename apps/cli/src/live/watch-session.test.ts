import { Readable } from 'node:stream';
import { DeliveryError } from '@recount/collect/delivery-error';
import { expect, it } from 'vitest';
import { type FollowedApi, followSession, readFollowedEvents } from './watch-session.ts';

const EVENTS =
  'retry: 2000\n\nid: 1\nevent: text\ndata: {"text":"schön"}\n\n: alive\n\ndata: {"b":2}\r\n\r\ndata: {"c"';

async function readAll(answer: Readable): Promise<unknown[]> {
  const events: unknown[] = [];
  for await (const { event } of readFollowedEvents(answer)) events.push(event);
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

/** Events with these ids, as an answer of the API; a broken one fails after them. */
function toAnswer(ids: readonly number[], isBroken = false): Readable {
  const toText = (id: number): string => `id: ${id}\nevent: text\ndata: {"session_id":"s","text":"${id}"}\n\n`;
  async function* read() {
    yield Buffer.from(ids.map(toText).join(''));
    if (isBroken) throw new Error('broken off');
  }
  return Readable.from(read(), { objectMode: false });
}

/** Follows answers, one for each connection, and returns the texts that were read and where it continued each time. */
async function follow(answers: readonly (Readable | Error)[], runningCount: number) {
  const left = [...answers];
  const opened: (string | undefined)[] = [];
  const pauses: string[] = [];
  const texts: string[] = [];
  let checks = 0;
  const api: FollowedApi = {
    async open(_sessionId, lastEventId) {
      opened.push(lastEventId);
      const next = left.shift() ?? toAnswer([]);
      if (next instanceof Error) throw next;
      return next;
    },
    isRunning: async () => checks++ < runningCount,
  };
  const { signal } = new AbortController();
  const onPause = (error: Error | undefined) => void pauses.push(error?.message ?? 'ended');
  const reading = async () => {
    const options = { signal, onPause, pauses: { firstMs: 1, longestMs: 1 } };
    for await (const event of followSession(api, 's', options)) texts.push(Reflect.get(event, 'text'));
  };
  const error = await reading().catch((reason: Error) => reason);
  return { texts, opened, pauses, message: error?.message };
}

it('connects again after the last event when the server ends the stream or it breaks, until the agent has ended', async () => {
  const unavailable = new DeliveryError('unavailable', 'busy');
  expect(await follow([toAnswer([1, 2]), unavailable, toAnswer([3], true), toAnswer([4])], 1)).toEqual({
    texts: ['1', '2', '3', '4'],
    // The last time finds that nothing is missing.
    opened: [undefined, '2', '2', '3', '4'],
    pauses: ['ended', 'busy', 'broken off'],
    message: undefined,
  });
});

it('reads an ended stream without a pause', async () => {
  expect(await follow([toAnswer([1])], 0)).toMatchObject({ texts: ['1'], pauses: [], message: undefined });
});

it('says so if the server no longer shows the session', async () => {
  const denied = new DeliveryError('denied', 'Missing scope: texts');
  expect(await follow([toAnswer([1]), denied], 1)).toMatchObject({
    texts: ['1'],
    message: 'The server no longer shows you this session. Missing scope: texts',
  });
  expect(await follow([denied], 1)).toMatchObject({ texts: [], message: 'Missing scope: texts' });
});
