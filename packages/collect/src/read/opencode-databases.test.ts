import type { DatabaseSync } from 'node:sqlite';
import { beforeEach, expect, it } from 'vitest';
import { countTokens, createStores, listIssues } from '../testing/stores.ts';

let stores: Awaited<ReturnType<typeof createStores>>;
beforeEach(async () => {
  stores = await createStores();
});

const START = Date.UTC(2026, 9, 1, 8);
const SESSION = (table: string) => `CREATE TABLE ${table} (id text PRIMARY KEY, project_id text, parent_id text,
  fork_session_id text, directory text, title text, version text, cost real DEFAULT 0, tokens_input integer DEFAULT 0,
  tokens_output integer DEFAULT 0, time_created integer, time_updated integer, time_idle integer);`;
const VERSION_1 = `${SESSION('session')}
  CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, time_updated integer, data text);
  CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, time_created integer, time_updated integer,
    data text);
  CREATE TABLE credential (id text PRIMARY KEY, value text);
  INSERT INTO credential VALUES ('c', 'secret');`;
const VERSION_2 = `${SESSION('session_v2')}
  CREATE TABLE session_message (id text PRIMARY KEY, session_id text, type text, seq integer, time_created integer,
    time_updated integer, data text);
  CREATE TABLE event (id text PRIMARY KEY, aggregate_id text, seq integer, type text, data text, created integer);
  CREATE TABLE kv (key text PRIMARY KEY, value text);
  INSERT INTO kv VALUES ('migration.v1-v2', '{"phase":"completed"}');`;

const tokens = (input: number, output: number, reasoning = 0, read = 0, write = 0) => ({
  ...{ input, output, reasoning, cache: { read, write } },
});
const MODEL = { id: 'claude-sonnet-4-5', providerID: 'anthropic', variant: 'default' };

function createWriter(database: DatabaseSync) {
  return {
    session(table: string, id: string, parent: string | null = null) {
      const columns = 'id, parent_id, directory, title, version, time_created, time_updated';
      database
        .prepare(`INSERT INTO ${table} (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?)`)
        .run(id, parent, '/home/ada/app', 'Look for the heron', '2.0.10', START, START);
    },
    /** A message of version 1 with one step. */
    old(session: string, id: string, second: number, used: object, steps: object[] = [used]) {
      const time = START + second * 1000;
      const info = {
        ...{
          role: 'assistant',
          providerID: MODEL.providerID,
          modelID: MODEL.id,
          tokens: used,
          cost: 0.01 * steps.length,
        },
        ...{ time: { created: time, completed: time + 9 }, finish: 'stop' },
      };
      database.prepare('INSERT INTO message VALUES (?, ?, ?, ?, ?)').run(id, session, time, time, JSON.stringify(info));
      const parts = [
        { type: 'text', text: `Answer ${id}` },
        ...steps.map((step) => ({ type: 'step-finish', reason: 'stop', cost: 0.01, tokens: step })),
      ];
      for (const [index, part] of parts.entries()) {
        database
          .prepare('INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)')
          .run(`prt_${id}_${index}`, id, session, time, time, JSON.stringify(part));
      }
    },
    row(session: string, id: string, type: string, second: number, data: object) {
      const time = START + second * 1000;
      database
        .prepare('INSERT INTO session_message VALUES (?, ?, ?, ?, ?, ?, ?)')
        .run(id, session, type, second, time, time, JSON.stringify({ time: { created: time }, ...data }));
    },
    answer(session: string, id: string, second: number, used: object, more: object = {}) {
      const time = { created: START + second * 1000, completed: START + second * 1000 + 9 };
      const content = [{ type: 'text', text: `Answer ${id}` }];
      this.row(session, id, 'assistant', second, {
        agent: 'build',
        model: MODEL,
        content,
        tokens: used,
        time,
        ...more,
      });
    },
    event(session: string, id: string, type: string, second: number, data: object) {
      database
        .prepare('INSERT INTO event VALUES (?, ?, ?, ?, ?, ?)')
        .run(id, session, second, type, JSON.stringify(data), START + second * 1000);
    },
  };
}

