import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, relative } from 'node:path';
import { Readable } from 'node:stream';
import { parseTranscript } from '@recount/core';
import {
  type AgentEvent,
  createStreamParser,
  outputFlags,
  type ParserEvent,
  parserFor,
  toStreamOutcome,
} from '@recount/core/live';
import { describe, expect, it } from 'vitest';
import { findCorpus } from './corpus.ts';

const AGENTS = { 'claude-stream-json__': 'claude', 'codex-exec__': 'codex', amp__: 'amp' } as const;

interface RecordedStream {
  agent: 'claude' | 'codex' | 'amp';
  path: string;
  bytes: Buffer;
  lines: Line[];
}

/** The fields that these tests read, without using code under test. */
interface Line {
  type: string;
  subtype?: string;
  session_id?: string;
  thread_id?: string;
  is_error?: boolean;
  total_cost_usd?: number;
  item?: { type?: string };
  message?: { id?: string; content?: { type: string; text?: string }[]; usage?: Record<string, number> };
  usage?: Record<string, number> | null;
}

const streams = readStreams(findCorpus());

function readStreams(corpus: string | undefined): RecordedStream[] {
  if (corpus === undefined) return [];
  const folder = mkdtempSync(join(tmpdir(), 'recount-live-corpus-'));
  const archives = readdirSync(corpus).filter((name) => name.endsWith('.tar.gz'));
  const found = archives.flatMap((archive): RecordedStream[] => {
    const prefix = (Object.keys(AGENTS) as (keyof typeof AGENTS)[]).find((start) => archive.startsWith(start));
    if (prefix === undefined) return [];
    const target = mkdtempSync(join(folder, prefix));
    execFileSync('tar', ['-xzf', join(corpus, archive), '-C', target]);
    // Not a glob, because some folders begin with a dot.
    const files = readdirSync(target, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    return files.map((entry) => {
      const path = join(entry.parentPath, entry.name);
      const bytes = readFileSync(path);
      const lines = bytes.toString().split('\n').filter(Boolean);
      return {
        agent: AGENTS[prefix],
        path: `${archive} ${relative(target, path)}`,
        bytes,
        lines: lines.map((line) => JSON.parse(line) as Line),
      };
    });
  });
  rmSync(folder, { recursive: true });
  return found;
}

function toChunks(bytes: Buffer, size: number): Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  );
}

function replay({ agent }: RecordedStream, chunks: readonly Buffer[]) {
  const parser = parserFor(agent, { now: () => 0 });
  if (parser === undefined) throw new Error(agent);
  const events: AgentEvent[] = [...chunks.flatMap((chunk) => parser.push(chunk)), ...parser.finish()];
  return { events, summary: parser.toSummary() };
}

const count = <T>(values: readonly T[], isCounted: (value: T) => boolean): number => values.filter(isCounted).length;
const ofType = (events: readonly AgentEvent[], type: AgentEvent['type']): number =>
  count(events, (event) => event.type === type);
const sum = (values: readonly (number | undefined)[]): number => values.reduce<number>((a, b) => a + (b ?? 0), 0);
const blocks = ({ message }: Line) => message?.content ?? [];

describe.skipIf(streams.length === 0)('recorded streams', () => {
  it('exist for every agent', () => {
    const agents = streams.map(({ agent }) => agent);
    expect(Object.values(AGENTS).map((agent) => count(agents, (other) => other === agent))).toEqual([3, 14, 1]);
    expect(Object.values(AGENTS).every((agent) => outputFlags(agent) !== undefined)).toBe(true);
  });

  it.each(streams.map((stream) => [stream.path, stream] as const))('%s', async (_path, stream) => {
    const { agent, bytes, lines } = stream;
    const { events, summary } = replay(stream, [bytes]);
    expect(replay(stream, toChunks(bytes, 1000))).toEqual({ events, summary });
    expect(summary.lineCount).toBe(lines.length);
    expect(count(events, (event) => event.type === 'warning')).toBe(0);
    const isEnd = ({ type }: Line): boolean => ['result', 'turn.completed', 'turn.failed'].includes(type);
    expect(ofType(events, 'result')).toBe(count(lines, isEnd));
    const isStart = ({ type, subtype }: Line): boolean => type === 'thread.started' || subtype === 'init';
    expect(ofType(events, 'session-start')).toBe(count(lines, isStart));
    expect(summary.agentSessionId).toBe(
      lines.flatMap((line) => line.thread_id ?? line.session_id ?? []).at(-1) ?? null,
    );
    expect(ofType(events, 'tool-end')).toBe(ofType(events, 'tool-start'));
    if (agent === 'codex') await expectCodexFigures(stream, events, summary.tokens);
    else await expectMessageFigures(stream, events, summary.tokens);
  });

  it('end as they ended, with a failure that the agent reported, or within a turn', () => {
    const failed = streams.filter((stream) => !toStreamOutcome(replay(stream, [stream.bytes]).summary).success);
    expect(failed.map(({ path }) => basename(path.split(' ').at(-1) ?? '')).sort()).toEqual(
      ['codex-error.jsonl', 'error.jsonl', 'stream-output-multi-1.jsonl'].sort(),
    );
  });
});

