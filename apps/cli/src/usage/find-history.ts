import { stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { resolve } from 'node:path';
import {
  findInStores,
  findSessions,
  isPromptHistory,
  isSessionPart,
  isSessionStore,
  matchFiles,
  openSessionStore,
} from '@recount/collect';
import { SourceError } from '@recount/storage/sources';
import type { FoundFile, StoredFile } from '@recount/usage';
import type { CliContext } from '../cli-context.ts';
import { UsageError } from '../cli-error.ts';

const TRANSCRIPT_PATTERNS = ['**/*.jsonl', '**/*.jsonl.zst', '**/*.jsonl.gz', '**/*.json'];
const DATABASE_PATTERNS = ['**/*.db', '**/*.sqlite', '**/*.sqlite3'];

/**
 * The transcripts below the paths, or those that the agents of this machine keep, and the sessions in agents' databases. Throws
 * UsageError for a path that is not there.
 */
export async function findHistory(context: CliContext, paths: readonly string[]): Promise<(FoundFile | StoredFile)[]> {
  const found = await (paths.length > 0 ? findBelow(context, paths) : findOnMachine(context));
  if (found.databases.length === 0) return found.transcripts;
  const stored = await Promise.all(found.databases.map(listStored));
  // What a log says is in the rows of the database beside it, too.
  const inStores = await findInStores(found.transcripts.map(({ path }) => path));
  return [...found.transcripts.filter(({ path }) => !inStores.has(path)), ...stored.flat()];
}

interface Found {
  transcripts: FoundFile[];
  databases: FoundFile[];
}

async function findOnMachine({ environment }: CliContext): Promise<Found> {
  const machine = { platform: process.platform, environment, homeFolder: environment.HOME || homedir() };
  const found = await findSessions(machine);
  const listOf = (kind: string) => found.filter(({ place }) => place.holds === kind).flatMap(({ files }) => files);
  const denied = found.filter(({ place }) => place.holds !== 'aside').flatMap((place) => place.denied);
  return {
    transcripts: [...listOf('transcripts'), ...denied.map(toDeniedFile)],
    databases: [...listOf('database'), ...listOf('folder')],
  };
}

/** What there is no permission to look into fails where it is read, and is counted so. */
const toDeniedFile = (path: string): FoundFile => ({ path, sizeBytes: 0, modifiedAtMs: 0 });

async function findBelow({ workingDirectory }: CliContext, paths: readonly string[]): Promise<Found> {
  const transcripts = new Map<string, FoundFile>();
  const databases = new Map<string, FoundFile>();
  for (const given of paths) {
    const path = resolve(workingDirectory, given);
    const stats = await stat(path).catch(() => undefined);
    if (stats === undefined) throw new UsageError(`${given}: there is no such file or folder.`);
    if (!stats.isDirectory()) {
      const files = (await isSessionStore(path)) ? databases : transcripts;
      files.set(path, { path, sizeBytes: stats.size, modifiedAtMs: stats.mtimeMs });
      continue;
    }
    for (const pattern of TRANSCRIPT_PATTERNS)
      for await (const file of matchFiles(path, pattern, (denied) => transcripts.set(denied, toDeniedFile(denied))))
        if (await isSessionStore(file.path)) databases.set(file.path, file);
        else if (!isSessionPart(file.path) && !(await isPromptHistory(file.path))) transcripts.set(file.path, file);
    for (const pattern of DATABASE_PATTERNS)
      for await (const file of matchFiles(path, pattern))
        if (await isSessionStore(file.path)) databases.set(file.path, file);
  }
  return { transcripts: [...transcripts.values()], databases: [...databases.values()] };
}

/** The sessions of a database; none of one that is no agent's. One that cannot be read fails when its turn comes. */
async function listStored({ path, sizeBytes, modifiedAtMs }: FoundFile): Promise<StoredFile[]> {
  try {
    const store = await openSessionStore(path);
    const sessions = store.listSessions();
    // Each session is read over a connection of its own.
    store.close();
    return sessions.map(({ id, version, changedAtMs = modifiedAtMs }) => ({
      path: `${path}!${id}`,
      sizeBytes: 0,
      modifiedAtMs: changedAtMs,
      version,
      open: () => store.readSession(id),
    }));
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    if (error.code === 'unsupported') return [];
    const open = (): never => {
      throw error;
    };
    return [{ path, sizeBytes, modifiedAtMs, version: '', open }];
  }
}
