import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The target of a stream, either this user's installation or a server. Keys are not stored. */
export type SpoolTarget = { kind: 'local' } | { kind: 'server'; url: string };

/** The end of the agent, if known. */
export interface StreamEnd {
  exitCode: number | null;
  signal: string | null;
}

/** Facts about a stream besides its bytes. */
export interface SpoolNote {
  /** A ULID, the name of its files. */
  streamId: string;
  /** Its id on the server; changes only if the server closed a stream that continued. */
  sentAs: string;
  /** Id of the agent. */
  agent: string;
  sourceFormat: string;
  /** Null until the stream has named it; until then it is sent under the stream's id. */
  sessionId: string | null;
  target: SpoolTarget;
  /** Null while the agent runs; stays null if recount was killed. */
  end: StreamEnd | null;
  /** Why the server rejects it, or null. */
  refusal: string | null;
}

/** Files of a stream in the spool. */
export interface SpoolPlace {
  bytes: string;
  note: string;
  /** Held by the process that writes or sends it. */
  lock: string;
}

const STREAM_ID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

export function toSpoolPlace(folder: string, streamId: string): SpoolPlace {
  const path = join(folder, streamId);
  return { bytes: `${path}.ndjson`, note: `${path}.json`, lock: `${path}.lock` };
}

export async function createSpoolFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
}

/** The ids of all streams in the spool, oldest first. */
export async function listSpool(folder: string): Promise<string[]> {
  try {
    const names = await readdir(folder);
    const ids = names.filter((name) => name.endsWith('.json')).map((name) => name.slice(0, -'.json'.length));
    return ids.filter((id) => STREAM_ID.test(id)).sort();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** Total size of all streams in the spool. */
export async function measureSpool(folder: string): Promise<number> {
  const sizes = await Promise.all((await listSpool(folder)).map((id) => readSize(toSpoolPlace(folder, id).bytes)));
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** 0 if there is no such file. */
export async function readSize(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
    throw error;
  }
}

/** Undefined if there is none, or it cannot be read. */
export async function readSpoolNote({ note }: SpoolPlace): Promise<SpoolNote | undefined> {
  try {
    const value = JSON.parse(await readFile(note, 'utf8')) as Partial<SpoolNote> | null;
    return typeof value?.streamId === 'string' && value.target !== undefined ? (value as SpoolNote) : undefined;
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

export async function writeSpoolNote({ note }: SpoolPlace, value: SpoolNote): Promise<void> {
  const temporaryPath = toTemporaryPath(note);
  await writeFile(temporaryPath, `${JSON.stringify(value)}\n`, { mode: 0o600, flush: true });
  await rename(temporaryPath, note);
}

export async function removeFromSpool({ bytes, note }: SpoolPlace): Promise<void> {
  // The note last, because bytes without a note cannot be assigned.
  await rm(bytes, { force: true });
  await rm(note, { force: true });
  await rm(toTemporaryPath(note), { force: true });
}

const toTemporaryPath = (note: string): string => `${note}.tmp`;
