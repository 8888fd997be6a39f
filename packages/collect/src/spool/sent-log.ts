import { appendFile, readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { writeWhole } from './spool-folder.ts';

/** What was last sent of a file, and what became of it. */
export interface SentFile {
  path: string;
  sizeBytes: number;
  modifiedAtMs: number;
  /** SHA-256 (hex) of the bytes that were sent. */
  sha256: string;
  /** How many they were, if other bytes were sent than lie in the file. */
  sentBytes?: number | undefined;
  /** Of the transcript, or of the attachment. Null where the server will not take it, or the user keeps it here: it is looked at again when it changes. */
  transcriptId: string | null;
  /** Why there is no transcript. */
  reason?: string | undefined;
}

export interface SentLog {
  find(path: string): SentFile | undefined;
  /** A file of the same name that was sent with these bytes: agents move their files. */
  findMoved(path: string, sha256: string): SentFile | undefined;
  /** Durable when this resolves; a process that is killed before sends the file again, which the server takes for a duplicate. */
  add(file: SentFile): Promise<void>;
  files(): Iterable<SentFile>;
}

/** Lines of the log for each file, before it is written again. */
const MAX_LINES_PER_FILE = 4;
const MIN_LINES = 1000;

/** Reads the log of what was sent; a last line that was cut off counts for nothing. */
export async function openSentLog(path: string): Promise<SentLog> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  const files = new Map<string, SentFile>();
  const byContent = new Map<string, SentFile>();
  const toContent = (name: string, sha256: string): string => `${basename(name)}/${sha256}`;
  const remember = (file: SentFile): void => {
    files.set(file.path, file);
    if (file.transcriptId !== null) byContent.set(toContent(file.path, file.sha256), file);
  };
  let lineCount = 0;
  for (const line of text.split('\n')) {
    const file = parseLine(line);
    if (file === undefined) continue;
    remember(file);
    lineCount += 1;
  }
  if (lineCount > Math.max(MIN_LINES, files.size * MAX_LINES_PER_FILE) || (text !== '' && !text.endsWith('\n'))) {
    await writeWhole(path, [...files.values()].map((file) => `${JSON.stringify(file)}\n`).join(''));
  }
  return {
    find: (name) => files.get(name),
    findMoved: (name, sha256) => byContent.get(toContent(name, sha256)),
    async add(file) {
      await appendFile(path, `${JSON.stringify(file)}\n`, { mode: 0o600, flush: true });
      remember(file);
    },
    files: () => files.values(),
  };
}

function parseLine(line: string): SentFile | undefined {
  try {
    const file = JSON.parse(line) as Partial<SentFile>;
    const isWhole = typeof file.path === 'string' && typeof file.sha256 === 'string' && file.transcriptId !== undefined;
    return isWhole ? (file as SentFile) : undefined;
  } catch {
    return undefined;
  }
}
