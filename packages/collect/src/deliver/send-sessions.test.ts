import { createHash } from 'node:crypto';
import {
  appendFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { zstdCompressSync } from 'node:zlib';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { addWaiting, listWaiting, parseHookNote, type SpoolFolder, toSpoolFolder } from '../spool/spool-folder.ts';
import { DeliveryError } from './delivery-error.ts';
import type {
  AttachmentDelivery,
  AttachmentReceipt,
  TranscriptDelivery,
  TranscriptReceipt,
} from './delivery-target.ts';
import type { SendDecision } from './send-file.ts';
import { type SendDependencies, type SendOptions, type SendResult, sendSessions } from './send-sessions.ts';

let home: string;
let folder: SpoolFolder;
/** The complete stored files of the target, by name. */
let stored: Map<string, string[]>;
let deliveries: { name: string; from: number; sentBytes: number }[];
/** The target's answer instead of accepting a file. */
let failure: DeliveryError | undefined;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'recount-collect-'));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  folder = toSpoolFolder(join(home, '.recount/collector'));
  stored = new Map();
  deliveries = [];
  failure = undefined;
  attached = new Map();
  attachmentCount = 0;
});

const toPath = (name: string): string => join(home, '.claude/projects/-app', name);

async function write(name: string, text: string, { ageSeconds = 60 } = {}): Promise<string> {
  const path = toPath(name);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
  await age(path, ageSeconds);
  return path;
}

/** Makes a file old enough that it counts as settled. */
async function age(path: string, seconds = 60): Promise<void> {
  const time = Date.now() / 1000 - seconds;
  await utimes(path, time, time);
}

async function note(fields: Record<string, string>): Promise<void> {
  await mkdir(folder.queue, { recursive: true });
  await writeFile(join(folder.queue, `${Math.random()}.json`), JSON.stringify(fields));
}

function toReceipt(transcriptId: string, { isDuplicate = false, sentFromByte = 0 } = {}): TranscriptReceipt {
  const transcript = { transcriptId, sessionId: 's', status: 'queued', failureReason: null } as const;
  return { transcript, isDuplicate, isHealed: false, sentFromByte };
}

/** Stores like a server. It appends to what it has, and compares the digest of the whole. */
async function receive(delivery: TranscriptDelivery): Promise<TranscriptReceipt> {
  if (failure !== undefined) throw failure;
  const name = delivery.path.slice(toPath('x').length - 1);
  const from = delivery.base?.sizeBytes ?? 0;
  const chunks: Uint8Array[] = [];
  for await (const chunk of delivery.open(from)) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  const earlier = stored.get(name) ?? [];
  const whole = Buffer.concat([Buffer.from((earlier.at(-1) ?? '').slice(0, from)), body]);
  expect(createHash('sha256').update(whole).digest('hex')).toBe(delivery.sha256);
  const isDuplicate = earlier.includes(whole.toString());
  deliveries.push({ name, from, sentBytes: body.length });
  if (!isDuplicate) stored.set(name, [...earlier, whole.toString('latin1')]);
  return toReceipt(`t-${name}`, { isDuplicate, sentFromByte: from });
}

/** Attachments that the target has, by session and path, with the number of uploads. */
let attached: Map<string, string>;
let attachmentCount: number;

async function receiveAttachment({ sessionId, path, sha256, open }: AttachmentDelivery): Promise<AttachmentReceipt> {
  if (failure !== undefined) throw failure;
  const chunks: Uint8Array[] = [];
  for await (const chunk of open()) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  expect(createHash('sha256').update(body).digest('hex')).toBe(sha256);
  attachmentCount += 1;
  attached.set(`${sessionId}/${path}`, body.toString());
  return { attachmentId: `a-${attachmentCount}`, outcome: 'stored' };
}

async function send(options: SendOptions = {}, changes: Partial<SendDependencies> = {}): Promise<SendResult> {
  const machine = { platform: 'linux', environment: {}, homeFolder: home };
  const takeLock = () => ({ release: () => undefined });
  const deps = { folder, machine, target: { send: receive, sendAttachment: receiveAttachment }, takeLock, ...changes };
  return await sendSessions(deps, { settleMs: 20, retryDelayMs: 1, ...options });
}

