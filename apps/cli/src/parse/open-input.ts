import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { IDENTIFY_HEAD_BYTES, identifyTranscript, type TranscriptIdentity } from '@recount/core';
import { readSources, SourceError } from '@recount/sources';
import type { CliContext } from '../cli-context.ts';
import { CliError } from '../cli-error.ts';

export interface ParseInput {
  identity: TranscriptIdentity;
  /** All decoded bytes. */
  chunks: AsyncIterable<Uint8Array>;
}

const STDIN = '-';

/**
 * Opens a file, decompressed where it is, or stdin as it is, and reads as far as it takes to tell whose transcript it is.
 * Throws CliError where it is no single file, or SourceError.
 */
export async function openInput(context: CliContext, file: string): Promise<ParseInput> {
  const path = file === STDIN ? undefined : resolve(context.workingDirectory, file);
  const chunks = (path === undefined ? context.stdin : await openFile(path))[Symbol.asyncIterator]();
  const head: Uint8Array[] = [];
  for (let length = 0; length < IDENTIFY_HEAD_BYTES; ) {
    const next: IteratorResult<Uint8Array> = await chunks.next();
    if (next.done) break;
    head.push(next.value);
    length += next.value.length;
  }
  const identity = identifyTranscript({ path, head: Buffer.concat(head).subarray(0, IDENTIFY_HEAD_BYTES) });
  return { identity, chunks: resume(head, chunks) };
}

async function openFile(path: string): Promise<AsyncIterable<Uint8Array>> {
  const stats = await stat(path).catch((error: NodeJS.ErrnoException) => {
    const reason = error.code === 'ENOENT' ? 'there is no such file' : `cannot be read (${error.code})`;
    throw new CliError(`${path}: ${reason}`);
  });
  if (stats.isDirectory()) throw new CliError(`${path} is a folder: \`recount parse\` reads one file.`);
  // Such as a pipe of `<(…)`: its bytes come once, and are taken as they are.
  return stats.isFile() ? readTranscriptFile(path) : createReadStream(path);
}

async function* readTranscriptFile(path: string): AsyncGenerator<Uint8Array> {
  try {
    for await (const item of readSources([path])) {
      if (item.kind === 'failed') throw item.error;
      if (item.location.includes('!')) break;
      if (item.kind === 'transcript') return yield* await item.open();
    }
  } catch (error) {
    throw error instanceof SourceError ? new CliError(`${path}: ${error.message}`, { cause: error }) : error;
  }
  throw new CliError(
    `${path} is an archive: \`recount parse\` reads one transcript, \`recount backfill\` reads archives.`,
  );
}

async function* resume(head: Uint8Array[], rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  for (let chunk = head.shift(); chunk !== undefined; chunk = head.shift()) yield chunk;
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
}
