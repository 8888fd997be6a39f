import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { isInPlace, isPromptHistory, isSessionPart, isSessionStore, matchFiles } from '@recount/collect';
import { classifyName } from '@recount/storage/sources';
import type { FoundFile } from '@recount/usage';
import type { CliContext } from '../terminal/cli-context.ts';
import { UsageError } from '../terminal/cli-error.ts';
import { type Found, toDeniedFile } from './found.ts';

const TRANSCRIPT_PATTERNS = ['**/*.json*', '**/*.ndjson*'];
const DATABASE_PATTERNS = ['**/*.db', '**/*.sqlite', '**/*.sqlite3'];

const NODE_MODULES = /[\\/]node_modules[\\/]/;

/** Everything below the paths. Throws UsageError for a path that does not exist. */
export async function findBelow({ workingDirectory }: CliContext, paths: readonly string[]): Promise<Found> {
  const transcripts = new Map<string, FoundFile>();
  const databases = new Map<string, FoundFile>();
  const links = new Set<string>();
  // Package managers link thousands of folders, and no agent keeps sessions there.
  const onLink = (path: string): unknown => NODE_MODULES.test(path) || links.add(path);
  const onDenied = (path: string): void => void transcripts.set(path, toDeniedFile(path));
  for (const given of paths) {
    const path = resolve(workingDirectory, given);
    const stats = await stat(path).catch(() => undefined);
    if (stats === undefined) throw new UsageError(`${given}: there is no such file or folder.`);
    if (!stats.isDirectory()) {
      const files = (await isSessionStore(path)) ? databases : transcripts;
      files.set(path, { path, sizeBytes: stats.size, modifiedAtMs: stats.mtimeMs, isInPlace: isInPlace(path) });
      continue;
    }
    for (const pattern of TRANSCRIPT_PATTERNS)
      for (const file of matchFiles(path, pattern, { onDenied, onLink }))
        if (classifyName(file.path) !== 'transcript') continue;
        else if (await isSessionStore(file.path)) databases.set(file.path, file);
        else if (!isSessionPart(file.path) && !(await isPromptHistory(file.path)))
          transcripts.set(file.path, { ...file, isInPlace: isInPlace(file.path) });
    for (const pattern of DATABASE_PATTERNS)
      for (const file of matchFiles(path, pattern, { onLink }))
        if (await isSessionStore(file.path)) databases.set(file.path, file);
        // No database. It is read as a transcript, so that it is named.
        else if (isInPlace(file.path)) transcripts.set(file.path, { ...file, isInPlace: true });
  }
  return { transcripts: [...transcripts.values()], databases: [...databases.values()], links: [...links] };
}