it('skips files without read permission, and names them', async () => {
  await write('a.jsonl', '{"a":1}\n');
  const denied = await write('b.jsonl', '{"b":1}\n');
  await write('c.jsonl', '{"c":1}\n');
  const decide = (name: string): SendDecision => {
    if (name === denied) throw Object.assign(new Error('EACCES: permission denied'), { code: 'EACCES' });
    return { kind: 'everything' };
  };
  expect(await send({ sweeps: true }, { decide })).toMatchObject({ sent: 2, waiting: 0, unreadable: [denied] });
  expect(await listWaiting(folder)).toEqual([]);
  expect(await send({ sweeps: true })).toMatchObject({ sent: 1, unreadable: [] });
});

it('waits for a busy target, which is no failed attempt', async () => {
  await write('a.jsonl', 'one\n');
  let busyCount = 0;
  const target = {
    sendAttachment: receiveAttachment,
    send: async (delivery: TranscriptDelivery) => {
      if (busyCount++ < 20) throw new DeliveryError('unavailable', 'busy', { isBusy: true, retryAfterMs: 1 });
      return await receive(delivery);
    },
  };
  expect(await send({ sweeps: true }, { target })).toMatchObject({ sent: 1, waiting: 0, stopped: undefined });
});

it('follows no links, and names them as long as they are there', async () => {
  await write('a.jsonl', '{"a":1}\n');
  await mkdir(join(home, 'elsewhere'));
  const link = join(home, '.claude/projects/-linked');
  await symlink(join(home, 'elsewhere'), link);
  const named = [{ path: link, reason: expect.stringContaining('a symbolic link, which is not followed') }];
  expect(await send({ sweeps: true })).toMatchObject({ sent: 1, notRead: named });
  expect(JSON.parse(await readFile(folder.status, 'utf8'))).toMatchObject({ notRead: named });
  await rm(link);
  expect(await send({ sweeps: true })).toMatchObject({ notRead: [] });
  expect(JSON.parse(await readFile(folder.status, 'utf8'))).not.toHaveProperty('notRead');
});

it('sends what a hook has noted, then only what was added, and never the same again', async () => {
  await send();
  const path = await write('a.jsonl', 'one\n');
  await note({ transcript_path: path, hook_event_name: 'Stop' });
  expect(await send()).toMatchObject({ sent: 1, sentBytes: 4, waiting: 0, stopped: undefined });
  await appendFile(path, 'two\nthree\n');
  await note({ transcript_path: path, hook_event_name: 'Stop' });
  expect(await send()).toMatchObject({ sent: 1, sentBytes: 10 });
  await note({ transcript_path: path, hook_event_name: 'SessionEnd' });
  expect(await send({ sweeps: true })).toMatchObject({ sent: 0, duplicates: 0 });
  expect(deliveries).toEqual([
    { name: 'a.jsonl', from: 0, sentBytes: 4 },
    { name: 'a.jsonl', from: 4, sentBytes: 10 },
  ]);
  expect(stored.get('a.jsonl')).toEqual(['one\n', 'one\ntwo\nthree\n']);
});

it('sends a rewritten file as a whole', async () => {
  const path = await write('a.jsonl', 'one\ntwo\n');
  await send({ sweeps: true });
  await writeFile(path, 'ONE\ntwo\nthree\n');
  await send({ sweeps: true });
  expect(deliveries.map(({ from }) => from)).toEqual([0, 0]);
});

it('sends sub-agents along with their session', async () => {
  await send();
  const path = await write('a.jsonl', 'one\n');
  await write('a/subagents/agent-1.jsonl', 'sub\n');
  await note({ transcript_path: path, hook_event_name: 'SubagentStop' });
  await send();
  expect([...stored.keys()].sort()).toEqual(['a.jsonl', 'a/subagents/agent-1.jsonl']);
});

it('finds what hooks missed when a session starts, and if it has never looked before', async () => {
  await write('a.jsonl', 'one\n');
  expect(await send()).toMatchObject({ sent: 1 });
  await write('b.jsonl', 'two\n');
  expect(await send()).toMatchObject({ sent: 0 });
  await note({ hook_event_name: 'SessionStart', transcript_path: toPath('not-yet.jsonl') });
  expect(await send()).toMatchObject({ sent: 1 });
});

