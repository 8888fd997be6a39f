import { appendFile, readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { writeWhole } from './spool-folder.ts';

/** The last sent part of a file, and the outcome. */
export interface SentFile {
  path: string;
  sizeBytes: number;
  modifiedAtMs: number;
  /** SHA-256 (hex) of the bytes that were sent. */
  sha256: string;
  /** Their number, if the bytes sent differ from those in the file. */
  sentBytes?: number | undefined;
  /**
   * Id of the transcript or the attachment. Null if the server rejects it or the user keeps it on this machine; it is
   * tried again when it changes.
   */
  transcriptId: string | null;
  /** Why there is no transcript. */
  reason?: string | undefined;
}

export interface SentLog {
  find(path: string): SentFile | undefined;
  /** A file of the same name that was sent with these bytes. Agents move their files. */
  findMoved(path: string, sha256: string): SentFile | undefined;
  /**
   * Resolves once it is durable. A process killed earlier sends the file again, and the server recognises a duplicate.
   */
  add(file: SentFile): Promise<void>;
  files(): Iterable<SentFile>;
}

/** Average number of lines per file before the log is compacted. */
const MAX_LINES_PER_FILE = 4;
const MIN_LINES = 1000;

/** Reads the log of sent files; an incomplete last line is ignored. */
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
