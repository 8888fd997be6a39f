import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { parseTranscript } from '@recount/core';
import type { SourceItem } from '@recount/storage/sources';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { readSessions } from './read-sessions.ts';
import { openSessionMemory } from './session-memory.ts';

const START = Date.UTC(2026, 4, 12, 8);
let folder: string;
let path: string;
let agent: DatabaseSync;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'recount-store-'));
  path = join(folder, 'share/opencode/opencode.db');
  await mkdir(dirname(path), { recursive: true });
  agent = new DatabaseSync(path);
  onTestFinished(async () => {
    agent.close();
    await rm(folder, { recursive: true, force: true });
  });
  agent.exec(`
    CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, directory TEXT, title TEXT, version TEXT,
      cost REAL, time_created INTEGER, time_updated INTEGER);
    CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT);
    CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER, time_updated INTEGER,
      data TEXT);
  `);
});

function addSession(id: string, parent: string | null = null): void {
  agent
    .prepare('INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)')
    .run(id, 'p', parent, '/home/ada/app', 'Heron', '1.4.0', 0, START, START);
}

function addMessage(session: string, number: number, { input = 100, output = 10, text = 'Found it' } = {}): void {
  const id = `msg_${session}_${number}`;
  const time = START + number * 1000;
  const tokens = { total: input + output, input, output, reasoning: 0, cache: { read: 0, write: 0 } };
  const info = { role: 'assistant', modelID: 'claude-sonnet-4-5', providerID: 'anthropic', tokens };
  const parts = [
    { type: 'text', text },
    { type: 'step-finish', reason: 'stop', cost: 0.001, tokens },
  ];
  agent
    .prepare('INSERT INTO message VALUES (?, ?, ?, ?, ?)')
    .run(id, session, time, time, JSON.stringify({ ...info, time: { created: time } }));
  for (const [index, part] of parts.entries()) {
    agent
      .prepare('INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)')
      .run(`prt_${id}_${index}`, id, session, time, time, JSON.stringify(part));
  }
  agent.prepare('UPDATE session SET time_updated = ?, cost = cost + 0.001 WHERE id = ?').run(time, session);
}

/** A member's local header, its entry of the directory, and the end of the directory, as of APPNOTE.TXT 4.3. */
const zipRecord = (signature: number, length: number, fields: [offset: number, value: number][]): Buffer => {
  const record = Buffer.alloc(length);
  record.writeUInt32LE(signature, 0);
  for (const [offset, value] of fields) record.writeUInt32LE(value, offset);
  return record;
};
const ZIP_WITH_TWO_OF_ONE_NAME = ['one', 'two'].reduce<[Buffer, Buffer, Buffer]>(
  ([members, directory], text, index) => {
    const name = Buffer.from('p/s.jsonl');
    const sizes = (offset: number): [number, number][] => [
      [offset, crc32(text)],
      [offset + 4, text.length],
      [offset + 8, text.length],
      [offset + 12, name.length],
    ];
    const entry = zipRecord(0x02014b50, 46, [...sizes(16), [42, members.length]]);
    const entries = Buffer.concat([directory, entry, name]);
    const local = Buffer.concat([members, zipRecord(0x04034b50, 30, sizes(14)), name, Buffer.from(text)]);
    const counts: [number, number][] = [
      [8, (index + 1) * 0x10001],
      [12, entries.length],
      [16, local.length],
    ];
    return [local, entries, zipRecord(0x06054b50, 22, counts)];
  },
  [Buffer.alloc(0), Buffer.alloc(0), Buffer.alloc(0)],
);

type Found = Record<string, string>;

/** The items found, by location relative to the folder, as content or the reason why there is none. */
async function read(paths: string[] = [path], options = {}): Promise<Found> {
  const found: Found = {};
  for await (const item of readSessions(paths, options)) {
    found[item.location.replace(folder, '')] = await toContent(item);
  }
  return found;
}

async function toContent(item: SourceItem): Promise<string> {
  if (item.kind !== 'transcript')
    return item.kind === 'skipped' ? item.reason : `${item.error.code}: ${item.error.message}`;
  return (await (await item.open()).toArray()).join('');
}

const toLines = (content = ''): { table?: string; row?: Record<string, unknown>; [name: string]: unknown }[] =>
  content
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

const HERON = '/share/opencode/opencode.db!ses_heron';