it('keeps what cannot be sent, even if the agent deletes or rewrites it, and sends it when it can', async () => {
  const path = await write('a.jsonl', 'one\n');
  await write('b.jsonl', 'two\n');
  failure = new DeliveryError('unavailable', 'no network');
  const result = await send({ sweeps: true });
  expect(result).toMatchObject({ sent: 0, waiting: 2, stopped: { code: 'unavailable' } });
  await appendFile(path, 'more\n');
  await rm(path);
  await rm(toPath('b.jsonl'));
  await write('b.jsonl', 'another\n');
  await age(join(folder.kept, (await readdir(folder.kept))[0] ?? ''));
  failure = undefined;
  expect(await send()).toMatchObject({ sent: 3, waiting: 0 });
  expect(stored.get('a.jsonl')).toEqual(['one\nmore\n']);
  expect(stored.get('b.jsonl')).toEqual(['two\n', 'another\n']);
  expect(await readdir(folder.kept)).toEqual([]);
  expect(await listWaiting(folder)).toEqual([]);
});

it('stops immediately if the server accepts nothing, and says so until it accepts something', async () => {
  for (const name of ['a', 'b', 'c']) await write(`${name}.jsonl`, 'one\n');
  failure = new DeliveryError('denied', 'The key is revoked');
  expect(await send({ sweeps: true })).toMatchObject({ waiting: 3, stopped: { code: 'denied' } });
  failure = undefined;
  expect(await send()).toMatchObject({ sent: 3, waiting: 0 });
});

it('keeps what a hook notes while the server accepts nothing', async () => {
  const first = await write('a.jsonl', 'one\n');
  await send({ sweeps: true });
  const later = await write('b.jsonl', 'two\n');
  let refusals = 0;
  const refuse = async (): Promise<never> => {
    refusals += 1;
    if (refusals === 1) await note({ transcript_path: later, hook_event_name: 'Stop' });
    throw new DeliveryError('denied', 'The key is revoked');
  };
  await appendFile(first, 'two\n');
  await age(first);
  await note({ transcript_path: first, hook_event_name: 'Stop' });
  const target = { send: refuse, sendAttachment: refuse };
  expect(await send({}, { target })).toMatchObject({ sent: 0, waiting: 2, stopped: { code: 'denied' } });
  expect(await readdir(folder.queue)).toEqual([]);
  await rm(later);
  await send();
  expect(stored.get('b.jsonl')).toEqual(['two\n']);
});

it('does not send a refused file again, unless it changes or the server has another version', async () => {
  const path = await write('a.jsonl', 'one\n');
  failure = new DeliveryError('rejected', 'not a transcript');
  const readTargetVersion = async () => '1';
  expect(await send({ sweeps: true }, { readTargetVersion })).toMatchObject({ refused: 1, waiting: 0 });
  failure = undefined;
  expect(await send({ sweeps: true }, { readTargetVersion })).toMatchObject({ sent: 0 });
  expect(await send({ sweeps: true }, { readTargetVersion: async () => '2' })).toMatchObject({ sent: 1 });
  await appendFile(path, 'two\n');
  expect(await send({ sweeps: true })).toMatchObject({ sent: 1 });
});

it('skips what is excluded', async () => {
  await write('a.jsonl', '{"cwd":"/home/ada/private"}\n');
  await write('b.jsonl', '{"cwd":"/home/ada/work"}\n');
  const decide = (_path: string, head: Buffer): SendDecision =>
    head.includes('private') ? { kind: 'nothing', reason: 'excluded' } : { kind: 'everything' };
  expect(await send({ sweeps: true }, { decide })).toMatchObject({ sent: 1, refused: 1 });
  expect([...stored.keys()]).toEqual(['b.jsonl']);
});

it('does not resend a file that was moved or touched', async () => {
  const path = await write('a.jsonl', 'one\n');
  await send({ sweeps: true });
  await age(path, 5);
  expect(await send({ sweeps: true })).toMatchObject({ sent: 0 });
  await mkdir(join(home, '.claude/projects/-moved'));
  await rename(path, join(home, '.claude/projects/-moved/a.jsonl'));
  expect(await send({ sweeps: true })).toMatchObject({ sent: 0, duplicates: 0 });
  expect(deliveries).toHaveLength(1);
});

it('sends whole lines of a file that keeps growing', async () => {
  const path = await write('a.jsonl', 'one\nhalf a li', { ageSeconds: -3600 });
  let count = 0;
  const timer = setInterval(() => void utimes(path, 4e9 + count, 4e9 + count++).catch(() => undefined), 1);
  onTestFinished(() => clearInterval(timer));
  await send({ sweeps: true, settleMs: 50, maxSettleWaitMs: 200 });
  expect(stored.get('a.jsonl')).toEqual(['one\n']);
});

