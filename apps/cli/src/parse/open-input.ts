import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { IDENTIFY_HEAD_BYTES, identifyTranscript, type TranscriptIdentity } from '@recount/core';
import { peekChunks } from '@recount/storage';
import { readSources, SourceError } from '@recount/storage/sources';
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
  const source = path === undefined ? context.stdin : await openFile(path);
  const { held, chunks } = await peekChunks(source, IDENTIFY_HEAD_BYTES);
  const identity = identifyTranscript({ path, head: Buffer.concat(held).subarray(0, IDENTIFY_HEAD_BYTES) });
  return { identity, chunks };
}

async function openFile(path: string): Promise<AsyncIterable<Uint8Array>> {
  const stats = await stat(path).catch((error: NodeJS.ErrnoException) => {
    const reason = error.code === 'ENOENT' ? 'there is no such file' : `cannot be read (${error.code})`;
    // Node put that where the shell gave bytes that are no UTF-8.
    const hint = path.includes('\uFFFD') ? '; where its name is not UTF-8, use `recount parse - < FILE`' : '';
    throw new CliError(`${path}: ${reason}${hint}`);
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