type Tokens = ReturnType<typeof replay>['summary']['tokens'];

async function expectCodexFigures(
  { bytes, lines, path }: RecordedStream,
  events: AgentEvent[],
  tokens: Tokens,
): Promise<void> {
  const isText = ({ type, item }: Line): boolean => type === 'item.completed' && item?.type === 'agent_message';
  expect(ofType(events, 'text')).toBe(count(lines, isText));
  // Every recording has one turn that counts for each thread.
  const usages = lines.flatMap(({ usage }) => (usage ? [usage] : []));
  expect(tokens.tokens_in + tokens.cache_read).toBe(sum(usages.map(({ input_tokens }) => input_tokens)));
  expect(tokens.cache_read).toBe(sum(usages.map(({ cached_input_tokens }) => cached_input_tokens)));
  expect(tokens.tokens_out).toBe(sum(usages.map(({ output_tokens }) => output_tokens)));
  if (path.includes('takopi') && path.endsWith('codex.jsonl')) expect(ofType(events, 'tool-end')).toBe(15);
  expect(await countStored(bytes, 'codex-exec')).toEqual(tokens);
}

/** The live view shows what is counted later. */
async function countStored(bytes: Buffer, format?: string): Promise<Tokens> {
  const { stats } = await parseTranscript('s', bytes, { format });
  const { tokens_in, tokens_out, cache_read, cache_write } = stats;
  return {
    tokens_in: tokens_in ?? 0,
    tokens_out: tokens_out ?? 0,
    cache_read: cache_read ?? 0,
    cache_write: cache_write ?? 0,
  };
}

async function expectMessageFigures(
  { bytes, lines }: RecordedStream,
  events: AgentEvent[],
  tokens: Tokens,
): Promise<void> {
  const messages = lines.filter(({ type }) => type === 'assistant');
  expect(ofType(events, 'text')).toBe(count(messages.flatMap(blocks), ({ type }) => type === 'text'));
  expect(ofType(events, 'tool-start')).toBe(count(messages.flatMap(blocks), ({ type }) => type === 'tool_use'));
  // No recording has a message of several lines.
  const usages = messages.map(({ message }) => message?.usage);
  expect(tokens.tokens_in).toBe(sum(usages.map((usage) => usage?.input_tokens)));
  expect(tokens.tokens_out).toBe(sum(usages.map((usage) => usage?.output_tokens)));
  expect(tokens.cache_read).toBe(sum(usages.map((usage) => usage?.cache_read_input_tokens)));
  expect(tokens.cache_write).toBe(sum(usages.map((usage) => usage?.cache_creation_input_tokens)));
  expect(await countStored(bytes)).toEqual(tokens);

  const ids: string[] = [];
  const source = Readable.from(toChunks(bytes, 777), { objectMode: false });
  const parser = createStreamParser({
    sessionId: 's',
    source,
    now: () => 0,
    onSessionIdCaptured: (id) => ids.push(id),
  });
  const said: ParserEvent[] = [];
  for await (const event of parser) said.push(event);
  expect(said.filter(({ type }) => type === 'error' || type === 'warning')).toEqual([]);
  expect(ids).toEqual([lines.find(({ subtype }) => subtype === 'init')?.session_id]);
  const last = said.at(-1);
  const result = lines.at(-1);
  const cost = result?.total_cost_usd;
  const costUsd = cost === undefined ? null : Number(cost.toFixed(10));
  expect(last).toMatchObject({
    type: 'close',
    success: result?.is_error === false,
    summary: { tokens, costUsd, lastResult: { success: result?.is_error === false } },
  });
  expect(parser.state).toBe(result?.is_error === false ? 'complete' : 'error');
}
