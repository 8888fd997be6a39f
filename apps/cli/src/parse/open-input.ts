import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { isAbsolute, resolve } from 'node:path';
import { isSessionStore, openSessionStore } from '@recount/collect';
import { IDENTIFY_HEAD_BYTES, identifyTranscript, type TranscriptIdentity } from '@recount/core';
import { peekChunks } from '@recount/storage';
import { readSources, SourceError } from '@recount/storage/sources';
import { type CliContext, note } from '../terminal/cli-context.ts';
import { CliError } from '../terminal/cli-error.ts';
import { formatCountOf } from '../terminal/format-values.ts';

interface ParseInput {
  identity: TranscriptIdentity;
  isEmpty: boolean;
  /** All decoded bytes. */
  chunks: AsyncIterable<Uint8Array>;
}

const STDIN = '-';

/**
 * Opens a file, decompressing it if necessary, or stdin unchanged, and reads enough to identify the transcript. Throws
 * CliError if it is not a single file, or SourceError.
 */
export async function openInput(context: CliContext, file: string, sessionId?: string): Promise<ParseInput> {
  const path = file === STDIN ? undefined : resolve(context.workingDirectory, file);
  const source = path === undefined ? context.stdin : await openFile(context, path, sessionId);
  const { held, chunks } = await peekChunks(source, IDENTIFY_HEAD_BYTES);
  const head = Buffer.concat(held).subarray(0, IDENTIFY_HEAD_BYTES);
  return { identity: identifyTranscript({ path, head }), isEmpty: head.length === 0, chunks };
}

async function openFile(
  context: CliContext,
  path: string,
  sessionId: string | undefined,
): Promise<AsyncIterable<Uint8Array>> {
  const stats = await stat(path).catch((error: NodeJS.ErrnoException) => {
    const reason = error.code === 'ENOENT' ? 'there is no such file' : `cannot be read (${error.code})`;
    // Node substitutes it for bytes of the shell that are not UTF-8.
    const hint = path.includes('\uFFFD') ? '; if its name is not UTF-8, use `recount parse - < FILE`' : '';
    throw new CliError(`${path}: ${reason}${hint}`);
  });
  if (stats.isDirectory()) throw new CliError(`${path} is a folder: \`recount parse\` reads one file.`);
  if (stats.isFile() && (await isSessionStore(path))) return readDatabase(context, path, sessionId);
  // E.g. a pipe of `<(…)`. Its bytes come once, and are read unchanged.
  return stats.isFile() ? readTranscriptFile(path) : createReadStream(path);
}

/** One session of an agent's database, the named one, or the only one. */
async function* readDatabase(
  context: CliContext,
  path: string,
  sessionId: string | undefined,
): AsyncGenerator<Uint8Array> {
  const store = await openSessionStore(path).catch((error: unknown) => {
    throw error instanceof SourceError ? new CliError(`${path}: ${error.message}`, { cause: error }) : error;
  });
  if (store.notRead !== undefined) note(context, `Not read: ${path} (${store.notRead.message}).`);
  try {
    const sessions = store.listSessions();
    const session = sessionId === undefined ? sessions.at(-1) : sessions.find(({ id }) => id === sessionId);
    if (session === undefined || (sessionId === undefined && sessions.length > 1)) {
      const latest = sessions.slice(-3).map(({ id }) => id);
      const example = latest.length === 0 ? '' : `: name one with --session-id, such as ${latest.join(', ')}`;
      const found =
        sessionId === undefined ? `holds ${formatCountOf(sessions.length, 'session')}` : `has no session ${sessionId}`;
      throw new CliError(`${path} ${found}${example}.`);
    }
    yield* store.readSession(session.id);
  } finally {
    store.close();
  }
}

async function* readTranscriptFile(path: string): AsyncGenerator<Uint8Array> {
  try {
    for await (const item of readSources([path])) {
      if (item.kind === 'failed') throw item.error;
      // The paths of an archive's members are relative.
      if (item.kind === 'transcript' && isAbsolute(item.path)) return yield* await item.open();
    }
  } catch (error) {
    throw error instanceof SourceError ? new CliError(`${path}: ${error.message}`, { cause: error }) : error;
  }
  throw new CliError(
    `${path} is an archive: \`recount parse\` reads one transcript, \`recount backfill\` reads archives.`,
  );
}
