import { liveListSchema, toProblemSlug } from '@recount/contract';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { followEvents, newTestStreamId, openLive, readStory, sendLive } from '../testing/live-client.ts';
import { toStreamLines } from '../testing/stream-lines.ts';
import { createTestApi, type TestApi } from '../testing/test-api.ts';

const NOISE = 'Loading the project\n';
const complete = { 'recount-complete': '?1', 'recount-exit-code': '0' };

let api: TestApi;
let sender: { url: string; key: string };
let reader: { url: string; key: string };

beforeAll(async () => {
  api = await createTestApi();
  sender = { url: api.url, key: api.keys.ingest };
  reader = { url: api.url, key: api.keys.read };
});
afterAll(() => api.close());

const listSessions = async (): Promise<string[]> => {
  const { streams } = liveListSchema.parse(await (await api.fetch('/v1/live')).json());
  return streams.map(({ session_id }) => session_id);
};

const sendTo = (sessionId: string, streamId: string, bytes: string, headers: Record<string, string> = {}) =>
  sendLive(sender, sessionId, bytes, { 'recount-stream': streamId, ...headers });

describe('a stream that names its session late', () => {
  it('moves to that session with its events, after the events of earlier runs, and its readers follow', async () => {
    await sendTo('late', newTestStreamId(), toStreamLines('late').join(''), complete);
    const earlier = await readStory(reader, 'late');
    const streamId = newTestStreamId();
    const open = openLive(sender, streamId, { 'recount-stream': streamId });
    await open.write(NOISE);
    await vi.waitFor(async () => expect(await listSessions()).toEqual([streamId]));
    const follower = await followEvents(reader, streamId, { query: { follow: 'false' } });
    await follower.waitFor('warning');

    const lines = toStreamLines('late-again').join('');
    const offset = { 'recount-offset': String(NOISE.length) };
    // The previous request is not awaited, because it may be long gone.
    expect(await sendTo('late', streamId, lines, { ...offset, ...complete })).toMatchObject({ status: 200 });
    expect((await open.answer).status).toBe(409);
    await follower.ended;

    const story = await readStory(reader, 'late');
    const own = story.slice(earlier.length);
    expect(story.slice(0, earlier.length)).toEqual(earlier);
    expect(story.map(({ id }) => id)).toEqual(story.map((_event, index) => index + 1));
    expect(new Set(own.map(({ data }) => `${data.session_id} ${data.stream_id}`))).toEqual(
      new Set([`late ${streamId}`]),
    );
    expect(follower.events.slice(1)).toEqual(own.slice(1));
    expect(await readStory(reader, streamId)).toEqual(own);
    expect(follower.events[0]?.data).toEqual({ ...own[0]?.data, session_id: streamId });
    const { rows } = await api.database.pool.query('SELECT session_id FROM recount.live_sessions');
    expect(rows).toEqual([{ session_id: 'late' }]);
  });

  it('can be moved once, while it is open, and only from its own id', async () => {
    const streamId = newTestStreamId();
    await sendTo(streamId, streamId, NOISE);
    const offsetOf = (sessionId: string) =>
      api.fetch(`/v1/sessions/${sessionId}/live?stream=${streamId}`, { method: 'HEAD' });
    expect((await offsetOf('first')).headers.get('recount-offset')).toBe(String(NOISE.length));
    const offset = { 'recount-offset': String(NOISE.length) };
    expect((await sendTo('first', streamId, '', offset)).status).toBe(200);
    for (const sessionId of ['second', streamId]) {
      expect((await offsetOf(sessionId)).status).toBe(404);
      const { status, body } = await sendTo(sessionId, streamId, '', offset);
      expect({ status, slug: toProblemSlug(body.type ?? '') }).toEqual({ status: 400, slug: 'invalid-request' });
    }
    const ended = newTestStreamId();
    await sendTo(ended, ended, NOISE, complete);
    expect((await sendTo('first', ended, '', offset)).status).toBe(400);
  });
});
