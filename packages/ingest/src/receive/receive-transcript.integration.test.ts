import { readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { RawStoreError } from '@recount/storage';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  createTestInstallation,
  TEST_WORKSPACE,
  type TestInstallation,
  toTranscript,
} from '../testing/test-installation.ts';
import { receiveTranscript } from './receive-transcript.ts';

let installation: TestInstallation;
let session: string;
let sessionNumber = 0;
beforeAll(async () => {
  installation = await createTestInstallation();
});
beforeEach(async () => {
  await installation.clearJobs();
  session = `session-${++sessionNumber}`;
});
afterAll(() => installation.close());

async function* toBody(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

describe('receiveTranscript', () => {
  it('stores the bytes, one row and one job', async () => {
    const text = toTranscript(session, 10);
    const { transcript, isDuplicate } = await installation.receive(text);
    expect(isDuplicate).toBe(false);
    expect(transcript).toMatchObject({ session_id: session, status: 'queued', size_bytes: Buffer.byteLength(text) });
    expect(await installation.listJobs()).toEqual([
      { workspaceId: transcript.workspace_id, transcriptId: transcript.id },
    ]);
    const stored = await (await installation.rawStore.get(transcript.object_key)).toArray();
    expect(Buffer.concat(stored).toString()).toBe(text);
  });

  it('keeps one copy and one job for the same bytes, however many arrive concurrently', async () => {
    const text = toTranscript(session, 4);
    const before = await installation.listObjectKeys();
    const results = await Promise.all(Array.from({ length: 12 }, () => installation.receive(text)));
    expect(results.filter(({ isDuplicate }) => !isDuplicate)).toHaveLength(1);
    expect(new Set(results.map(({ transcript }) => transcript.id)).size).toBe(1);
    expect(await installation.listJobs()).toHaveLength(1);
    expect((await installation.listObjectKeys()).length - before.length).toBe(1);
  });

  it('adds what it did not know of machine and person from the same bytes, and changes nothing that it knew', async () => {
    const text = toTranscript(session, 4);
    await installation.receive(text, { machine: 'laptop' });
    const { transcript } = await installation.receive(text, { machine: 'desk', person: 'ada' });
    expect(transcript).toMatchObject({ machine: 'laptop', person: 'ada' });
    expect((await installation.receive(text, { machine: 'desk', person: 'bob' })).transcript).toEqual(transcript);
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
    ['that is empty', { sessionId: 's' }, 'empty', ''],
    ['of an unrecognised agent', { sessionId: 's' }, 'unsupported-format', '{"type":"note"}\n'],
    ['of a non-existent agent', { agent: 'heron' }, 'unsupported-format', toTranscript('s', 2)],
    ['with a bad session id', { sessionId: 'a\nb' }, 'invalid-session-id', '{}\n'],
  ])('refuses a transcript %s and keeps no part of it', async (_name, request, code, text) => {
    const before = await installation.listObjectKeys();
    await expect(installation.receive(text, request)).rejects.toMatchObject({ name: 'ReceiveError', code });
    expect(await installation.listObjectKeys()).toEqual(before);
    expect(await installation.listJobs()).toEqual([]);
  });

  it.each([
    ['claude-code', 'its lines do not tell', '{"type":"note"}\n', { agent: 'claude-code' }],
    ['claude-code', 'its lines look like another’s', '{"type":"turn.started"}\n', { agent: 'claude-code' }],
    ['claude-code', 'its path tells', '{"type":"note"}\n', { path: '/p/11111111-2222-4333-8444-555555555555.jsonl' }],
    ['claude-stream-json', 'its lines tell', '{"type":"result","session_id":"s"}\n', { agent: 'claude-code' }],
    ['claude-code', 'the caller knows it for certain', '{"type":"turn.started"}\n', { format: 'claude-code' }],
  ])('treats a transcript as %s if %s', async (format, _name, text, request) => {
    const { transcript } = await installation.receive(text, { sessionId: session, ...request });
    const isStream = format === 'claude-stream-json';
    expect(transcript).toMatchObject({ agent: 'claude-code', format, is_stream: isStream });
  });

  it('keeps nothing of a body that breaks off, and passes on its error', async () => {
    const before = await installation.listObjectKeys();
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield Buffer.from(toTranscript(session, 3));
      throw new Error('connection reset');
    }
    await expect(installation.receive('', { body: broken() })).rejects.toThrow('connection reset');
    expect(await installation.listObjectKeys()).toEqual(before);
    expect(await installation.listJobs()).toEqual([]);
  });

  it('keeps the object of a transcript that was received before if the request is repeated and finds no room', async () => {
    const text = toTranscript(session, 3);
    const request = {
      ...{ workspaceId: TEST_WORKSPACE, uploaderKeyId: null, maxBytes: 1e6 },
      transcriptId: '01JABCDEFGHJKMNPQRSTVWXYZ0',
    };
    const { transcript } = await receiveTranscript(installation, { ...request, body: toBody(text) });
    const full = Object.assign(new Error('could not extend file'), { code: '53100' });
    const repeated = receiveTranscript(
      installation,
      { ...request, body: toBody(text) },
      { record: () => Promise.reject(full) },
    );
    await expect(repeated).rejects.toBe(full);
    const stored = await (await installation.rawStore.get(transcript.object_key)).toArray();
    expect(Buffer.concat(stored).toString()).toBe(text);
  });

  it('accepts an empty transcript if its agent and session are named', async () => {
    const { transcript } = await installation.receive('', { sessionId: session, agent: 'claude-code' });
    await installation.work();
    expect(await installation.find(transcript.id)).toMatchObject({ status: 'ingested', total_messages: 0 });
  });
});