it('reports its progress through files that are passed one by one', async () => {
  const files = ['a', 'b', 'c'].map((name) => join(folder, `${name}.jsonl`));
  for (const [index, file] of files.entries()) await writeFile(file, 'x'.repeat(10 * (index + 1)));
  const done: number[] = [];
  for await (const { consumedInputBytes } of readSessions(files)) done.push(consumedInputBytes);
  expect(done).toEqual([0, 10, 30]);
});

describe('a database', () => {
  it('yields each session as NDJSON, with its rows unchanged', async () => {
    addSession('ses_heron');
    addSession('ses_child', 'ses_heron');
    addMessage('ses_heron', 1);
    const found = await read();
    expect(Object.keys(found)).toEqual([HERON, '/share/opencode/opencode.db!ses_child']);
    const [header, session, message, ...rest] = toLines(found[HERON]);
    expect(header).toEqual({ recount: 'session', version: 1, agent: 'opencode', session: 'ses_heron' });
    expect(session).toMatchObject({ table: 'session', row: { id: 'ses_heron', title: 'Heron', parent_id: null } });
    expect(message).toMatchObject({ table: 'message', rowid: 1, row: { id: 'msg_ses_heron_1' } });
    expect(message?.children).toMatchObject([
      { table: 'part', rowid: 1 },
      { table: 'part', rowid: 2 },
    ]);
    expect(rest).toEqual([]);
    expect(toLines(found['/share/opencode/opencode.db!ses_child'])[0]).toMatchObject({ parent: 'ses_heron' });
  });

  it('grows by lines at the end', async () => {
    addSession('ses_heron');
    addMessage('ses_heron', 1);
    const before = (await read())[HERON] ?? '';
    addMessage('ses_heron', 2);
    const after = (await read())[HERON] ?? '';
    expect(after.startsWith(before)).toBe(true);
    expect(after.length).toBeGreaterThan(before.length);
  });

  it('has the tokens of its rows', async () => {
    addSession('ses_heron');
    for (let number = 1; number <= 50; number++)
      addMessage('ses_heron', number, { input: number * 100, output: number });
    const content = (await read())[HERON] ?? '';
    const { apiResponses } = await parseTranscript('ses_heron', content, { format: 'opencode-session' });
    const sum = agent
      .prepare(
        `SELECT count(*) AS n, sum(data ->> '$.tokens.input') AS input, sum(data ->> '$.tokens.output') AS output
         FROM part WHERE data ->> '$.type' = 'step-finish'`,
      )
      .get();
    expect(apiResponses.length).toBe(sum?.n);
    expect(apiResponses.reduce((total, { tokens_in }) => total + tokens_in, 0)).toBe(sum?.input);
    expect(apiResponses.reduce((total, { tokens_out }) => total + tokens_out, 0)).toBe(sum?.output);
  });

  it('puts the parts of a very long message on separate lines', async () => {
    addSession('ses_heron');
    addMessage('ses_heron', 1, { text: 'x'.repeat(1_200_000) });
    addMessage('ses_heron', 2);
    const content = (await read())[HERON] ?? '';
    expect(toLines(content).map(({ table }) => table)).toEqual([
      undefined,
      'session',
      'message',
      'part',
      'part',
      'message',
    ]);
    const parsed = await parseTranscript('ses_heron', content, { format: 'opencode-session' });
    expect(parsed.errors).toEqual([]);
    expect(parsed.apiResponses).toMatchObject([{ tokens_in: 100 }, { tokens_in: 100 }]);
    expect(parsed.messages.length).toBe(2);
  });

  it('is read in one snapshot while the agent writes to it, and never blocks the agent', async () => {
    agent.exec('PRAGMA journal_mode = WAL; PRAGMA busy_timeout = 0');
    addSession('ses_heron');
    for (let number = 1; number <= 200; number++) addMessage('ses_heron', number, { text: 'x'.repeat(2000) });
    const items: SourceItem[] = [];
    for await (const item of readSessions([path])) items.push(item);
    const [item] = items;
    if (item?.kind !== 'transcript') throw new Error('No session');
    const chunks: Buffer[] = [];
    for await (const chunk of await item.open()) {
      if (chunks.length === 0) addMessage('ses_heron', 201);
      chunks.push(chunk);
    }
    expect(chunks.length).toBeGreaterThan(3);
    expect(toLines(Buffer.concat(chunks).toString()).filter(({ table }) => table === 'message').length).toBe(200);
    expect(toLines((await read())[HERON]).filter(({ table }) => table === 'message').length).toBe(201);
  });

  it('without a write-ahead log is not locked, and concurrent writes are reported', async () => {
    agent.exec('PRAGMA busy_timeout = 0');
    addSession('ses_heron');
    for (let number = 1; number <= 200; number++) addMessage('ses_heron', number, { text: 'x'.repeat(2000) });
    for await (const item of readSessions([path])) {
      if (item.kind !== 'transcript') throw new Error('No session');
      const reading = async (): Promise<void> => {
        for await (const _chunk of await item.open()) addMessage('ses_heron', Math.floor(performance.now() * 1e6));
      };
      await expect(reading()).rejects.toMatchObject({ code: 'changed' });
    }
  });

  it('is read again only if something was added, changed or deleted', async () => {
    const file = join(folder, 'state/memory.json');
    const readNew = async (): Promise<string[]> => {
      const memory = await openSessionMemory(file);
      const found = await read([path], { memory });
      const locations = Object.keys(found).filter((location) => found[location] !== 'unchanged');
      for (const location of locations) memory.confirm(join(folder, location));
      await memory.save();
      return locations;
    };
    const EGRET = HERON.replace('heron', 'egret');
    for (const id of ['ses_heron', 'ses_egret']) addSession(id);
    addMessage('ses_heron', 1);
    expect(await readNew()).toEqual([HERON, EGRET]);
    expect(await readNew()).toEqual([]);
    addMessage('ses_egret', 2);
    expect(await readNew()).toEqual([EGRET]);
    agent.exec(`UPDATE part SET time_updated = time_updated + 5000 WHERE id = 'prt_msg_ses_heron_1_0'`);
    expect(await readNew()).toEqual([HERON]);
    agent.exec(`DELETE FROM part WHERE id = 'prt_msg_ses_heron_1_0'`);
    expect(await readNew()).toEqual([HERON]);
    await writeFile(file, '{"version":1,');
    expect(await readNew()).toEqual([HERON, EGRET]);
    expect(await readdir(dirname(file))).toEqual(['memory.json']);
  });

  it('is an error if no agent has it, in a folder not a transcript; a damaged one is an error', async () => {
    const other = join(folder, 'share/other.db');
    const database = new DatabaseSync(other);
    database.exec('CREATE TABLE session (id TEXT)');
    database.close();
    addSession('ses_heron');
    expect(await read([other])).toEqual({ '/share/other.db': 'unsupported: a database of no known agent' });
    const found = await read([join(folder, 'share')]);
    expect(found['/share/other.db']).toBe('not-a-transcript');
    expect(toLines(found[HERON])).toHaveLength(2);
    const bytes = await readFile(path);
    const damaged = join(folder, 'damaged.db');
    await writeFile(damaged, Buffer.concat([bytes.subarray(0, 100), Buffer.alloc(bytes.length - 100, 7)]));
    expect((await read([damaged]))['/damaged.db']).toMatch(/^corrupt: the database cannot be read/);
  });

  it('keeps numbers that are too large, bytes, and new columns', async () => {
    agent.exec('ALTER TABLE message ADD COLUMN big INTEGER; ALTER TABLE message ADD COLUMN bytes BLOB');
    addSession('ses_heron');
    agent.exec(`INSERT INTO message VALUES ('m', 'ses_heron', 1, 1, '{}', 9007199254740993, x'0102')`);
    const row = toLines((await read())[HERON])[2]?.row;
    expect(row).toMatchObject({ big: '9007199254740993', bytes: { base64: 'AQI=' } });
  });

  it('is skipped by --since if it changed before the date', async () => {
    addSession('ses_heron');
    expect(await read([path], { sinceMs: START + 1 })).toEqual({ [HERON]: 'older-than-since' });
  });
});

it('reads all members of one name of an archive, and files and archives with an exclamation mark in their path', async () => {
  const archives = join(folder, 'new!');
  await mkdir(archives);
  await writeFile(join(archives, 'all.zip'), Buffer.concat(ZIP_WITH_TWO_OF_ONE_NAME));
  await writeFile(join(archives, 'a!b.jsonl'), 'three');
  const texts: string[] = [];
  for await (const item of readSessions([archives, join(archives, 'a!b.jsonl')])) texts.push(await toContent(item));
  expect(texts).toEqual(['three', 'one', 'two', 'three']);
});
