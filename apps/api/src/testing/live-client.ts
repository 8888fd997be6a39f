import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { type FollowedEvent, LIVE_EVENT_SCHEMAS, type LiveEventName, type LiveReceipt } from '@recount/contract';
import { newStreamId } from '@recount/ingest';

export const newTestStreamId = newStreamId;

export interface LiveTarget {
  url: string;
  /** A key with the scope ingest. */
  key: string;
}

export interface LiveRequestUnderWay {
  write(bytes: string | Uint8Array): Promise<void>;
  /** Ends the body, but not the stream. */
  end(): void;
  /** Breaks the connection. */
  destroy(): void;
  answer: Promise<{
    status: number;
    headers: Record<string, string | string[] | undefined>;
    body: LiveReceipt & { type?: string };
  }>;
}

/** Opens a request that appends to a stream. */
export function openLive(
  { url, key }: LiveTarget,
  sessionId: string,
  headers: Record<string, string> = {},
  query: Record<string, string> = {},
): LiveRequestUnderWay {
  const path = `/v1/sessions/${encodeURIComponent(sessionId)}/live?${new URLSearchParams(query)}`;
  const outgoing = request(url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/x-ndjson', ...headers },
  });
  outgoing.flushHeaders();
  const { promise, resolve, reject } = Promise.withResolvers<Awaited<LiveRequestUnderWay['answer']>>();
  outgoing.once('response', (response) => {
    text(response).then(
      (body) => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: JSON.parse(body) }),
      reject,
    );
  });
  outgoing.on('error', reject);
  promise.catch(() => undefined);
  return {
    write: (bytes) => new Promise((done) => void outgoing.write(bytes, () => done())),
    end: () => void outgoing.end(),
    destroy: () => void outgoing.destroy(),
    answer: promise,
  };
}

/** Sends the bytes in one request and waits for its answer. */
export async function sendLive(
  target: LiveTarget,
  sessionId: string,
  bytes: string | Uint8Array,
  headers: Record<string, string> = {},
  query: Record<string, string> = {},
): ReturnType<typeof readAnswer> {
  const live = openLive(target, sessionId, headers, query);
  if (bytes.length > 0) await live.write(bytes);
  live.end();
  return await readAnswer(live);
}

const readAnswer = async (live: LiveRequestUnderWay) => await live.answer;

/** An event as an EventSource gets it. */
export interface LiveMessage {
  id: number;
  event: LiveEventName;
  data: FollowedEvent;
}

export interface EventReader {
  /** Validated against the contract. */
  events: LiveMessage[];
  /** Comments, such as heartbeats. */
  comments: string[];
  /** Waits until an event with this name has come. */
  waitFor(name: LiveEventName): Promise<LiveMessage>;
  close(): void;
  /** Resolves when the answer has ended in any way. */
  ended: Promise<void>;
}

/** Follows a session like an EventSource. */
export async function followEvents(
  { url, key }: LiveTarget,
  sessionId: string,
  { lastEventId, query = {} }: { lastEventId?: number; query?: Record<string, string> } = {},
): Promise<EventReader> {
  const controller = new AbortController();
  const path = `/v1/sessions/${encodeURIComponent(sessionId)}/events?${new URLSearchParams(query)}`;
  const response = await fetch(url + path, {
    signal: controller.signal,
    headers: {
      authorization: `Bearer ${key}`,
      ...(lastEventId !== undefined && { 'last-event-id': String(lastEventId) }),
    },
  });
  if (response.status !== 200 || response.body === null) throw new Error(`${response.status} ${await response.text()}`);
  const events: LiveMessage[] = [];
  const comments: string[] = [];
  const waiters = new Set<() => void>();
  const read = async (body: ReadableStream<Uint8Array>): Promise<void> => {
    let rest = '';
    const decoder = new TextDecoder();
    for await (const chunk of body) {
      const blocks = (rest + decoder.decode(chunk, { stream: true })).split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) {
        if (block.startsWith(':')) comments.push(block);
        else if (block.startsWith('id:')) events.push(toEvent(block));
      }
      for (const wake of waiters) wake();
    }
  };
  const ended = read(response.body)
    .catch(() => undefined)
    .finally(() => waiters.forEach((wake) => void wake()));
  let isEnded = false;
  ended.then(() => {
    isEnded = true;
  });
  return {
    events,
    comments,
    async waitFor(name) {
      for (;;) {
        const found = events.find(({ event }) => event === name);
        if (found !== undefined) return found;
        if (isEnded) throw new Error(`No ${name} came`);
        await new Promise<void>((wake) => waiters.add(wake));
      }
    },
    close: () => controller.abort(),
    ended,
  };
}

function toEvent(block: string): LiveMessage {
  const fields = Object.fromEntries(
    block.split('\n').map((line) => [line.slice(0, line.indexOf(': ')), line.slice(line.indexOf(': ') + 2)]),
  );
  const event = fields.event as LiveEventName;
  return {
    id: Number(fields.id),
    event,
    data: LIVE_EVENT_SCHEMAS[event].strict().parse(JSON.parse(fields.data ?? '')),
  };
}

/** All events of a session whose streams have ended. */
export async function readStory(target: LiveTarget, sessionId: string, lastEventId?: number): Promise<LiveMessage[]> {
  const reader = await followEvents(target, sessionId, {
    ...(lastEventId !== undefined && { lastEventId }),
    query: { follow: 'false' },
  });
  await reader.ended;
  return reader.events;
}
