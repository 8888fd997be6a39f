import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { identifyTranscript, type ParseResult, parseTranscript, type TranscriptIdentity } from '@recount/core';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { findSessions } from '../find/find-sessions.ts';
import { findInStores, readSessions } from './read-sessions.ts';

let homeFolder: string;
beforeEach(async () => {
  homeFolder = await mkdtemp(join(tmpdir(), 'recount-databases-'));
  onTestFinished(() => rm(homeFolder, { recursive: true, force: true }));
});

async function createDatabase(path: string, sql: string): Promise<DatabaseSync> {
  await mkdir(dirname(join(homeFolder, path)), { recursive: true });
  const database = new DatabaseSync(join(homeFolder, path));
  onTestFinished(() => database.close());
  database.exec(sql);
  return database;
}

interface Session extends ParseResult {
  identity: TranscriptIdentity;
  text: string;
}

/** Finds everything in the home folder, and parses it as an upload would be. */
async function readAll(): Promise<Session[]> {
  const found = await findSessions({ platform: 'linux', environment: {}, homeFolder });
  const sessions: Session[] = [];
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

const sumOf = ({ apiResponses }: ParseResult) => ({
  n: apiResponses.length,
  input: apiResponses.reduce((sum, row) => sum + row.tokens_in + row.cache_read + row.cache_write, 0),
  output: apiResponses.reduce((sum, row) => sum + row.tokens_out, 0),
  read: apiResponses.reduce((sum, row) => sum + row.cache_read, 0),
  written: apiResponses.reduce((sum, row) => sum + row.cache_write, 0),
  micros: Math.round(apiResponses.reduce((sum, row) => sum + (row.reported_cost_usd ?? 0), 0) * 1e6),
});

describe('Goose', () => {
  const PATH = '.local/share/goose/sessions/sessions.db';
  const SESSIONS = `CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT, user_set_name BOOLEAN, session_type TEXT,
    working_dir TEXT, created_at TIMESTAMP, updated_at TIMESTAMP, accumulated_input_tokens INTEGER,
    accumulated_output_tokens INTEGER, accumulated_cache_read_tokens INTEGER, accumulated_cost REAL,
    model_config_json TEXT, parent_session_id TEXT);`;
  const MESSAGES = `CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT, session_id TEXT,
    role TEXT, content_json TEXT, created_timestamp INTEGER, timestamp TIMESTAMP, tokens INTEGER, metadata_json TEXT);`;
  const LEDGER = `CREATE TABLE usage_ledger (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT,
    created_timestamp INTEGER, model TEXT, input_tokens INTEGER, output_tokens INTEGER, total_tokens INTEGER,
    cache_read_tokens INTEGER, cache_write_tokens INTEGER, cost REAL, cost_source TEXT, is_compaction INTEGER);`;
  const toSession = (id: string, parent: string | null) =>
    `INSERT INTO sessions VALUES ('${id}', 'Heron', 0, 'user', '/home/ada/app', '2026-05-12 08:00:00',
      '2026-05-12 08:10:00', 12000, 430, 9000, 0.06, '{"model_name":"claude-sonnet-4-5"}', ${parent && `'${parent}'`});`;
  const addMessage = (database: DatabaseSync, id: number, role: string, content: object[]) =>
    database
      .prepare(
        'INSERT INTO messages (message_id, session_id, role, content_json, created_timestamp) VALUES (?, ?, ?, ?, ?)',
      )
      .run(`m${id}`, 's1', role, JSON.stringify(content), 1_778_572_800 + id);

  it('counts each request of its ledger once, with input that includes the cache', async () => {
    const database = await createDatabase(
      PATH,
      SESSIONS + MESSAGES + LEDGER + toSession('s1', null) + toSession('s2', 's1'),
    );
    addMessage(database, 1, 'user', [{ type: 'text', text: 'Look for the heron' }]);
    const toolCall = { status: 'success', value: { name: 'developer__shell', arguments: { command: 'ls -l' } } };
    addMessage(database, 2, 'assistant', [
      { type: 'thinking', thinking: 'Where?', signature: 'abc' },
      { type: 'toolRequest', id: 'call_1', toolCall },
    ]);
    const value = { content: [{ type: 'text', text: 'heron.md' }] };
    addMessage(database, 3, 'user', [{ type: 'toolResponse', id: 'call_1', toolResult: { status: 'success', value } }]);
    addMessage(database, 4, 'assistant', [{ type: 'text', text: 'Found it' }]);
    // Two equal requests within one second, one that was a compaction, and one from before the ledger.
    database.exec(`INSERT INTO usage_ledger (session_id, created_timestamp, model, input_tokens, output_tokens,
        cache_read_tokens, cache_write_tokens, cost, cost_source, is_compaction) VALUES
      ('s1', 1778572801, NULL, 300, 50, 0, 0, 0.01, 'carried_forward', 0),
      ('s1', 1778572802, 'claude-sonnet-4-5', 10000, 400, 8000, 1500, 0.05, 'estimated', 0),
      ('s1', 1778572804, 'claude-sonnet-4-5', 100, 20, 60, 30, 0.001, 'estimated', 0),
      ('s1', 1778572804, 'claude-sonnet-4-5', 100, 20, 60, 30, 0.001, 'estimated', 0),
      ('s1', 1778572805, 'claude-haiku-4-5', 5000, 200, 0, 0, 0.002, 'estimated', 1)`);
    const [session, child] = await readAll();
    const expected = database
      .prepare(
        `SELECT count(*) AS n, sum(input_tokens) AS input, sum(output_tokens) AS output, sum(cache_read_tokens) AS read,
           sum(cache_write_tokens) AS written, CAST(round(sum(cost) * 1e6) AS INTEGER) AS micros FROM usage_ledger`,
      )
      .get();
    expect(session && sumOf(session)).toEqual({ ...expected });
    expect(session?.apiResponses[1]).toMatchObject({ tokens_in: 500, cache_read: 8000, cache_write: 1500 });
    expect(session?.identity).toMatchObject({ agent: 'goose', sessionId: 's1', isSubagent: false });
    expect(session?.stats).toMatchObject({ prompt_count: 1, initial_prompt: 'Look for the heron' });
    expect(session?.metadata).toMatchObject({ title: 'Heron', cwd: '/home/ada/app' });
    expect(session?.toolCalls).toMatchObject([{ tool_kind: 'shell', program: 'ls', is_error: false, output_bytes: 8 }]);
    expect(session?.events.map(({ kind }) => kind)).toEqual(['prompt', 'compaction', 'turn']);
    expect(child?.identity).toMatchObject({ sessionId: 's2', isSubagent: true, parentSessionId: 's1' });
    const before = session?.text ?? '';
    addMessage(database, 9, 'user', [{ type: 'text', text: 'Thanks' }]);
    database.exec(`UPDATE sessions SET updated_at = '2026-05-12 09:00:00', accumulated_input_tokens = 99999`);
    expect((await readAll())[0]?.text.startsWith(before)).toBe(true);
  });

  it('without a ledger, in old versions, has the session’s total', async () => {
    const database = await createDatabase(PATH, SESSIONS + MESSAGES + toSession('s1', null));
    addMessage(database, 1, 'user', [{ type: 'text', text: 'Look for the heron' }]);
    const [session] = await readAll();
    expect(session?.apiResponses).toMatchObject([
      { tokens_in: 3000, tokens_out: 430, cache_read: 9000, reported_cost_usd: 0.06, model: 'claude-sonnet-4-5' },
    ]);
  });
});

describe('Crush', () => {
  const SQL = `
    CREATE TABLE sessions (id TEXT PRIMARY KEY, parent_session_id TEXT, title TEXT, message_count INTEGER,
      prompt_tokens INTEGER, completion_tokens INTEGER, cost REAL, updated_at INTEGER, created_at INTEGER);
    CREATE TABLE messages (id TEXT PRIMARY KEY, session_id TEXT, role TEXT, parts TEXT, model TEXT, provider TEXT,
      created_at INTEGER, updated_at INTEGER, finished_at INTEGER, is_summary_message INTEGER DEFAULT 0 NOT NULL);
    INSERT INTO sessions VALUES ('c1', NULL, 'Heron', 4, 5000, 40, 0.12, 1778572900, 1778572800);`;
  const addMessage = (database: DatabaseSync, id: number, role: string, parts: object[], isSummary = 0) =>
    database
      .prepare('INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)')
      .run(`m${id}`, 'c1', role, JSON.stringify(parts), 'gpt-5', 'openai', 1_778_572_800 + id, 1, 1, isSummary);

  it('is found by its list of projects, and has content and cost, but no tokens', async () => {
    const database = await createDatabase('app/.crush/crush.db', SQL);
    addMessage(database, 1, 'user', [{ type: 'text', data: { text: 'Look for the heron' } }]);
    addMessage(database, 2, 'assistant', [
      { type: 'reasoning', data: { thinking: 'Where?' } },
      { type: 'tool_call', data: { id: 'call_1', name: 'view', input: '{"file_path":"/home/ada/heron.md"}' } },
      { type: 'finish', data: { reason: 'tool_use', time: 1 } },
    ]);
    addMessage(database, 3, 'tool', [{ type: 'tool_result', data: { tool_call_id: 'call_1', content: 'grey' } }]);
    addMessage(database, 4, 'assistant', [{ type: 'text', data: { text: 'All of it' } }], 1);
    const list = join(homeFolder, '.local/share/crush/projects.json');
    await mkdir(dirname(list), { recursive: true });
    const projects = [{ path: homeFolder, data_dir: join(homeFolder, 'app/.crush') }, { data_dir: 'relative' }, 7];
    await writeFile(list, JSON.stringify({ projects }));
    const [session] = await readAll();
    expect(session?.identity).toMatchObject({ agent: 'crush', sessionId: 'c1' });
    expect(session?.metadata).toMatchObject({ title: 'Heron', reportedTotals: { cost_usd: 0.12, tokens_in: null } });
    expect(session?.stats).toMatchObject({ prompt_count: 1, total_messages: 4 });
    expect(session?.messages.map(({ tokens_in }) => tokens_in)).toEqual([null, null, null, null]);
    expect(session?.toolCalls).toMatchObject([{ tool_kind: 'read', file_path: '/home/ada/heron.md', output_bytes: 4 }]);
    expect(session?.events.map(({ kind }) => kind)).toEqual(['prompt', 'compaction', 'turn']);
    expect(session?.messages[0]?.timestamp).toBe('2026-05-12T08:00:01.000Z');
    expect(session && sumOf(session)).toMatchObject({ input: 0, output: 0 });
    await writeFile(list, '{"projects":');
    expect(await readAll()).toEqual([]);
  });
});

describe('Copilot CLI', () => {
  const SQL = `
    CREATE TABLE sessions (id TEXT PRIMARY KEY, cwd TEXT, repository TEXT, branch TEXT, summary TEXT, created_at TEXT,
      updated_at TEXT);
    CREATE TABLE turns (id INTEGER PRIMARY KEY, session_id TEXT, turn_index INTEGER, user_message TEXT,
      assistant_response TEXT, timestamp TEXT);
    CREATE TABLE assistant_usage_events (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT, turn_index INTEGER,
      parent_tool_call_id TEXT, model TEXT NOT NULL, input_tokens INTEGER, output_tokens INTEGER,
      cache_read_tokens INTEGER, cache_write_tokens INTEGER, reasoning_tokens INTEGER, total_nano_aiu INTEGER,
      finish_reason TEXT, created_at TEXT);`;
  const WITH_LOG = '00000000-0000-4000-8000-000000000001';
  const WITHOUT_LOG = '00000000-0000-4000-8000-000000000002';
  const at = (second: number) => `2026-07-01T12:00:${String(second).padStart(2, '0')}.500Z`;
  const event = (type: string, second: number, data: object) =>
    `${JSON.stringify({ type, data, id: `event-${second}`, timestamp: at(second), parentId: null })}\n`;
  const message = (second: number, outputTokens: number) =>
    event('assistant.message', second, {
      ...{ messageId: `message-000000000000${second}`, model: 'claude-sonnet-4.6', content: 'Here', outputTokens },
    });
  const usage = { inputTokens: 15000, outputTokens: 80, cacheReadTokens: 9000, cacheWriteTokens: 1000 };
  const LOG = [
    event('session.start', 0, { sessionId: WITH_LOG, copilotVersion: '1.0.91', context: { cwd: '/home/ada/app' } }),
    event('user.message', 1, { content: 'Find the heron' }),
    message(3, 30),
    message(6, 50),
    event('session.shutdown', 8, { modelMetrics: { 'claude-sonnet-4.6': { usage } } }),
  ];

  async function create(rows: string): Promise<DatabaseSync> {
    const database = await createDatabase('.copilot/session-store.db', SQL);
    for (const id of [WITH_LOG, WITHOUT_LOG]) {
      const values = `'${id}', '/home/ada/app', NULL, 'main', NULL, '2026-07-01 12:00:00', '2026-07-01 12:00:09'`;
      database.exec(`INSERT INTO sessions VALUES (${values});
        INSERT INTO turns (session_id, turn_index, user_message, assistant_response, timestamp)
          VALUES ('${id}', 0, 'Find the heron', 'Here', '2026-07-01 12:00:01')`);
      database.exec(rows.replaceAll('SESSION', id));
    }
    const folder = join(homeFolder, '.copilot/session-state', WITH_LOG);
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'events.jsonl'), LOG.join(''));
    return database;
  }
  const ROWS = `INSERT INTO assistant_usage_events (session_id, turn_index, model, input_tokens, output_tokens,
      cache_read_tokens, cache_write_tokens, reasoning_tokens, finish_reason, created_at) VALUES
    ('SESSION', 0, 'claude-sonnet-4.6', 5000, 30, 1000, 1000, 5, 'tool_calls', '2026-07-01 12:00:03'),
    ('SESSION', 0, 'claude-sonnet-4.6', 10000, 50, 8000, 0, 0, 'stop', '2026-07-01 12:00:06')`;

  it('counts each request of the store once, with the log beside it and without', async () => {
    const database = await create(ROWS);
    const sessions = await readAll();
    expect(sessions.map(({ identity }) => identity.sessionId).sort()).toEqual([WITH_LOG, WITHOUT_LOG]);
    for (const session of sessions) {
      const expected = database
        .prepare(
          `SELECT count(*) AS n, sum(input_tokens) AS input, sum(output_tokens) AS output, sum(cache_read_tokens) AS read,
             sum(cache_write_tokens) AS written, 0 AS micros FROM assistant_usage_events WHERE session_id = ?`,
        )
        .get(session.identity.sessionId ?? '');
      expect(sumOf(session)).toEqual({ ...expected });
      expect(session.stats).toMatchObject({ prompt_count: 1, initial_prompt: 'Find the heron' });
      expect(session.metadata).toMatchObject({ cwd: '/home/ada/app' });
    }
    const logged = sessions.find(({ identity }) => identity.sessionId === WITH_LOG);
    expect(logged?.text.split('\n').filter((line) => line.includes('session.shutdown'))).toEqual([LOG[4]?.trim()]);
    // The agent's own total at the end of its run is stored beside it, and agrees.
    expect(logged?.metadata.reportedTotals).toMatchObject({ tokens_in: 5000, tokens_out: 80, cache_read: 9000 });
    expect(logged?.messages.filter(({ message_type }) => message_type === 'user').length).toBe(1);
  });

  it('uses the log if the store has no usage of the session, or for the time before the store', async () => {
    await create('SELECT 1');
    const whole = (await readAll()).find(({ identity }) => identity.sessionId === WITH_LOG);
    expect(whole && sumOf(whole)).toMatchObject({ input: 15000, output: 80, read: 9000, written: 1000 });
  });

  it('gives the same session whether its log or the store is read', async () => {
    await create(ROWS);
    const locations: string[] = [];
    const log = join(homeFolder, '.copilot/session-state', WITH_LOG, 'events.jsonl');
    for (const paths of [[log], [join(homeFolder, '.copilot')], [log, join(homeFolder, '.copilot/session-store.db')]]) {
      const found: string[] = [];
      for await (const item of readSessions(paths)) if (item.kind === 'transcript') found.push(item.location);
      locations.push(
        found
          .map((location) => location.replace(/.*!/, '').slice(-1))
          .sort()
          .join(' '),
      );
    }
    expect(locations).toEqual(['1', '1 2', '1 2']);
    const unknown = join(homeFolder, '.copilot/session-state/other/events.jsonl');
    expect(await findInStores([log, unknown, join(homeFolder, 'events.jsonl')])).toEqual(new Set([log]));
  });
});