it('reads each answer of opencode 2 as a response whose reasoning is separate from its output', async () => {
  const database = await stores.create('opencode.db', VERSION_1 + VERSION_2);
  const write = createWriter(database);
  write.session('session_v2', 'ses_new');
  write.session('session_v2', 'ses_child', 'ses_new');
  write.row('ses_new', 'msg_1', 'user', 1, {
    text: 'Look for the heron',
    files: [{ uri: 'file:///a', mime: 'text/plain' }],
  });
  const tool = (name: string, state: object) => ({
    ...{ type: 'tool', id: 'call_0000000000000000001', name, state, time: { created: START, completed: START + 3000 } },
  });
  const content = [
    { type: 'reasoning', text: 'Where?' },
    tool('shell', {
      ...{ status: 'completed', input: { command: 'git status' }, content: [{ type: 'text', text: 'clean' }] },
      metadata: { exit: 0 },
    }),
  ];
  write.answer('ses_new', 'msg_2', 2, tokens(100, 20, 30, 400, 50), { content, finish: 'tool-calls', cost: 0.5 });
  const delegate = {
    ...tool('subagent', {
      ...{ status: 'error', input: { agent: 'explore' }, error: { type: 'tool.execution', message: 'lost' } },
      metadata: { sessionID: 'ses_child' },
    }),
    id: 'call_0000000000000000002',
  };
  write.answer('ses_new', 'msg_3', 3, tokens(7, 8), { content: [delegate] });
  write.answer('ses_new', 'msg_4', 4, tokens(0, 0), {
    content: [],
    error: { type: 'provider.error', message: 'Slow down' },
  });
  write.row('ses_new', 'msg_5', 'idle', 5, { outcome: 'failed' });
  write.row('ses_new', 'msg_6', 'synthetic', 6, { text: 'A job has ended' });
  const { sessions, failures } = await stores.read('opencode.db');
  expect(failures).toEqual([]);
  const session = sessions.get('ses_new');
  expect(session && listIssues(session)).toEqual([]);
  expect(session && countTokens(session)).toEqual({ n: 2, in: 107, out: 58, read: 400, written: 50 });
  expect(session?.apiResponses[0]).toMatchObject({
    thinking_tokens: 30,
    model: 'claude-sonnet-4-5',
    reported_cost_usd: 0.5,
  });
  expect(session?.metadata).toMatchObject({ title: 'Look for the heron', cwd: '/home/ada/app', version: '2.0.10' });
  expect(session?.stats).toMatchObject({ prompt_count: 1, initial_prompt: 'Look for the heron' });
  expect(session?.toolCalls).toMatchObject([
    { tool_kind: 'shell', program: 'git', is_error: false, output_bytes: 5 },
    { tool_kind: 'agent', subagent_type: 'explore', subagent_id: 'ses_child', is_error: true },
  ]);
  expect(session?.events.map(({ kind }) => kind)).toEqual(['prompt', 'api_error', 'turn']);
  expect(session?.contentBlocks.some(({ content_text: text }) => text === 'Slow down')).toBe(true);
  expect(sessions.get('ses_child')?.text).toContain('"parent":"ses_new"');
  const before = session?.text ?? '';
  write.answer('ses_new', 'msg_7', 7, tokens(1, 1));
  database.exec(`UPDATE session_v2 SET tokens_input = 999, cost = 9, time_updated = 1, time_idle = 2`);
  expect((await stores.read('opencode.db')).sessions.get('ses_new')?.text.startsWith(before)).toBe(true);
});

it('counts the usage of titles and compactions, which only events have, once', async () => {
  const database = await stores.create('opencode.db', VERSION_2);
  const write = createWriter(database);
  write.session('session_v2', 'ses_new');
  const usage = 'session.usage.recorded.1';
  write.event('ses_new', 'evt_1', 'session.step.ended.1', 1, { tokens: tokens(5000, 5000) });
  write.event('ses_new', 'evt_2', usage, 2, { source: 'title', cost: 0.1, tokens: tokens(50, 5) });
  // Since September 2026, the compaction's message has its usage as well.
  write.row('ses_new', 'msg_3', 'compaction', 3, {
    ...{ status: 'completed', reason: 'auto', summary: 'All of it', recent: '', model: MODEL, tokens: tokens(900, 90) },
  });
  write.event('ses_new', 'evt_4', usage, 4, { source: 'compaction', cost: 0.2, tokens: tokens(900, 90) });
  write.row('ses_new', 'msg_5', 'compaction', 5, {
    status: 'completed',
    reason: 'manual',
    summary: 'More',
    recent: '',
  });
  write.event('ses_new', 'evt_6', usage, 6, { source: 'compaction', cost: 0.3, tokens: tokens(800, 80) });
  const session = (await stores.read('opencode.db')).sessions.get('ses_new');
  expect(session && listIssues(session)).toEqual([]);
  expect(session && countTokens(session)).toEqual({ n: 3, in: 1750, out: 175, read: 0, written: 0 });
  expect(session?.apiResponses.map(({ model }) => model)).toEqual(['unknown', 'claude-sonnet-4-5', 'unknown']);
  expect(session?.events.map(({ kind }) => kind)).toEqual(['compaction', 'compaction', 'turn']);
});