it('sends compressed files unchanged', async () => {
  const path = join(home, '.codex/sessions/2026/11/01/rollout-a.jsonl.zst');
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, zstdCompressSync('one\n'));
  await age(path);
  let encoding: string | undefined;
  const target = {
    send: async (delivery: TranscriptDelivery) => {
      encoding = delivery.encoding;
      expect(delivery.path.endsWith('rollout-a.jsonl')).toBe(true);
      return toReceipt('t');
    },
    sendAttachment: receiveAttachment,
  };
  await addWaiting(folder, { path }).catch(() => undefined);
  await send({}, { target });
  await addWaiting(folder, { path });
  await send({}, { target });
  expect(encoding).toBe('zstd');
});

it('continues after a kill, with a log whose last line is cut, and with notes that are not JSON', async () => {
  const path = await write('a.jsonl', 'one\n');
  await send({ sweeps: true });
  await appendFile(folder.sentLog, '{"path":"/x","sizeBytes":1');
  await note({ transcript_path: path });
  await writeFile(join(folder.queue, 'x.json'), 'no JSON');
  await write('b.jsonl', 'two\n');
  expect(await send()).toMatchObject({ sent: 1, duplicates: 0 });
  expect(await send({ sweeps: true })).toMatchObject({ sent: 0, duplicates: 0 });
});

it('leaves the work to a running sender', async () => {
  await write('a.jsonl', 'one\n');
  expect(await send({ sweeps: true }, { takeLock: () => undefined })).toMatchObject({ isBusy: true, sent: 0 });
});

it('reads a hook’s note, truncated or not', () => {
  const text =
    '{"session_id":"1","transcript_path":"/a \\"b\\".jsonl","hook_event_name":"Stop","last_assistant_message":"x';
  expect(parseHookNote(text)).toEqual({ event: 'Stop', paths: ['/a "b".jsonl'] });
  const subagent = '{"transcript_path":"/a.jsonl","agent_transcript_path":"/a/subagents/b.jsonl"}';
  expect(parseHookNote(subagent).paths).toEqual(['/a.jsonl', '/a/subagents/b.jsonl']);
  expect(parseHookNote('')).toEqual({ event: undefined, paths: [] });
});

it('sends the sessions of databases, and again only those that changed', async () => {
  const path = join(home, '.local/share/opencode/opencode.db');
  await mkdir(dirname(path), { recursive: true });
  const database = new DatabaseSync(path);
  onTestFinished(() => database.close());
  database.exec(`
    CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT, time_created INTEGER, time_updated INTEGER);
    CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT);
    CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER, time_updated INTEGER,
      data TEXT);
    INSERT INTO session VALUES ('ses_1', NULL, '/app', 1, 1), ('ses_2', NULL, '/app', 2, 2);`);
  const add = (id: string, session: string) =>
    database.prepare('INSERT INTO message VALUES (?, ?, 1, 1, ?)').run(id, session, JSON.stringify({ role: 'user' }));
  add('m1', 'ses_1');
  add('m2', 'ses_2');
  failure = new DeliveryError('unavailable', 'away');
  expect(await send({ sweeps: true })).toMatchObject({ sent: 0, stopped: failure });
  failure = undefined;
  expect(await send({ sweeps: true })).toMatchObject({ sent: 2 });
  expect(await send({ sweeps: true })).toMatchObject({ sent: 0, duplicates: 0 });
  add('m3', 'ses_2');
  await note({ hook_event_name: 'session.idle' });
  expect(await send()).toMatchObject({ sent: 1 });
  expect([...stored.values()].map((versions) => versions.length)).toEqual([1, 2]);
  expect(deliveries.at(-1)?.from).toBeGreaterThan(0);
  expect(await readdir(folder.outgoing)).toEqual([]);
  // Unread parts of a database are named, and are in the status until they are read.
  database.exec(`CREATE TABLE session_v3 (id text); INSERT INTO session_v3 VALUES ('ses_3')`);
  const notRead = [{ path, reason: expect.stringContaining('table session_v3 (1 row) is unknown') }];
  expect(await send({ sweeps: true })).toMatchObject({ sent: 0, stopped: undefined, notRead });
  expect(JSON.parse(await readFile(folder.status, 'utf8'))).toMatchObject({ notRead });
  database.exec('DELETE FROM session_v3');
  expect(await send({ sweeps: true })).toMatchObject({ notRead: [] });
  expect(JSON.parse(await readFile(folder.status, 'utf8')).notRead).toBeUndefined();
});

