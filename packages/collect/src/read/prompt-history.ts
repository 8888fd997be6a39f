import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import {
  AGENTS,
  type Agent,
  type CanonicalHeader,
  createLineSplitter,
  type PromptHistory,
  parseForeignJson,
} from '@recount/core';
import { SourceError } from '@recount/storage/sources';
import { matchFiles } from '../find/match-files.ts';
import type { SessionStore } from './session-store.ts';

/** Enough for any prompt; longer lines are skipped. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;
/** Enough for the first lines. */
const HEAD_BYTES = 64 * 1024;
/** The transcript of a session with a more recent prompt may not be written yet. */
const QUIET_MS = 24 * 3600 * 1000;

interface HistoryAgent {
  agent: Agent;
  history: PromptHistory;
}

/** The place of a line in the file. */
interface LinePlace {
  byteOffset: number;
  byteLength: number;
}

interface LostSession {
  lines: LinePlace[];
  lastMs: number;
}

/** True if a file has the prompts of many sessions. False if it cannot be read. */
export async function isPromptHistory(path: string, agents: readonly Agent[] = AGENTS): Promise<boolean> {
  return (await findHistoryAgent(path, agents)) !== undefined;
}

/**
 * A prompt history as a store of the sessions whose transcripts no longer exist; undefined if the file is none. Leaves
 * out sessions with prompts from the last day. Holds only the places of lines. Rejects with a SourceError.
 */
export async function openPromptHistory(
  path: string,
  agents: readonly Agent[] = AGENTS,
  nowMs = Date.now(),
): Promise<SessionStore | undefined> {
  const found = await findHistoryAgent(path, agents);
  if (found === undefined) return undefined;
  const { agent, history } = found;
  const lost = await withReadErrors(() => listLost(path, history));
  const sessions = [...lost].filter(([, { lastMs }]) => nowMs - lastMs > QUIET_MS);
  return {
    agent,
    path,
    listSessions: () =>
      sessions.map(([id, { lines, lastMs }]) => ({
        id,
        version: `${lines.length}-${lines.reduce((sum, { byteLength }) => sum + byteLength, 0)}-${lastMs}`,
        changedAtMs: lastMs,
      })),
    readSession: (id) => readPrompts(path, found, id, lost.get(id)?.lines ?? []),
    close: () => undefined,
  };
}

async function findHistoryAgent(path: string, agents: readonly Agent[]): Promise<HistoryAgent | undefined> {
  const name = basename(path);
  const named = agents.flatMap((agent) => {
    const history = agent.promptHistory;
    return history?.file === name ? [{ agent, history }] : [];
  });
  if (named.length === 0) return undefined;
  const lines = (await readHead(path)).split('\n');
  return named.find(({ history }) => lines.some((text) => isPrompt(history, toJson(text))));
}

/** Empty for a file that cannot be read. */
async function readHead(path: string): Promise<string> {
  const handle = await open(path, 'r').catch(() => undefined);
  try {
    const read = await handle?.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    return read?.buffer.toString('utf8', 0, read.bytesRead) ?? '';
  } catch {
    return '';
  } finally {
    await handle?.close();
  }
}

type Line = Record<string, never>;

const isPrompt = (history: PromptHistory, line: Line | undefined): line is Line =>
  line !== undefined && history.isLine(line);

function toJson(text: string): Line | undefined {
  try {
    const value = parseForeignJson(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Line) : undefined;
  } catch {
    // The agent may still be writing its last line.
    return undefined;
  }
}

/** The sessions without a transcript, in the order of their first prompts. */
async function listLost(path: string, history: PromptHistory): Promise<Map<string, LostSession>> {
  const kept = new Set<string>();
  for (const file of matchFiles(dirname(path), history.transcripts)) {
    kept.add(basename(file.path).replace(/\.[^.]*$/, ''));
  }
  const lost = new Map<string, LostSession>();
  const splitter = createLineSplitter(MAX_LINE_BYTES, ({ bytes, byteOffset, byteLength }) => {
    const line = bytes && toJson(bytes.toString('utf8'));
    if (!isPrompt(history, line)) return;
    const { [history.session]: id, [history.time]: time } = line as Record<string, unknown>;
    if (typeof id !== 'string' || id === '' || kept.has(id)) return;
    const session = lost.get(id) ?? { lines: [], lastMs: 0 };
    session.lines.push({ byteOffset, byteLength });
    session.lastMs = Math.max(session.lastMs, typeof time === 'number' ? time : 0);
    lost.set(id, session);
  });
  for await (const chunk of createReadStream(path)) splitter.push(chunk);
  splitter.finish();
  return lost;
}

/** Canonical NDJSON: a header, then the session's lines unchanged. */
async function* readPrompts(
  path: string,
  { agent, history }: HistoryAgent,
  id: string,
  lines: readonly LinePlace[],
): AsyncGenerator<Buffer, void> {
  const header: CanonicalHeader = { recount: 'session', version: 1, agent: agent.id, session: id };
  yield Buffer.from(`${JSON.stringify(header)}\n`);
  const handle = await withReadErrors(() => open(path, 'r'));
  try {
    for (const { byteOffset, byteLength } of lines) {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(byteLength), 0, byteLength, byteOffset);
      const line: unknown = toJson(buffer.toString('utf8', 0, bytesRead))?.[history.session];
      if (line !== id)
        throw new SourceError('changed', 'the agent rewrote its prompt history at the same time; run it again');
      yield Buffer.concat([buffer, Buffer.from('\n')]);
    }
  } finally {
    await handle.close();
  }
}

async function withReadErrors<Result>(read: () => Promise<Result>): Promise<Result> {
  try {
    return await read();
  } catch (cause) {
    if (cause instanceof SourceError) throw cause;
    const { code = 'unknown error' } = cause as NodeJS.ErrnoException;
    throw new SourceError('read-failed', `the prompt history cannot be read (${code})`, { cause });
  }
}
