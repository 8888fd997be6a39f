import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { identifyTranscript, type ParseResult, parseTranscript } from '@recount/core';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { findSessions } from '../find/find-sessions.ts';
import { readSessions } from './read-sessions.ts';
import { openSessionMemory } from './session-memory.ts';

const START = Date.UTC(2025, 8, 12, 8);
let homeFolder: string;
beforeEach(async () => {
  homeFolder = await mkdtemp(join(tmpdir(), 'recount-folder-'));
  onTestFinished(() => rm(homeFolder, { recursive: true, force: true }));
});

async function write(path: string, value: object | string): Promise<void> {
  await mkdir(dirname(join(homeFolder, path)), { recursive: true });
  await writeFile(join(homeFolder, path), typeof value === 'string' ? value : JSON.stringify(value));
}

interface Session extends ParseResult {
  id: string | undefined;
  parent: string | undefined;
  lines: string[];
}

async function readFound(options = {}): Promise<Session[]> {
  const found = await findSessions({ platform: 'linux', environment: {}, homeFolder });
  return await readPaths(
    found.flatMap(({ files }) => files.map(({ path }) => path)),
    options,
  );
}

async function readPaths(paths: string[], options = {}): Promise<Session[]> {
  const sessions: Session[] = [];
  for await (const item of readSessions(paths, options)) {
    if (item.kind === 'failed') throw item.error;
    if (item.kind !== 'transcript') continue;
    const text = (await (await item.open()).toArray()).join('');
    const {
      sessionId: id,
      parentSessionId: parent,
      format,
    } = identifyTranscript({
      path: item.path,
      head: Buffer.from(text),
    });
    const parsed = await parseTranscript(id ?? '', text, { format });
    sessions.push({ ...parsed, id, parent, lines: text.trimEnd().split('\n') });
  }
  return sessions;
}

const toTokens = ({ apiResponses }: ParseResult) =>
  apiResponses.map((row) => [row.tokens_in, row.cache_read, row.cache_write, row.tokens_out]);

it('refuses a session whose head is in another encoding, with the way to convert it', async () => {
  const path = '.openhands/conversations/0d8a/base_state.json';
  await mkdir(dirname(join(homeFolder, path)), { recursive: true });
  await writeFile(join(homeFolder, path), Buffer.from('\uFEFF{}', 'utf16le'));
  await expect(readFound()).rejects.toThrow('encoded as UTF-16');
});

