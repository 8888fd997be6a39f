import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm, stat, truncate, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { type AttachmentDelivery, DeliveryError } from '@recount/collect';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { createFakeContext } from '../testing/fake-context.ts';
import { showAttachments, uploadAttachments } from './upload-attachments.ts';

const FILES = {
  'projects/-app/a/tool-results/toolu_01.txt': 'one',
  'projects/-app/a/subagents/agent-a1.meta.json': '{}',
  'projects/-app/b/tool-results/toolu_01.txt': 'one',
  'projects/-app/b.jsonl': 'a transcript',
  'notes.txt': 'of nobody',
};

let folder: string;
let sent: string[];
let known: Map<string, Set<string>>;
let refused: string | undefined;
/** The counted files, by session and path. */
let states: Map<string, { sha256: string; modifiedAtMs: number }>;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'recount-attachments-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  for (const [name, text] of Object.entries(FILES)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  sent = [];
  known = new Map();
  states = new Map();
  refused = undefined;
});

const target: NonNullable<Parameters<typeof uploadAttachments>[2]['target']> = {
  listAttachments: async (sessionId) => known.get(sessionId) ?? new Set(),
  async sendAttachment({ sessionId, path, sha256, modifiedAtMs, open }: AttachmentDelivery) {
    if (path === refused) throw new Error('not taken');
    const hash = createHash('sha256');
    for await (const chunk of open()) hash.update(chunk);
    expect(hash.digest('hex')).toBe(sha256);
    sent.push(`${sessionId}/${path}`);
    known.set(sessionId, new Set([...(known.get(sessionId) ?? []), `${path}/${sha256}`]));
    const stored = states.get(`${sessionId}/${path}`);
    const isOlder = stored !== undefined && stored.modifiedAtMs > modifiedAtMs;
    if (!isOlder) states.set(`${sessionId}/${path}`, { sha256, modifiedAtMs });
    return { attachmentId: 'attachment', outcome: isOlder ? 'older' : 'stored' };
  },
};

const bring = (options: Partial<Parameters<typeof uploadAttachments>[2]> = {}, paths = ['.']) => {
  const context = { ...createFakeContext(), workingDirectory: folder };
  return uploadAttachments(context, paths, { target, signal: new AbortController().signal, ...options });
};

it('uploads the attachments of sessions, once', async () => {
  const all = ['a/subagents/agent-a1.meta.json', 'a/tool-results/toolu_01.txt', 'b/tool-results/toolu_01.txt'];
  expect(await bring()).toMatchObject({ found: 3, stored: 3, alreadyThere: 0, failed: 0 });
  expect(sent).toEqual(all);
  expect(await bring()).toMatchObject({ found: 3, stored: 0, alreadyThere: 3 });
  expect(sent).toEqual(all);
  expect(await bring({ asksFirst: false })).toMatchObject({ found: 3, stored: 3 });
});

it.each([
  ['tar', '-cf'],
  ['tar.gz', '-czf'],
])('uploads the attachments in a .%s, once', async (ending, options) => {
  const path = join(folder, `backup.${ending}`);
  const large = Buffer.alloc(9 * 1024 ** 2, 'ab\n');
  await writeFile(join(folder, 'projects/-app/b/tool-results/large.txt'), large);
  await promisify(execFile)('tar', [options, path, 'projects', 'notes.txt'], { cwd: folder });
  for (const name of ['projects', 'notes.txt']) await rm(join(folder, name), { recursive: true });
  expect(await bring()).toMatchObject({ found: 4, stored: 4, failed: 0 });
  expect([...sent].sort()).toEqual([
    ...['a/subagents/agent-a1.meta.json', 'a/tool-results/toolu_01.txt'],
    ...['b/tool-results/large.txt', 'b/tool-results/toolu_01.txt'],
  ]);
  expect(await bring({}, [path])).toMatchObject({ found: 4, stored: 0, alreadyThere: 4 });
});

it('counts the later of two attachments of one path in an archive, in every run, and says so', async () => {
  const path = join(folder, 'backup.tar');
  const name = 'projects/-app/b/tool-results/toolu_01.txt';
  const run = promisify(execFile);
  for (const [option, text] of [
    ['-cf', 'one'],
    ['-rf', 'a longer two'],
    ['-rf', 'last'],
  ] as const) {
    await writeFile(join(folder, name), text);
    await utimes(join(folder, name), 1_700_000_000, 1_700_000_000);
    await run('tar', [option, path, name], { cwd: folder });
  }
  const last = createHash('sha256').update('last').digest('hex');
  expect(await bring({ isDryRun: true }, [path])).toMatchObject({ found: 3, stored: 1, earlier: 2 });
  expect(await bring({}, [path])).toMatchObject({ found: 3, stored: 1, alreadyThere: 0, earlier: 2 });
  expect(states.get('b/tool-results/toolu_01.txt')?.sha256).toBe(last);
  known.set('b', new Set([`tool-results/toolu_01.txt/${last}`]));
  expect(await bring({}, [path])).toMatchObject({ found: 3, stored: 0, alreadyThere: 1, earlier: 2 });
  expect(states.get('b/tool-results/toolu_01.txt')?.sha256).toBe(last);
  const context = createFakeContext();
  showAttachments(context, { found: 3, stored: 1, alreadyThere: 0, earlier: 2, failed: 0, failures: [] });
  expect(context.out()).toContain('2 earlier than another state of the same file, which counts');
});

it('names an attachment that cannot be read, and leaves other failures to the pass that reads transcripts', async () => {
  const path = join(folder, 'backup.tar');
  await promisify(execFile)('tar', ['-cf', path, 'projects'], { cwd: folder });
  await truncate(path, 512 * Math.floor((await stat(path)).size / 1024));
  await writeFile(join(folder, 'broken.zip'), 'PK\x03\x04');
  const { found, stored, failed } = await bring({}, [path, join(folder, 'broken.zip'), join(folder, 'nowhere')]);
  expect([found, failed]).toEqual([stored, 0]);
  await expect(bring({}, ['ftp://somewhere/x'])).rejects.toThrow('only files, folders and s3:// are read');
});

it('sends nothing in a dry run', async () => {
  expect(await bring({ isDryRun: true })).toMatchObject({ found: 3, stored: 3 });
  expect(await bring({ isDryRun: true, target: undefined })).toMatchObject({ found: 3, stored: 3 });
  expect(sent).toEqual([]);
});

it('skips older files, and continues after a file that is refused', async () => {
  await utimes(join(folder, 'projects/-app/b/tool-results/toolu_01.txt'), 1, 1);
  refused = 'subagents/agent-a1.meta.json';
  const report = await bring({ sinceMs: Date.UTC(2020, 0, 1) });
  expect(report).toMatchObject({ found: 2, stored: 1, failed: 1, failures: [{ reason: 'not taken' }] });
  expect(sent).toEqual(['a/tool-results/toolu_01.txt']);
});

it('tries again while the target is unavailable', async () => {
  let failures = 2;
  const sendAttachment: typeof target.sendAttachment = async (...delivery) => {
    if (failures-- > 0) throw new DeliveryError('unavailable', 'The server is busy', { isBusy: true, retryAfterMs: 1 });
    return await target.sendAttachment(...delivery);
  };
  expect(await bring({ target: { ...target, sendAttachment } })).toMatchObject({ found: 3, stored: 3, failed: 0 });
});

it('ends when the target denies everything', async () => {
  const sendAttachment = () => Promise.reject(new DeliveryError('denied', 'The API key is not valid'));
  expect(await bring({ target: { ...target, sendAttachment } })).toMatchObject({ found: 1, stored: 0, failed: 1 });
});
