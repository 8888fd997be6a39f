import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { countTokens, createStores, listIssues } from '../testing/stores.ts';
import { listNotRead, openSessionStore } from './open-store.ts';
import { readSessions } from './read-sessions.ts';

let stores: Awaited<ReturnType<typeof createStores>>;
beforeEach(async () => {
  stores = await createStores();
});

const MESSAGES = `CREATE TABLE messages (id TEXT PRIMARY KEY, session_id TEXT, role TEXT, parts TEXT, model TEXT,
  created_at INTEGER, updated_at INTEGER, finished_at INTEGER`;
const GO = `
  CREATE TABLE sessions (id TEXT PRIMARY KEY, parent_session_id TEXT, title TEXT, message_count INTEGER,
    prompt_tokens INTEGER, completion_tokens INTEGER, cost REAL, updated_at INTEGER, created_at INTEGER,
    summary_message_id TEXT);
  CREATE TABLE files (id TEXT PRIMARY KEY, session_id TEXT, path TEXT, content TEXT);
  INSERT INTO files VALUES ('f', 'g1', 'a.txt', 'grey');
  INSERT INTO sessions VALUES ('g1', NULL, 'Heron', 1, 5000, 40, 0.12, 1751400000, 1751400000, NULL);`;
const GO_MESSAGE = JSON.stringify([{ type: 'text', data: { text: 'Look for the heron' } }]);

it('takes the store of 2025 for opencode’s, and one whose messages name a provider for Crush’s', async () => {
  const values = `('m1', 'g1', 'user', '${GO_MESSAGE}', NULL, 1751400001, 1, 1`;
  await stores.create('.opencode/opencode.db', `${GO}${MESSAGES}); INSERT INTO messages VALUES ${values});`);
  await stores.create('heron.db', `${GO}${MESSAGES}); INSERT INTO messages VALUES ${values});`);
  await stores.create(
    '.crush/crush.db',
    `${GO}${MESSAGES}, provider TEXT); INSERT INTO messages VALUES ${values}, 'x');`,
  );
  for (const name of ['.opencode/opencode.db', 'heron.db']) {
    const { sessions, failures } = await stores.read(name);
    const session = sessions.get('g1');
    expect(failures).toEqual([]);
    expect(session && listIssues(session)).toEqual([]);
    expect(session?.agent).toBe('opencode');
    expect(session?.stats).toMatchObject({ prompt_count: 1, initial_prompt: 'Look for the heron' });
    expect(session?.metadata).toMatchObject({ title: 'Heron', reportedTotals: { cost_usd: 0.12, tokens_in: null } });
  }
  expect((await stores.read('.crush/crush.db')).sessions.get('g1')?.agent).toBe('crush');
});

it('names unknown tables with rows, and known ones whose columns are unknown', async () => {
  const info = { role: 'assistant', time: { created: 1 }, tokens: { input: 10, output: 5, total: 15 } };
  const database = await stores.create(
    'opencode.db',
    `CREATE TABLE session (id text, parent_id text);
    CREATE TABLE message (id text, session_id text, time_created integer, data text);
    CREATE TABLE credential (id text, value text);
    INSERT INTO credential VALUES ('c', 'secret');
    INSERT INTO session VALUES ('ses_old', NULL);
    INSERT INTO message VALUES ('msg_1', 'ses_old', 1, '${JSON.stringify(info)}')`,
  );
  database.exec(`
    CREATE TABLE session_v3 (id text, title text);
    CREATE TABLE empty_table (id text);
    CREATE VIRTUAL TABLE heron_search USING fts5(text);
    INSERT INTO heron_search VALUES ('grey');
    CREATE TABLE session_message (id text, chat text, data text);`);
  expect(await listNotRead([join(stores.folder, 'opencode.db')])).toEqual([]);
  database.exec(
    `INSERT INTO session_v3 VALUES ('ses_1', 'a'), ('ses_2', 'b'); INSERT INTO session_message VALUES ('m', 'c', '{}')`,
  );
  const { sessions, failures } = await stores.read('opencode.db');
  expect(failures).toEqual([
    'this version of recount does not read all of opencode’s database: table session_v3 (2 rows) is unknown, ' +
      'session_message (1 row) has no column session_id. Update recount; the rows stay where they are',
  ]);
  const session = sessions.get('ses_old');
  expect(session && countTokens(session)).toMatchObject({ n: 1, in: 10 });
});

