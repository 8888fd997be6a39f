import { createHash, randomUUID } from 'node:crypto';
import { constants, copyFile, link, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The collector's folders and files, accessible only to their owner. */
export interface SpoolFolder {
  path: string;
  /** Hooks' notes, one file each. */
  queue: string;
  /** Session files waiting to be sent, by the SHA-256 of their path. */
  waiting: string;
  /** Links to (or copies of) waiting files, which survive the agent's clean-up. */
  kept: string;
  /** Temporary bytes to be sent, such as a session without its secrets. */
  outgoing: string;
  sentLog: string;
  /** The last version sent of each session in a database. */
  databases: string;
  status: string;
  /** Held by the process that sends. */
  lock: string;
  /** Held by the process that watches. */
  watchLock: string;
  /** The sender's process id, for hooks. They treat a file not written for minutes as left over. */
  senderPid: string;
}

/** A session file waiting to be sent. */
export interface WaitingFile {
  /** Its path at the agent. */
  path: string;
  /** Id of the agent, if available. */
  agent?: string | undefined;
}

/** A hook's note. */
export interface HookNote {
  /** Name of its file in the queue. */
  name: string;
  event: string | undefined;
  /** Transcripts that it names. */
  paths: string[];
}

/** Bytes read of a hook's note, which may hold the agent's last message. */
const MAX_NOTE_BYTES = 1024 * 1024;
/** Total size of copies; links take no space. Beyond it, files wait without a copy. */
const MAX_COPIED_BYTES = 1024 ** 3;

export function toSpoolFolder(path: string): SpoolFolder {
  return {
    path,
    queue: join(path, 'queue'),
    waiting: join(path, 'waiting'),
    kept: join(path, 'kept'),
    outgoing: join(path, 'outgoing'),
    sentLog: join(path, 'sent.ndjson'),
    databases: join(path, 'databases.json'),
    status: join(path, 'status.json'),
    lock: join(path, 'sender.lock'),
    watchLock: join(path, 'watch.lock'),
    senderPid: join(path, 'sender.pid'),
  };
}

export async function createSpoolFolder(folder: SpoolFolder): Promise<void> {
  for (const path of [folder.path, folder.queue, folder.waiting, folder.kept]) {
    await mkdir(path, { recursive: true, mode: 0o700 });
  }
}

/** Notes, like a hook, that a transcript changed; without a path, that a sweep is to find what did. */
export async function addHookNote(folder: SpoolFolder, event: string, path?: string): Promise<void> {
  const note = { hook_event_name: event, ...(path !== undefined && { transcript_path: path }) };
  await writeWhole(join(folder.queue, `${randomUUID()}.json`), JSON.stringify(note));
}

/** The notes of hooks so far. Unreadable notes name no paths. A sweep finds what they were about. */
export async function readHookNotes(folder: SpoolFolder): Promise<HookNote[]> {
  const notes: HookNote[] = [];
  for (const name of (await listNames(folder.queue)).sort()) {
    if (!name.endsWith('.json')) continue;
    const text = await readFile(join(folder.queue, name), 'utf8').catch(() => '');
    notes.push({ name, ...parseHookNote(text.slice(0, MAX_NOTE_BYTES)) });
  }
  return notes;
}

/** Also handles cut notes. The paths are at the beginning. */
export function parseHookNote(text: string): Omit<HookNote, 'name'> {
  const read = (field: string): string | undefined => {
    const [, value] = new RegExp(`"${field}"\\s*:\\s*("(?:[^"\\\\]|\\\\.)*")`).exec(text) ?? [];
    try {
      return value === undefined ? undefined : (JSON.parse(value) as string);
    } catch {
      return undefined;
    }
  };
  const paths = [read('transcript_path'), read('agent_transcript_path')].filter((path) => path !== undefined);
  return { event: read('hook_event_name'), paths: paths.filter((path) => path !== '') };
}

export async function removeHookNotes(folder: SpoolFolder, notes: readonly HookNote[]): Promise<void> {
  for (const { name } of notes) await rm(join(folder.queue, name), { force: true });
}

const toKey = (path: string): string => createHash('sha256').update(path).digest('hex');

/** Records that a file must be sent, until `removeWaiting`. Idempotent. */
export async function addWaiting(folder: SpoolFolder, file: WaitingFile): Promise<void> {
  await writeWhole(join(folder.waiting, `${toKey(file.path)}.json`), JSON.stringify(file));
}

export async function listWaiting(folder: SpoolFolder): Promise<WaitingFile[]> {
  const files: WaitingFile[] = [];
  for (const name of await listNames(folder.waiting)) {
    if (!name.endsWith('.json')) continue;
    const file = await readJson<WaitingFile>(join(folder.waiting, name));
    if (typeof file?.path === 'string') files.push(file);
  }
  return files;
}

export async function removeWaiting(folder: SpoolFolder, path: string): Promise<void> {
  await rm(join(folder.kept, toKey(path)), { force: true });
  await rm(join(folder.waiting, `${toKey(path)}.json`), { force: true });
}

/** The path of the kept bytes of a waiting file, if there are any. */
export const toKeptPath = (folder: SpoolFolder, path: string): string => join(folder.kept, toKey(path));

/**
 * Keeps the bytes of a file that cannot be sent now, either by a link, which takes no space and grows with the file, or
 * else by a copy, up to `maxCopiedBytes` in total. Returns false if there is no space for a copy.
 */
export async function keepFile(folder: SpoolFolder, path: string, maxCopiedBytes = MAX_COPIED_BYTES): Promise<boolean> {
  const kept = toKeptPath(folder, path);
  try {
    await link(path, kept);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return true;
    if (code === 'ENOENT') return false;
  }
  const { size } = await stat(path);
  if ((await sumCopiedBytes(folder)) + size > maxCopiedBytes) return false;
  const temporary = join(folder.kept, `${randomUUID()}.tmp`);
  try {
    await copyFile(path, temporary, constants.COPYFILE_FICLONE);
    await rename(temporary, kept);
    return true;
  } catch {
    await rm(temporary, { force: true });
    return false;
  }
}

/** Counts files that the agent has deleted or moved. Links to files that still exist take no space. */
async function sumCopiedBytes(folder: SpoolFolder): Promise<number> {
  let sum = 0;
  for (const name of await listNames(folder.kept)) {
    const stats = await stat(join(folder.kept, name)).catch(() => undefined);
    if (stats?.nlink === 1) sum += stats.size;
  }
  return sum;
}

/** Writes atomically. Readers see the whole content or none. Only the owner may read it. */
export async function writeWhole(path: string, text: string): Promise<void> {
  const temporary = `${path}.${randomUUID()}.tmp`;
  try {
    await writeFile(temporary, text, { mode: 0o600, flag: 'wx' });
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** Undefined if the file does not exist or is not JSON. */
export async function readJson<Value>(path: string): Promise<Value | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Value;
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

async function listNames(folder: string): Promise<string[]> {
  return await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
}