describe('opencode before its database', () => {
  const STORAGE = '.local/share/opencode/storage';
  const tokens = (output: number) => ({ input: 10, output, reasoning: 0, cache: { read: 100, write: 60 } });
  async function writeSession(id: string, parent?: string): Promise<void> {
    const info = { id, directory: '/home/ada/app', title: 'Look for the heron', version: '0.15.0' };
    await write(`${STORAGE}/session/project/${id}.json`, { ...info, ...(parent && { parentID: parent }) });
    await write(`${STORAGE}/message/${id}/msg_${id}_1.json`, {
      ...{ id: `msg_${id}_1`, sessionID: id, role: 'user', time: { created: START } },
    });
    for (const [index, text] of ['Find', 'the heron'].entries()) {
      const part = { id: `prt_${index}`, messageID: `msg_${id}_1`, type: 'text', text };
      await write(`${STORAGE}/part/msg_${id}_1/prt_${index}.json`, part);
    }
    await addAnswer(id, 2, 5);
  }
  async function addAnswer(id: string, number: number, output: number): Promise<void> {
    const messageID = `msg_${id}_${number}`;
    await write(`${STORAGE}/message/${id}/${messageID}.json`, {
      ...{ id: messageID, sessionID: id, role: 'assistant', time: { created: START + number * 1000 } },
      ...{ modelID: 'claude-sonnet-4-5', providerID: 'anthropic', tokens: tokens(output), cost: 0.001 },
    });
    const step = { type: 'step-finish', reason: 'stop', cost: 0.001, tokens: tokens(output) };
    for (const [index, part] of [{ type: 'text', text: 'Here' }, step].entries()) {
      await write(`${STORAGE}/part/${messageID}/prt_${index}.json`, { id: `prt_${index}`, messageID, ...part });
    }
  }

  it('is found, and each session read from all of its files', async () => {
    await writeSession('ses_1');
    await writeSession('ses_2', 'ses_1');
    const [first, second] = await readFound();
    expect(first).toMatchObject({
      id: 'ses_1',
      errors: [],
      warnings: [],
      stats: { prompt_count: 1, user_messages: 1 },
    });
    expect(first?.lines.slice(0, 2).map((line) => JSON.parse(line))).toMatchObject([
      { recount: 'session', version: 1, agent: 'opencode', session: 'ses_1' },
      { file: 'storage/session/project/ses_1.json', value: { id: 'ses_1' } },
    ]);
    expect(first && toTokens(first)).toEqual([[10, 100, 60, 5]]);
    expect(second).toMatchObject({ parent: 'ses_1', metadata: { cwd: '/home/ada/app' } });
    // Naming the folder gives the same. No file counts as a transcript by itself.
    expect((await readPaths([join(homeFolder, STORAGE)])).map(({ id }) => id)).toEqual(['ses_1', 'ses_2']);
  });

  it('is read again, alone, when one of its files has changed', async () => {
    await writeSession('ses_1');
    await writeSession('ses_2');
    const memoryFile = join(homeFolder, 'memory.json');
    const readNew = async (): Promise<Session[]> => {
      const memory = await openSessionMemory(memoryFile);
      const sessions = await readFound({ memory });
      for (const { id } of sessions) {
        memory.confirm(`${join(homeFolder, STORAGE, 'session/project', `${id}.json`)}!${id}`);
      }
      await memory.save();
      return sessions;
    };
    expect(await readNew()).toHaveLength(2);
    expect(await readNew()).toHaveLength(0);
    await addAnswer('ses_2', 3, 7);
    const [changed, ...others] = await readNew();
    expect(others).toEqual([]);
    expect(changed?.id).toBe('ses_2');
    expect(changed && toTokens(changed).map(([, , , output]) => output)).toEqual([5, 7]);
  });

  it('reports a file that is not JSON as lost, and keeps its text', async () => {
    await writeSession('ses_1');
    await write(`${STORAGE}/message/ses_1/msg_ses_1_3.json`, '{"torn');
    const [session] = await readFound();
    expect(session).toMatchObject({ errors: [{ code: 'invalid_json' }], notices: [] });
    expect(JSON.parse(session?.lines.at(-1) ?? '')).toMatchObject({ text: '{"torn' });
    expect(session && toTokens(session)).toHaveLength(1);
  });
});

it('reads each response of a conversation of OpenHands', async () => {
  const id = '0b1c2d3e000040008000000000000001';
  const folder = `.openhands/conversations/${id}`;
  const usage = (number: number) => ({
    ...{ model: 'claude-sonnet-4-5', prompt_tokens: 1000, completion_tokens: number, cache_read_tokens: 600 },
    ...{ cache_write_tokens: 300, reasoning_tokens: 0, response_id: `chatcmpl-0000000000000000000${number}` },
  });
  const metrics = { token_usages: [usage(1), usage(2)], costs: [] };
  const agent = { llm: { model: 'claude-sonnet-4-5' } };
  await write(`${folder}/base_state.json`, { id, agent, stats: { usage_to_metrics: { agent: metrics } } });
  const text = (value: string) => [{ type: 'text', text: value }];
  const message = (source: string, value: string, more = {}) => ({
    ...{ kind: 'MessageEvent', source, llm_message: { content: text(value) }, timestamp: '2026-05-12T08:00:01' },
    ...more,
  });
  await write(`${folder}/events/event-00000-aaaaaaaa.json`, message('user', 'Find the heron'));
  const answer = { llm_response_id: 'chatcmpl-00000000000000000001' };
  await write(`${folder}/events/event-00001-bbbbbbbb.json`, message('agent', 'Here', answer));
  const [session] = await readFound();
  expect(session).toMatchObject({ id, errors: [], warnings: [], stats: { prompt_count: 1 } });
  expect(session && toTokens(session).toSorted()).toEqual([
    [100, 600, 300, 1],
    [100, 600, 300, 2],
  ]);
  expect(session?.messages.map(({ provider_message_id: response }) => response)).toEqual([
    null,
    answer.llm_response_id,
  ]);
});
