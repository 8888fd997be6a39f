import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createTestInstallation, type TestInstallation, toTranscript } from '../testing/test-installation.ts';

let installation: TestInstallation;
let session: string;
let sessionNumber = 0;
beforeAll(async () => {
  installation = await createTestInstallation();
});
beforeEach(() => {
  installation.jobs.length = 0;
  session = `session-${++sessionNumber}`;
});
afterAll(() => installation.close());

describe('receiveTranscript', () => {
  it('stores the bytes, one row and one job', async () => {
    const text = toTranscript(session, 10);
    const { transcript, isDuplicate } = await installation.receive(text);
    expect(isDuplicate).toBe(false);
    expect(transcript).toMatchObject({ session_id: session, status: 'queued', size_bytes: Buffer.byteLength(text) });
    expect(installation.jobs).toEqual([{ workspaceId: transcript.workspace_id, transcriptId: transcript.id }]);
    const stored = await (await installation.rawStore.get(transcript.object_key)).toArray();
    expect(Buffer.concat(stored).toString()).toBe(text);
  });

  it('keeps no second copy and makes no second job for the same bytes, however many arrive at once', async () => {
    const text = toTranscript(session, 4);
    const before = await installation.listObjectKeys();
    const results = await Promise.all(Array.from({ length: 12 }, () => installation.receive(text)));
    expect(results.filter(({ isDuplicate }) => !isDuplicate)).toHaveLength(1);
    expect(new Set(results.map(({ transcript }) => transcript.id)).size).toBe(1);
    expect(installation.jobs).toHaveLength(1);
    expect((await installation.listObjectKeys()).length - before.length).toBe(1);
  });

  it('takes main session and sub-agent from the path', async () => {
    const parent = '11111111-2222-4333-8444-555555555555';
    const main = await installation.receive(toTranscript(session, 2), { path: `/p/${parent}.jsonl` });
    expect(main.transcript).toMatchObject({ session_id: parent, is_subagent: false, parent_session_id: null });
    const agent = await installation.receive(toTranscript(session, 2), {
      path: `/p/${parent}/subagents/agent-a1b2.jsonl`,
    });
    expect(agent.transcript).toMatchObject({
      session_id: `${parent}:a1b2`,
      is_subagent: true,
      parent_session_id: parent,
      agent_id: 'a1b2',
    });
  });

  it.each([
    ['too large', { maxBytes: 50 }, 'too-large', toTranscript('s', 5)],
    ['without a session id', {}, 'unidentified', '{"type":"user"}\n'],
    ['of another agent', {}, 'unsupported-format', '{"type":"thread.started","thread_id":"t"}\n'],
    ['with a bad session id', { sessionId: 'a\nb' }, 'invalid-session-id', '{}\n'],
  ])('refuses a transcript %s and keeps nothing of it', async (_name, request, code, text) => {
    const before = await installation.listObjectKeys();
    await expect(installation.receive(text, request)).rejects.toMatchObject({ name: 'ReceiveError', code });
    expect(await installation.listObjectKeys()).toEqual(before);
    expect(installation.jobs).toEqual([]);
  });

  it('keeps nothing of a body that breaks off, and passes its error on', async () => {
    const before = await installation.listObjectKeys();
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield Buffer.from(toTranscript(session, 3));
      throw new Error('connection reset');
    }
    await expect(installation.receive('', { body: broken() })).rejects.toThrow('connection reset');
    expect(await installation.listObjectKeys()).toEqual(before);
    expect(installation.jobs).toEqual([]);
  });

  it('accepts an empty transcript when its session is named', async () => {
    const { transcript } = await installation.receive('', { sessionId: session });
    await installation.work();
    expect(await installation.find(transcript.id)).toMatchObject({ status: 'ingested', total_messages: 0 });
  });
});