it('counts and names rows whose session is in no table, and reads the others', async () => {
  const info = { role: 'assistant', time: { created: 1 }, tokens: { input: 10, output: 5, total: 15 } };
  const data = JSON.stringify(info);
  const database = await stores.create(
    'opencode.db',
    `CREATE TABLE session_v2 (id text, parent_id text);
    CREATE TABLE message (id text, session_id text, time_created integer, data text);
    CREATE TABLE part (id text, message_id text, session_id text, data text);
    CREATE TABLE session_message (id text, session_id text, seq integer, time_created integer, type text, data text);
    CREATE TABLE event (id text, aggregate_id text, type text, seq integer, created integer, data text);
    INSERT INTO session_v2 VALUES ('ses_new', NULL);
    INSERT INTO event VALUES ('e0', 'ses_gone', 'session.renamed', 1, 1, '{}');
    INSERT INTO message VALUES ('msg_1', 'ses_new', 1, '${data}')`,
  );
  expect(await listNotRead([join(stores.folder, 'opencode.db')])).toEqual([]);
  database.exec(`
    INSERT INTO message VALUES ('msg_2', 'ses_gone', 2, '${data}'), ('msg_3', NULL, 3, '${data}');
    INSERT INTO session_message VALUES ('msg_2', 'ses_gone', 1, 2, 'assistant', '${data}'),
      ('msg_4', 'ses_gone', 1, 2, 'assistant', '${data}');
    INSERT INTO part VALUES ('prt_1', 'msg_1', 'ses_new', '{}'), ('prt_2', 'msg_0', 'ses_new', '{}');
    INSERT INTO event VALUES ('e1', 'ses_gone', 'session.usage.recorded.1', 2, 2, '{}')`);
  const { sessions, failures } = await stores.read('opencode.db');
  expect(failures).toEqual([
    'this version of recount does not read all of opencode’s database: table message (2 rows) belongs to no session, ' +
      'part (1 row) belongs to no message, session_message (1 row) belongs to no session, event (1 row) belongs to ' +
      'no session. The rows stay where they are',
  ]);
  expect([...sessions.keys()]).toEqual(['ses_new']);
});

it.each([
  ['opencode/opencode.db', 'opencode'],
  ['kilo/kilo-dev.db', 'Kilo CLI'],
  ['goose/sessions/sessions.db', 'Goose'],
  ['crush.db', 'Crush'],
  ['.copilot/session-store.db', 'Copilot CLI'],
  ['chats/hash/uuid/store.db', 'Cursor'],
])('names %s, where %s has only tables that are unknown', async (name, label) => {
  await stores.create(name, `CREATE TABLE heron (id text); INSERT INTO heron VALUES ('a')`);
  const { sessions, failures } = await stores.read(name);
  expect(sessions.size).toBe(0);
  expect(failures).toEqual([expect.stringContaining(`all of ${label}’s database: table heron (1 row) is unknown`)]);
});

it('skips a database of another program', async () => {
  await stores.create('mail.db', `CREATE TABLE mail (id text); INSERT INTO mail VALUES ('a')`);
  await expect(openSessionStore(join(stores.folder, 'mail.db'))).rejects.toThrow('a database of no known agent');
  const kinds: string[] = [];
  for await (const { kind } of readSessions([stores.folder])) kinds.push(kind);
  expect(kinds).toEqual(['skipped']);
});
