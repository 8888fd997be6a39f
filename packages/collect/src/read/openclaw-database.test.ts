import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { zstdCompressSync } from 'node:zlib';
import { identifyTranscript, type ParseResult, parseTranscript } from '@recount/core';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { findSessions } from '../find/find-sessions.ts';
import { readSessions } from './read-sessions.ts';

const AGENT = '.openclaw/agents/main';
const TABLES = `CREATE TABLE session_windows (session_id TEXT NOT NULL PRIMARY KEY, session_key TEXT NOT NULL,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, status TEXT, display_name TEXT) STRICT;
  CREATE TABLE transcript_events (session_id TEXT NOT NULL, seq INTEGER NOT NULL, event_json TEXT,
    created_at INTEGER NOT NULL, event_zstd BLOB, PRIMARY KEY (session_id, seq)) STRICT;
  CREATE TABLE session_nodes (session_key TEXT NOT NULL PRIMARY KEY, entry_json TEXT NOT NULL) STRICT;
  INSERT INTO session_nodes VALUES ('agent:main:main', '{"totalTokens":5}');
  INSERT INTO session_windows VALUES ('claw-1', 'agent:main:main', 1, 9, 'done', 'Herons');`;
const at = (second: number) => new Date(Date.UTC(2026, 8, 12, 8, 0, second)).toISOString();
const usage = { input: 10, output: 40, cacheRead: 100, cacheWrite: 50, totalTokens: 200, cost: { total: 0 } };
const EVENTS = [
  { type: 'session', version: 3, id: 'claw-1', timestamp: at(0), cwd: '/home/ada' },
  { type: 'message', id: 'a1', parentId: null, timestamp: at(1), message: { role: 'user', content: 'Look' } },
  { type: 'reset', id: 'a2', parentId: 'a1', timestamp: at(2), reason: 'new' },
  {
    ...{ type: 'message', id: 'a3', parentId: 'a2', timestamp: at(3) },
    message: { role: 'assistant', content: 'Here', model: 'glm-5', timestamp: Date.parse(at(3)), usage },
  },
];

let homeFolder: string;
beforeEach(async () => {
  homeFolder = await mkdtemp(join(tmpdir(), 'recount-openclaw-'));
  onTestFinished(() => rm(homeFolder, { recursive: true, force: true }));
});

async function createFile(path: string, content = ''): Promise<string> {
  const whole = join(homeFolder, path);
  await mkdir(dirname(whole), { recursive: true });
  if (content !== '') await writeFile(whole, content);
  return whole;
}

const find = (holds: string) =>
  findSessions({ platform: 'linux', environment: {}, homeFolder })
    .filter(({ place }) => place.holds === holds)
    .flatMap(({ files }) => files.map(({ path }) => path));

it('reads sessions from OpenClaw’s database, also compressed events, with the same keys as from files', async () => {
  const database = new DatabaseSync(await createFile(`${AGENT}/agent/openclaw-agent.sqlite`));
  onTestFinished(() => database.close());
  database.exec(TABLES);
  const insert = database.prepare('INSERT INTO transcript_events VALUES (?, ?, ?, ?, ?)');
  // The order follows `seq`, not the rows.
  for (const seq of [3, 1, 0, 2]) {
    const text = JSON.stringify(EVENTS[seq]);
    insert.run('claw-1', seq, seq === 3 ? null : text, 5, seq === 3 ? zstdCompressSync(text) : null);
  }
  insert.run('claw-1', 4, null, 5, Buffer.from('torn'));
  const items = [];
  for await (const found of readSessions(find('database'))) items.push(found);
  const [item] = items;
  if (item?.kind !== 'transcript' || items.length > 1) throw new Error(`${items.length} items, ${item?.kind}`);
  const text = (await (await item.open()).toArray()).join('');
  const identity = identifyTranscript({ path: item.path, head: Buffer.from(text) });
  expect(identity).toMatchObject({ agent: 'openclaw', format: 'openclaw-store', sessionId: 'claw-1' });
  const read = await parseTranscript('claw-1', text, { format: identity.format });
  expect([...read.errors, ...read.warnings, ...read.notices].map(({ code }) => code)).toEqual(['invalid_json']);
  expect(read.metadata).toMatchObject({ cwd: '/home/ada', title: 'Herons' });
  expect(read.stats).toMatchObject({
    tokens_in: 10,
    tokens_out: 40,
    cache_read: 100,
    cache_write: 50,
    prompt_count: 1,
  });
  const keys = ({ apiResponses }: ParseResult) => apiResponses.map((row) => row.response_key);
  const file = EVENTS.map((event) => `${JSON.stringify(event)}\n`).join('');
  expect(keys(read)).toEqual(keys(await parseTranscript('claw-1', file, { format: 'openclaw-session' })));
});

it('finds OpenClaw’s sessions under every name that they have, and no others', async () => {
  const time = '2026-05-07T01-26-08.695Z';
  const sessions = [
    ...['sessions/s-1.jsonl', `sessions/s-2.jsonl.reset.${time}`, `sessions/s-3.jsonl.deleted.${time}`],
    ...[
      `sessions/s-4.jsonl.deleted.${time}.zst`,
      'session-sqlite-import-archive/main.s-5.jsonl.imported-1780000000000',
    ],
  ];
  const others = [
    ...['sessions/sessions.json', 'sessions/s-1.jsonl.lock', `sessions/s-1.jsonl.bak.${time}`],
    ...[`sessions/s-2.jsonl.reset.${time}.tmp`, 'sessions/sessions.json.bak.1'],
  ];
  const aside = ['sessions/s-1.trajectory.jsonl', 'sessions/cold/0123.jsonl.zst'];
  for (const name of [...sessions, ...others, ...aside]) await createFile(`${AGENT}/${name}`, '{}\n');
  const ofProfile = await createFile('.openclaw-work/agents/main/sessions/s-6.jsonl', '{}\n');
  const toPaths = (names: string[]) => names.map((name) => join(homeFolder, AGENT, name)).sort();
  expect(find('transcripts').sort()).toEqual([...toPaths(sessions), ofProfile].sort());
  expect(find('aside').sort()).toEqual(toPaths(aside));
});
