import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { identifyTranscript, parseTranscript } from '@recount/core';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { toUsageOnly } from '../deliver/usage-only.ts';
import { findSessions } from '../find/find-sessions.ts';
import { openSessionStore } from './open-store.ts';
import { readSessions } from './read-sessions.ts';

const SESSION = 'c0ffee00-0000-4000-8000-000000000001';
const KEY = 'a key that keeps blobs';

let homeFolder: string;
beforeEach(async () => {
  homeFolder = await mkdtemp(join(tmpdir(), 'recount-blobs-'));
  onTestFinished(() => rm(homeFolder, { recursive: true, force: true }));
});

/** A store like Cursor CLI's, with the last rows still in its write-ahead log. */
async function createStore(sessionId = SESSION) {
  const path = join(homeFolder, '.cursor/chats/0123456789abcdef0123456789abcdef', sessionId, 'store.db');
  await mkdir(dirname(path), { recursive: true });
  const database = new DatabaseSync(path);
  onTestFinished(() => database.close());
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;
    CREATE TABLE blobs (id TEXT PRIMARY KEY, data BLOB); CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT);`);
  const add = (bytes: Buffer): string => {
    const id = createHash('sha256').update(bytes).digest('hex');
    database.prepare('INSERT OR IGNORE INTO blobs VALUES (?, ?)').run(id, bytes);
    return id;
  };
  const setFacts = (facts: object) => {
    const value = Buffer.from(JSON.stringify(facts)).toString('hex');
    database.prepare(`INSERT OR REPLACE INTO meta VALUES ('0', ?)`).run(value);
  };
  return {
    path,
    database,
    addMessage: (message: object) => add(Buffer.from(JSON.stringify(message))),
    setState(ids: readonly string[], name = 'Heron') {
      const workspace = 'file:///home/ada/my%20app';
      const usedTokens = [0x2a, 3, 0x08, 0xc0, 0x3e];
      const listed = ids.map((id) => Buffer.concat([Buffer.from([0x0a, 32]), Buffer.from(id, 'hex')]));
      const root = [...listed, Buffer.from(usedTokens), Buffer.from([0x4a, workspace.length]), Buffer.from(workspace)];
      const latestRootBlobId = add(Buffer.concat([...root, Buffer.from([0x50, 1])]));
      const facts = { agentId: sessionId, latestRootBlobId, name, mode: 'default', createdAt: 1_770_000_000_000 };
      setFacts({ ...facts, blobEncryptionKey: KEY, lastUsedModel: 'default' });
    },
    setFacts,
  };
}

const user = (text: string, requestId: string) => ({
  role: 'user',
  content: [{ type: 'text', text: `<user_query>\n${text}\n</user_query>` }],
  providerOptions: { cursor: { requestId } },
});
const answer = (text: string) => ({ role: 'assistant', id: '1', content: [{ type: 'text', text }] });

async function readAll() {
  const found = await findSessions({ platform: 'linux', environment: {}, homeFolder });
  const sessions = [];
  for await (const item of readSessions(found.flatMap(({ files }) => files.map(({ path }) => path)))) {
    if (item.kind !== 'transcript') throw new Error(`${item.location} is ${item.kind}`);
    const text = (await (await item.open()).toArray()).join('');
    const identity = identifyTranscript({ path: item.path, head: Buffer.from(text) });
    const parsed = await parseTranscript(identity.sessionId ?? '', text, { format: identity.format });
    expect([...parsed.errors, ...parsed.warnings]).toEqual([]);
    sessions.push({ ...parsed, identity, text });
  }
  return sessions;
}

it('reads the messages in the order of the latest state, whatever order they were written in', async () => {
  const store = await createStore();
  const found = store.addMessage(answer('Found it'));
  const system = store.addMessage({ role: 'system', content: 'You are a pair of eyes' });
  const context = store.addMessage({ role: 'user', content: '<user_info>\nlinux\n</user_info>' });
  const prompt = store.addMessage(user('Look for the heron', 'r-1'));
  const modelName = 'composer-2.5';
  const call = store.addMessage({
    ...answer('Looking'),
    content: [
      { type: 'reasoning', text: 'Where?', providerOptions: { cursor: { modelName } }, signature: 'abc' },
      { type: 'tool-call', toolCallId: 'call-1', toolName: 'Shell', args: { command: 'ls -l' } },
    ],
  });
  const result = store.addMessage({
    role: 'tool',
    id: 'call-1',
    content: [{ type: 'tool-result', toolCallId: 'call-1', toolName: 'Shell', result: 'Exit code: 2' }],
    providerOptions: { cursor: { highLevelToolCallResult: { output: { failure: { exitCode: 2 } }, isError: true } } },
  });
  store.setState([system, context, prompt, call, result, found]);
  const [session, ...others] = await readAll();
  expect(others).toEqual([]);
  expect(session?.identity).toMatchObject({ agent: 'cursor', format: 'cursor-session', sessionId: SESSION });
  expect(session?.messages.map(({ message_type: type }) => type)).toEqual([
    'system',
    'user',
    'user',
    'assistant',
    'user',
    'assistant',
  ]);
  expect(session?.contentBlocks.map(({ block_type }) => block_type)).toEqual([
    ...['text', 'text', 'text', 'thinking', 'tool_use', 'tool_result', 'text'],
  ]);
  expect(session?.metadata).toMatchObject({ title: 'Heron', cwd: '/home/ada/my app' });
  expect(session?.stats).toMatchObject({ prompt_count: 1, initial_prompt: 'Look for the heron' });
  expect(session?.toolCalls).toMatchObject([{ tool_kind: 'shell', program: 'ls', is_error: true, output_bytes: 12 }]);
  expect(session?.messages.map(({ model }) => model)).toEqual([null, null, null, modelName, null, null]);
  // The state says how full the context is. That is not usage, and there is none elsewhere, so it is unknown, not 0.
  expect(session?.apiResponses).toEqual([]);
  expect(session?.stats).toMatchObject({ tokens_in: null, tokens_out: null, cost_estimate_usd: null });
  expect(session?.text).not.toContain(KEY);
});

it('includes what the latest state no longer has, and shows the conversation that it has', async () => {
  const store = await createStore();
  const [first, second] = [store.addMessage(user('Look', 'r-1')), store.addMessage(answer('Nothing yet'))];
  const summary = store.addMessage({
    ...{ role: 'user', content: 'Nothing so far' },
    providerOptions: { cursor: { isSummary: true } },
  });
  const third = store.addMessage(user('Look again', 'r-2'));
  store.setState([first, second]);
  store.setState([summary, third, third]);
  const [session] = await readAll();
  expect(session?.text).toContain('Nothing yet');
  expect(session?.messages.map(({ message_type: type }) => type)).toEqual(['summary', 'user', 'user']);
  expect(session?.events.map(({ event_key: key }) => key)).toEqual([`compaction:${SESSION}:3`, 'prompt:r-2']);
});

it('reads messages as they were written if nothing gives their order', async () => {
  const store = await createStore();
  store.addMessage(user('Look', 'r-1'));
  store.addMessage(answer('Found it'));
  store.database.prepare('INSERT INTO meta VALUES (?, ?)').run('0', 'no hexadecimal digits');
  const [session] = await readAll();
  expect(session?.identity.sessionId).toBe(SESSION);
  expect(session?.messages.map(({ message_type: type }) => type)).toEqual(['user', 'assistant']);
});

it('has another version once there are messages, and no session before that', async () => {
  const store = await createStore();
  store.setFacts({ agentId: SESSION, latestRootBlobId: '', name: 'New Agent' });
  const list = async () => {
    const opened = await openSessionStore(store.path);
    const sessions = opened.listSessions();
    opened.close();
    return sessions.map(({ version }) => version);
  };
  expect(await list()).toEqual([]);
  const first = store.addMessage(user('Look', 'r-1'));
  store.setState([first], 'New Agent');
  const before = await list();
  expect(before).toHaveLength(1);
  expect(await list()).toEqual(before);
  expect((await readAll())[0]?.metadata.title).toBe(null);
  store.setState([first, store.addMessage(answer('Found it'))]);
  expect(await list()).not.toEqual(before);
});

it('has no text if only usage may be sent', async () => {
  const store = await createStore();
  store.setState([store.addMessage(user('Look for the heron', 'r-1'))]);
  const [session] = await readAll();
  const rewrite = toUsageOnly('cursor-session');
  const source = async function* () {
    yield Buffer.from(session?.text ?? '');
  };
  const chunks: Buffer[] = [];
  for await (const chunk of rewrite?.(source()) ?? []) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString();
  expect(text).toContain(SESSION);
  expect(text).not.toMatch(/heron|my app|my%20app/);
});
