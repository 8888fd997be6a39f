import {
  type ArchiveMember,
  isTranscriptName,
  type LeftOut,
  OTHER_ARCHIVE_NAME,
  type RefusedFile,
  TAR_NAME,
  ZIP_NAME,
} from './archive-member.ts';

/** A chosen file, with its path in the dropped folder. */
export interface ChosenFile {
  path: string;
  file: File;
}

/** A file to send (one transcript). */
export interface OpenedFile {
  path: string;
  body: Blob;
  /** Of the body; the API decodes it. */
  encoding?: 'gzip' | 'zstd' | 'br';
}

const ENCODINGS = { gz: 'gzip', zst: 'zstd', br: 'br' } as const;

const toOpened = (path: string, body: Blob): OpenedFile => {
  const ending = /\.(gz|zst|br)$/i.exec(path)?.[1]?.toLowerCase() as keyof typeof ENCODINGS | undefined;
  return ending === undefined ? { path, body } : { path, body, encoding: ENCODINGS[ending] };
};

/** Dropped files, including those in folders, and those that the browser cannot read. */
export async function listFiles(dropped: readonly (File | FileSystemEntry)[]): Promise<(ChosenFile | RefusedFile)[]> {
  const listed = dropped.map((each) => (each instanceof File ? [{ path: each.name, file: each }] : listFolder(each)));
  return (await Promise.all(listed)).flat();
}

/** A folder without files is named: otherwise dropping it would have no outcome. */
async function listFolder(entry: FileSystemEntry): Promise<(ChosenFile | RefusedFile)[]> {
  const found: (ChosenFile | RefusedFile)[] = [];
  await listEntry(entry, found);
  return found.length > 0 ? found : [{ path: entry.name, reason: 'It contains no file' }];
}

const UNREADABLE = 'The browser could not read it. Choose it again, or use recount backfill';

// Chromium has no global classes of these names.
const isFile = (entry: FileSystemEntry): entry is FileSystemFileEntry => entry.isFile;
const isFolder = (entry: FileSystemEntry): entry is FileSystemDirectoryEntry => entry.isDirectory;

async function listEntry(entry: FileSystemEntry, found: (ChosenFile | RefusedFile)[]): Promise<void> {
  const path = entry.fullPath.replace(/^\//, '');
  try {
    if (isFile(entry)) {
      found.push({ path, file: await new Promise<File>((resolve, reject) => entry.file(resolve, reject)) });
    } else if (isFolder(entry)) {
      const reader = entry.createReader();
      // It returns part of the folder at a time, and an empty list at its end.
      for (;;) {
        const part = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
        if (part.length === 0) return;
        for (const each of part) await listEntry(each, found);
      }
    } else found.push({ path, reason: UNREADABLE });
  } catch {
    found.push({ path, reason: UNREADABLE });
  }
}

/**
 * Opens archives, and leaves out files in folders and archives whose name is not a transcript's; files chosen directly
 * are sent. Nothing is passed over. `leftOut` says why one file is not sent.
 */
export async function* openFiles(
  chosen: readonly (ChosenFile | RefusedFile)[],
): AsyncGenerator<OpenedFile | RefusedFile | { leftOut: LeftOut }> {
  for (const each of chosen) {
    if ('reason' in each) {
      yield each;
      continue;
    }
    const { path, file } = each;
    const isInFolder = path.includes('/');
    if (ZIP_NAME.test(path) || TAR_NAME.test(path)) yield* openArchive(path, file);
    else if (isTranscriptName(path) || (!isInFolder && !OTHER_ARCHIVE_NAME.test(path))) yield toOpened(path, file);
    else if (isInFolder && !OTHER_ARCHIVE_NAME.test(path)) yield { leftOut: 'by name' };
    else yield { path, reason: 'This kind of archive cannot be opened here. Unpack it, or use recount backfill' };
  }
}

async function* openArchive(path: string, file: File): AsyncGenerator<OpenedFile | RefusedFile | { leftOut: LeftOut }> {
  let isEmpty = true;
  try {
    for await (const member of listMembers(path, file)) {
      if (!('leftOut' in member)) isEmpty = false;
      if ('bytes' in member) yield toOpened(member.name, new Blob([member.bytes]));
      else yield member;
    }
    if (isEmpty) yield { path, reason: 'It contains no .jsonl, .ndjson or .json file' };
  } catch (error) {
    const obstacle = (await isReadable(file)) ? toObstacle(error) : 'changed or disappeared. Choose it again';
    yield { path, reason: `${isEmpty ? 'It' : 'The rest of it'} ${obstacle}` };
  }
}

/** False for a file that changed or disappeared: errors of browsers do not tell it from other failures. */
export async function isReadable(body: Blob): Promise<boolean> {
  try {
    // A file that is gone seems to be empty, and a part of it can be read.
    await (body.size === 0 ? body : body.slice(0, 1)).arrayBuffer();
    return true;
  } catch {
    return false;
  }
}

function toObstacle(error: unknown): string {
  // Browsers fail to allocate large buffers.
  if (error instanceof RangeError) return 'needs more memory than the browser has. Use recount backfill';
  return 'cannot be read as an archive. It may be damaged, or of another kind than its name says';
}

async function* listMembers(path: string, file: File): AsyncGenerator<ArchiveMember> {
  if (ZIP_NAME.test(path)) {
    const { readZip } = await import('./read-zip.ts');
    yield* readZip(file);
  } else {
    const { readTar } = await import('./read-tar.ts');
    const stream = file.stream();
    const isPacked = /gz$/i.test(path);
    yield* readTar(isPacked ? stream.pipeThrough(new DecompressionStream('gzip')) : stream);
  }
}