it('counts a session that is in both forms once, and continues it', async () => {
  const database = await stores.create('opencode.db', VERSION_1);
  const write = createWriter(database);
  write.session('session', 'ses_old');
  // Written when reasoning was part of the output; the copy of version 2 does not have the total that says so.
  const withTotal = { ...tokens(100, 50, 30), total: 150 };
  write.old('ses_old', 'msg_000000000001aaaaaaaaaaaaaa', 1, withTotal);
  // Two steps in one message; the copy has the last one.
  write.old('ses_old', 'msg_000000000002aaaaaaaaaaaaaa', 2, { ...tokens(20, 2), total: 22 }, [
    { ...tokens(10, 1), total: 11 },
    { ...tokens(20, 2), total: 22 },
  ]);
  const before = (await stores.read('opencode.db')).sessions.get('ses_old');
  expect(before && countTokens(before)).toMatchObject({ n: 3, in: 130, out: 53 });
  database.exec(VERSION_2);
  write.session('session_v2', 'ses_old');
  write.answer('ses_old', 'msg_000000000001aaaaaaaaaaaaaa', 1, tokens(100, 50, 30));
  write.answer('ses_old', 'msg_000000000002aaaaaaaaaaaaaa', 2, tokens(20, 2));
  write.row('ses_old', 'msg_000000000002bbbbbbbbbbbbbb', 'synthetic', 2, { text: 'What version 1 had made up' });
  const migrated = (await stores.read('opencode.db')).sessions.get('ses_old');
  expect(migrated && countTokens(migrated)).toEqual(before && countTokens(before));
  expect(migrated?.text.startsWith(before?.text ?? '-')).toBe(true);
  expect(migrated?.messages.length).toBe(before?.messages.length);
  // Version 2 continues, and so may version 1.
  write.answer('ses_old', 'msg_000000000003aaaaaaaaaaaaaa', 3, tokens(1000, 100, 10));
  const grown = (await stores.read('opencode.db')).sessions.get('ses_old');
  expect(grown?.text.startsWith(migrated?.text ?? '-')).toBe(true);
  write.old('ses_old', 'msg_000000000004aaaaaaaaaaaaaa', 4, { ...tokens(5, 5), total: 10 });
  const last = (await stores.read('opencode.db')).sessions.get('ses_old');
  expect(last?.text.startsWith(grown?.text ?? '-')).toBe(true);
  expect(last && countTokens(last)).toMatchObject({ n: 5, in: 1135, out: 168 });
  expect(last && listIssues(last)).toEqual([]);
});

it('gives a response the same key in version 1, in its copy, and in a fork of version 2', async () => {
  const used = { ...tokens(100, 50, 30, 10, 20), total: 210 };
  const old = createWriter(await stores.create('one/opencode.db', VERSION_1));
  old.session('session', 'ses_old');
  old.old('ses_old', 'msg_1', 1, used);
  const later = createWriter(await stores.create('two/opencode.db', VERSION_2));
  later.session('session_v2', 'ses_old');
  later.answer('ses_old', 'msg_1', 1, tokens(100, 50, 30, 10, 20));
  later.session('session_v2', 'ses_fork');
  later.answer('ses_fork', 'msg_evt_1', 1, tokens(100, 50, 30, 10, 20));
  const keys = [
    (await stores.read('one/opencode.db')).sessions.get('ses_old'),
    (await stores.read('two/opencode.db')).sessions.get('ses_old'),
    (await stores.read('two/opencode.db')).sessions.get('ses_fork'),
  ].map((session) => session?.apiResponses.map((row) => row.response_key));
  expect(keys[0]).toHaveLength(1);
  expect(new Set(keys.flat()).size).toBe(1);
});

it('reads a test version of opencode 2, whose messages belong to sessions of version 1', async () => {
  const database = await stores.create('opencode-next.db', VERSION_1);
  database.exec(VERSION_2.replace(SESSION('session_v2'), ''));
  const write = createWriter(database);
  write.session('session', 'ses_next');
  write.answer('ses_next', 'msg_1', 1, tokens(10, 5, 2));
  const session = (await stores.read('opencode-next.db')).sessions.get('ses_next');
  expect(session && countTokens(session)).toMatchObject({ n: 1, in: 10, out: 7 });
});

it('names an unknown type of row, with what it holds', async () => {
  const write = createWriter(await stores.create('opencode.db', VERSION_2));
  write.session('session_v2', 'ses_new');
  write.row('ses_new', 'msg_1', 'debate', 1, { text: 'Egrets are herons', tokens: tokens(10, 5) });
  write.row('ses_new', 'msg_2', 'model-switched', 2, { model: MODEL, tokens: tokens(7, 7) });
  write.answer('ses_new', 'msg_3', 3, tokens(1, 1), { content: [{ type: 'sketch', text: 'A heron' }] });
  const session = (await stores.read('opencode.db')).sessions.get('ses_new');
  expect(session && listIssues(session)).toEqual([
    'unknown_line_type: Unknown line type: debate',
    'unread_content: Usage that is not counted, in lines of type debate',
    'unread_content: Text that is not shown, in lines of type debate',
    'unread_content: Usage that is not counted, in lines of type model-switched',
    'unknown_line_type: Unknown line type: content/sketch',
    'unread_content: Text that is not shown, in lines of type content/sketch',
  ]);
  expect(session && countTokens(session)).toMatchObject({ n: 1, in: 1 });
});
