import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { AttachmentDelivery } from '@recount/collect';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { createFakeContext } from '../testing/fake-context.ts';
import { type AttachmentTarget, bringAttachments } from './bring-attachments.ts';

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

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'recount-attachments-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  for (const [name, text] of Object.entries(FILES)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  sent = [];
  known = new Map();
  refused = undefined;
});

const target: AttachmentTarget = {
  list: async (sessionId) => known.get(sessionId) ?? new Set(),
  async send({ sessionId, path, sha256, open }: AttachmentDelivery) {
    if (path === refused) throw new Error('not taken');
    const hash = createHash('sha256');
    for await (const chunk of open()) hash.update(chunk);
    expect(hash.digest('hex')).toBe(sha256);
    sent.push(`${sessionId}/${path}`);
    known.set(sessionId, new Set([...(known.get(sessionId) ?? []), `${path}/${sha256}`]));
  },
};

const bring = (options: Partial<Parameters<typeof bringAttachments>[2]> = {}) => {
  const context = { ...createFakeContext(), workingDirectory: folder };
  return bringAttachments(context, ['.'], { target, signal: new AbortController().signal, ...options });
};

it('brings what belongs to sessions, once', async () => {
  const all = ['a/subagents/agent-a1.meta.json', 'a/tool-results/toolu_01.txt', 'b/tool-results/toolu_01.txt'];
  expect(await bring()).toMatchObject({ found: 3, stored: 3, alreadyThere: 0, failed: 0 });
  expect(sent).toEqual(all);
  expect(await bring()).toMatchObject({ found: 3, stored: 0, alreadyThere: 3 });
  expect(sent).toEqual(all);
  expect(await bring({ asksFirst: false })).toMatchObject({ found: 3, stored: 3 });
});

it('sends nothing in a dry run', async () => {
  expect(await bring({ isDryRun: true })).toMatchObject({ found: 3, stored: 3 });
  expect(await bring({ isDryRun: true, target: undefined })).toMatchObject({ found: 3, stored: 3 });
  expect(sent).toEqual([]);
});

it('leaves out what is older, and goes on after a file that is not taken', async () => {
  await utimes(join(folder, 'projects/-app/b/tool-results/toolu_01.txt'), 1, 1);
  refused = 'subagents/agent-a1.meta.json';
  const report = await bring({ sinceMs: Date.UTC(2020, 0, 1) });
  expect(report).toMatchObject({ found: 2, stored: 1, failed: 1, failures: [{ reason: 'not taken' }] });
  expect(sent).toEqual(['a/tool-results/toolu_01.txt']);
});