async function flipByte(path: string): Promise<void> {
  const bytes = await readFile(path);
  bytes[10] = (bytes[10] ?? 0) ^ 1;
  await writeFile(path, bytes);
}

describe('uploading the same bytes again', () => {
  const DAMAGES: [string, (path: string) => Promise<void>][] = [
    ['has another byte', flipByte],
    ['is cut short', (path) => truncate(path, 100)],
    ['is lost', (path) => rm(path)],
  ];

  it.each(DAMAGES)('replaces an object that %s', async (_name, damage) => {
    const text = toTranscript(session, 6);
    const { transcript, rawObject } = await installation.receive(text);
    expect(rawObject).toBe('stored');
    await installation.work();
    const before = await installation.listObjectKeys();
    expect((await installation.receive(text)).rawObject).toBe('duplicate');
    await damage(`${installation.storeDirectory}/${transcript.object_key}`);

    const healed = await installation.receive(text);
    expect(healed).toMatchObject({ isDuplicate: true, rawObject: 'healed', transcript: { id: transcript.id } });
    expect(await readFile(`${installation.storeDirectory}/${healed.transcript.object_key}`, 'utf8')).toBe(text);
    expect(await installation.listObjectKeys()).toHaveLength(before.length);
    expect((await installation.find(transcript.id))?.status).toBe('ingested');
    expect(await installation.listJobs()).toEqual([]);
    expect((await installation.receive(text)).rawObject).toBe('duplicate');
    const { rows } = await installation.database.pool.query('SELECT * FROM recount.raw_object_deletions');
    expect(rows).toEqual([]);
  });

  it('replaces an object that cannot be read to its end', async () => {
    const text = toTranscript(session, 6);
    const { transcript } = await installation.receive(text);
    const { rawStore } = installation;
    const get: typeof rawStore.get = async (key, options) => {
      if (key === transcript.object_key) throw new RawStoreError('unavailable', 'EIO');
      return await rawStore.get(key, options);
    };
    installation.rawStore = { ...rawStore, get };
    const healed = await receiveTranscript(installation, {
      workspaceId: TEST_WORKSPACE,
      uploaderKeyId: 'key',
      maxBytes: 1_000_000,
      body: (async function* () {
        yield Buffer.from(text);
      })(),
    });
    installation.rawStore = rawStore;
    expect(healed.rawObject).toBe('healed');
    expect((await installation.receive(text)).rawObject).toBe('duplicate');
  });

  it('ingests a transcript that failed for its damaged object', async () => {
    const text = toTranscript(session, 6);
    const { transcript } = await installation.receive(text);
    await flipByte(`${installation.storeDirectory}/${transcript.object_key}`);
    await expect(installation.work()).rejects.toThrow('SHA-256');
    await installation.database.pool.query(`UPDATE recount.transcripts SET status = 'failed' WHERE id = $1`, [
      transcript.id,
    ]);
    expect(await installation.receive(text)).toMatchObject({ rawObject: 'healed', transcript: { status: 'queued' } });
    await installation.work();
    expect(await installation.find(transcript.id)).toMatchObject({ status: 'ingested', total_messages: 6 });
  });

  it('leaves one intact object however many requests repair it concurrently', async () => {
    const text = toTranscript(session, 6);
    const { transcript } = await installation.receive(text);
    const before = await installation.listObjectKeys();
    await flipByte(`${installation.storeDirectory}/${transcript.object_key}`);
    const results = await Promise.all(Array.from({ length: 8 }, () => installation.receive(text)));
    expect(results.filter(({ rawObject }) => rawObject === 'healed')).toHaveLength(1);
    expect(results.filter(({ rawObject }) => rawObject === 'duplicate')).toHaveLength(7);
    expect(await installation.listObjectKeys()).toHaveLength(before.length);
    const row = await installation.find(transcript.id);
    expect(await readFile(`${installation.storeDirectory}/${row?.object_key}`, 'utf8')).toBe(text);
  });
});