it('sends rewritten bytes if it must, and then only what was added to them', async () => {
  const path = await write('a.jsonl', 'secret one\n');
  await write('b.jsonl.zst', '');
  await writeFile(toPath('b.jsonl.zst'), zstdCompressSync('secret four\n'));
  await age(toPath('b.jsonl.zst'));
  await note({ transcript_path: toPath('b.jsonl.zst') });
  async function* rewrite(source: AsyncIterable<Uint8Array>) {
    for await (const chunk of source) yield Buffer.from(Buffer.from(chunk).toString().replaceAll('secret', '*'));
  }
  const heads: string[] = [];
  const decide = (_path: string, head: Buffer): SendDecision => {
    heads.push(head.toString());
    return { kind: 'rewritten', what: 'stars', rewrite, takesAttachments: true };
  };
  expect(await send({ sweeps: true }, { decide })).toMatchObject({ sent: 2 });
  expect(await send({ sweeps: true }, { decide })).toMatchObject({ sent: 0 });
  await appendFile(path, 'secret two\n');
  await age(path, 30);
  expect(await send({ sweeps: true }, { decide })).toMatchObject({ sent: 1, sentBytes: 6 });
  expect(stored).toEqual(
    new Map([
      ['a.jsonl', ['* one\n', '* one\n* two\n']],
      ['b.jsonl', ['* four\n']],
    ]),
  );
  expect(heads.slice(0, 2).sort()).toEqual(['secret four\n', 'secret one\n']);
  expect(await readdir(folder.outgoing)).toEqual([]);
});

it('loses nothing if the disk fails after the server has accepted a file, and sends nothing twice', async () => {
  await write('a.jsonl', 'one\n');
  const failing = async (delivery: TranscriptDelivery) => {
    const receipt = await receive(delivery);
    // Appending to a folder fails.
    await mkdir(folder.sentLog);
    return receipt;
  };
  await expect(
    send({ sweeps: true }, { target: { send: failing, sendAttachment: receiveAttachment } }),
  ).rejects.toThrow(/EISDIR/);
  await rm(folder.sentLog, { recursive: true });
  expect(await send({ sweeps: true })).toMatchObject({ sent: 0, duplicates: 1 });
  expect(stored.get('a.jsonl')).toEqual(['one\n']);
});

it('does not depend on the clock, because files may be from the future, or from 1970', async () => {
  const future = await write('a.jsonl', 'one\n');
  const past = await write('b.jsonl', 'two\n');
  await age(future, -10 * 365 * 86_400);
  await utimes(past, 0, 0);
  expect(await send({ sweeps: true })).toMatchObject({ sent: 2 });
  expect(await send({ sweeps: true })).toMatchObject({ sent: 0, duplicates: 0 });
  await appendFile(past, 'three\n');
  await utimes(past, 0, 0);
  expect(await send({ sweeps: true })).toMatchObject({ sent: 1, sentBytes: 6 });
});

it('looks for what hooks missed even if the clock was ahead the last time', async () => {
  await send({ sweeps: true });
  const status = JSON.parse(await readFile(folder.status, 'utf8'));
  const nextYear = new Date(Date.now() + 365 * 86_400_000).toISOString();
  await writeFile(folder.status, JSON.stringify({ ...status, lastSweepAt: nextYear }));
  const path = await write('a.jsonl', 'one\n');
  await note({ hook_event_name: 'Stop', transcript_path: join(dirname(path), 'none.jsonl') });
  expect(await send()).toMatchObject({ sent: 1 });
  expect(Date.parse(JSON.parse(await readFile(folder.status, 'utf8')).lastSweepAt)).toBeLessThan(Date.parse(nextYear));
});

