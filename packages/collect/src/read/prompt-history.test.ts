import { appendFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import type { SourceItem } from '@recount/storage/sources';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { openPromptHistory } from './prompt-history.ts';
import { readSessions } from './read-sessions.ts';
import { openSessionMemory } from './session-memory.ts';

const START = Date.UTC(2026, 4, 12, 8);
let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'recount-prompts-'));
  path = join(folder, '.claude/history.jsonl');
  await mkdir(dirname(path), { recursive: true });
  onTestFinished(() => rm(folder, { recursive: true }));
});

const toLine = (session: string | undefined, second: number, display = 'Look for the heron'): string =>
  `${JSON.stringify({ display, pastedContents: {}, timestamp: START + second * 1000, project: '/app', sessionId: session })}\n`;

async function keepTranscript(session: string): Promise<string> {
  const file = join(folder, '.claude/projects/-app', `${session}.jsonl`);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, `{"type":"user","sessionId":"${session}","uuid":"u1"}\n`);
  return file;
}

async function read(from: string, options = {}): Promise<{ sessions: Record<string, string>; others: SourceItem[] }> {
  const sessions: Record<string, string> = {};
  const others: SourceItem[] = [];
  for await (const item of readSessions([from], options)) {
    if (item.kind === 'transcript' && item.location.includes('!')) {
      sessions[item.location.split('!')[1] ?? ''] = Buffer.concat(await (await item.open()).toArray()).toString();
    } else others.push(item);
  }
  return { sessions, others };
}

const header = (session: string): string =>
  `${JSON.stringify({ recount: 'session', version: 1, agent: 'claude-code', session })}\n`;

it('splits a history by session, without sessions that have transcripts and lines without a session', async () => {
  const lines = [toLine('s1', 0), toLine('s2', 1), toLine(undefined, 2), 'no json\n', toLine('s3', 3), toLine('s1', 4)];
  await writeFile(path, lines.join(''));
  const kept = await keepTranscript('s2');
  const expected = { s1: header('s1') + lines[0] + lines[5], s3: header('s3') + lines[4] };
  expect(await read(path)).toEqual({ sessions: expected, others: [] });
  const all = await read(join(folder, '.claude'));
  expect(all.sessions).toEqual(expected);
  expect(all.others).toMatchObject([{ kind: 'transcript', location: kept }]);
});

it('skips a session of the last day, whose transcript may not be there yet', async () => {
  await writeFile(path, toLine('s1', 0));
  const idsAt = async (nowMs: number) =>
    (await openPromptHistory(path, undefined, nowMs))?.listSessions().map(({ id }) => id);
  expect(await idsAt(START + 23 * 3600 * 1000)).toEqual([]);
  expect(await idsAt(START + 25 * 3600 * 1000)).toEqual(['s1']);
});

it('sends a session again only if it has more prompts', async () => {
  const memory = await openSessionMemory(join(folder, 'memory.json'));
  await writeFile(path, toLine('s1', 0) + toLine('s2', 1));
  const bring = async () => {
    const { sessions } = await read(path, { memory });
    for (const id of Object.keys(sessions)) memory.confirm(`${path}!${id}`);
    return Object.keys(sessions);
  };
  expect(await bring()).toEqual(['s1', 's2']);
  expect(await bring()).toEqual([]);
  await appendFile(path, toLine('s2', 2));
  expect(await bring()).toEqual(['s2']);
});

it('reports a history that was rewritten while it was read', async () => {
  await writeFile(path, toLine('s1', 0) + toLine('s2', 1));
  const store = await openPromptHistory(path);
  await writeFile(path, toLine('s2', 1));
  await expect(Readable.from(store?.readSession('s1') ?? []).toArray()).rejects.toThrow('rewrote its prompt history');
});

it('ignores other agents’ histories and other files of the same name', async () => {
  await writeFile(path, '{"session_id":"s1","ts":1778572800,"text":"Look"}\n');
  expect(await openPromptHistory(path)).toBeUndefined();
  expect(await openPromptHistory(join(folder, 'history.jsonl'))).toBeUndefined();
});