it('tells the repository and the worktree of the folder where a session ran', async () => {
  const heron = join(home, 'heron');
  await mkdir(join(heron, '.git'), { recursive: true });
  await writeFile(
    join(heron, '.git/config'),
    '[remote "origin"]\n\turl = https://ada:s3cret@example.org/ada/heron.git\n',
  );
  const toLines = (cwd: string): string =>
    `${JSON.stringify({ type: 'user', sessionId: 's', uuid: 'u', cwd, message: { role: 'user', content: 'hi' } })}\n`;
  await write('in.jsonl', toLines(heron));
  await write('out.jsonl', toLines(home));
  const told: Record<string, unknown> = {};
  const target = {
    send: async (delivery: TranscriptDelivery) => {
      const { repository, worktree } = delivery;
      told[delivery.path.split('/').at(-1) ?? ''] = { repository, worktree };
      return await receive(delivery);
    },
    sendAttachment: receiveAttachment,
  };
  expect(await send({ sweeps: true }, { target })).toMatchObject({ sent: 2 });
  expect(told).toEqual({
    'in.jsonl': { repository: 'https://example.org/ada/heron.git', worktree: heron },
    'out.jsonl': { repository: undefined, worktree: undefined },
  });
});

describe('attachments', () => {
  const FILES: readonly [string, string][] = [
    ['s/tool-results/toolu_01.txt', 'a large result with a secret'],
    ['s/subagents/agent-a1.meta.json', '{"agentType":"Explore"}'],
    ['s/subagents/workflows/wf_1/journal.jsonl', '{"type":"result"}\n'],
    ['s/workflows/wf_1.json', '{"status":"completed"}'],
  ];

  beforeEach(async () => {
    await write('s.jsonl', 'one\n');
    for (const [name, text] of FILES) await write(name, text);
    await write('s/notes.txt', 'of nobody');
  });

  it('are sent by a sweep, once, and again when they change', async () => {
    expect(await send({ sweeps: true })).toMatchObject({ sent: 5, refused: 0 });
    expect(Object.fromEntries(attached)).toEqual(Object.fromEntries(FILES));
    expect([...stored.keys()]).toEqual(['s.jsonl']);
    expect(await send({ sweeps: true })).toMatchObject({ sent: 0, duplicates: 0 });
    await write('s/workflows/wf_1.json', '{"status":"resumed"}', { ageSeconds: 30 });
    expect(await send({ sweeps: true })).toMatchObject({ sent: 1 });
    expect(attached.get('s/workflows/wf_1.json')).toBe('{"status":"resumed"}');
    expect(attachmentCount).toBe(5);
  });

  it('are sent with the session that a hook names, and read only if they changed', async () => {
    await send({ sweeps: true });
    await write('s.jsonl', 'one\ntwo\n', { ageSeconds: 30 });
    await write('s/tool-results/toolu_02.txt', 'another');
    await note({ transcript_path: toPath('s.jsonl') });
    expect(await send()).toMatchObject({ sent: 2 });
    expect(attached.get('s/tool-results/toolu_02.txt')).toBe('another');
    expect(attachmentCount).toBe(5);
  });

  it('are both sent for two sessions with the same name and bytes', async () => {
    await write('t/tool-results/toolu_01.txt', 'a large result with a secret');
    await send({ sweeps: true });
    expect(attached.get('t/tool-results/toolu_01.txt')).toBe(attached.get('s/tool-results/toolu_01.txt'));
  });

  it('wait while the server is unavailable, even if the agent deletes them', async () => {
    failure = new DeliveryError('unavailable', 'away');
    expect((await send({ sweeps: true })).stopped?.code).toBe('unavailable');
    await rm(toPath('s'), { recursive: true });
    failure = undefined;
    await send();
    expect(Object.fromEntries(attached)).toEqual(Object.fromEntries(FILES));
  });

  it('are rewritten like their session, or kept local', async () => {
    async function* rewrite(source: AsyncIterable<Uint8Array>) {
      for await (const chunk of source) yield Buffer.from(Buffer.from(chunk).toString().replaceAll('secret', '******'));
    }
    const decided: string[] = [];
    const decide = (path: string, head: Buffer): SendDecision => {
      decided.push(`${path.slice(toPath('x').length - 1)}: ${head}`);
      return { kind: 'rewritten', what: 'stars', rewrite, takesAttachments: true };
    };
    await send({ sweeps: true }, { decide });
    expect(attached.get('s/tool-results/toolu_01.txt')).toBe('a large result with a ******');
    expect(new Set(decided)).toEqual(new Set(['s.jsonl: one\n']));
    await rm(folder.sentLog);
    attached.clear();
    const usageOnly = (): SendDecision => ({ kind: 'rewritten', what: 'usage only', rewrite, takesAttachments: false });
    expect(await send({ sweeps: true }, { decide: usageOnly })).toMatchObject({ refused: 4 });
    expect(attached.size).toBe(0);
  });
});
