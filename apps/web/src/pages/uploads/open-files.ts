/** A chosen file, with its path in the dropped folder. */
export interface ChosenFile {
  path: string;
  file: File;
}

/** A file to send: one transcript. */
export interface OpenedFile {
  path: string;
  body: Blob;
  /** Of the body; the API decodes it. */
  encoding?: 'gzip' | 'zstd' | 'br';
}

/** A file that cannot be sent, and what to do instead. */
export interface RefusedFile {
  path: string;
  reason: string;
}

/** For an archive, packed or unpacked: all of it is held in memory. */
const MAX_ARCHIVE_BYTES = 512 * 1024 * 1024;
/** As `recount backfill` takes them; OpenClaw renames sessions that were reset to `<id>.jsonl.reset.<time>`. */
const TRANSCRIPT_NAME =
  /\.(?:jsonl?|ndjson)(?:\.(?:(?:reset|deleted)\.\d[\dT:.-]*Z?|imported-\d+(?:\.\d+)?))?(?:\.(?:gz|zst|br))?$/i;
const ZIP_NAME = /\.zip$/i;
const TAR_NAME = /\.(?:tar|tar\.gz|tgz)$/i;
const OTHER_ARCHIVE_NAME = /\.(?:tar\.\w+|7z|rar|xz|bz2)$/i;
const ENCODINGS = { gz: 'gzip', zst: 'zstd', br: 'br' } as const;

class ArchiveTooLargeError extends Error {
  override name = 'ArchiveTooLargeError';
}

const toOpened = (path: string, body: Blob): OpenedFile => {
  const ending = /\.(gz|zst|br)$/i.exec(path)?.[1]?.toLowerCase() as keyof typeof ENCODINGS | undefined;
  return ending === undefined ? { path, body } : { path, body, encoding: ENCODINGS[ending] };
};

/** Dropped files, including those in folders. Must be called while the event is being handled. */
export async function listDropped({ items, files }: DataTransfer): Promise<ChosenFile[]> {
  const entries = [...items].flatMap((item) => item.webkitGetAsEntry() ?? []);
  if (entries.length === 0) return [...files].map((file) => ({ path: file.name, file }));
  return (await Promise.all(entries.map(listEntry))).flat();
}

async function listEntry(entry: FileSystemEntry): Promise<ChosenFile[]> {
  if (entry instanceof FileSystemFileEntry) {
    const file = await new Promise<File>((resolve, reject) => entry.file(resolve, reject));
    return [{ path: entry.fullPath.replace(/^\//, ''), file }];
  }
  if (!(entry instanceof FileSystemDirectoryEntry)) return [];
  const reader = entry.createReader();
  const found: ChosenFile[] = [];
  // It returns part of the folder at a time, and an empty list at its end.
  for (;;) {
    const part = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (part.length === 0) return found;
    for (const each of part) found.push(...(await listEntry(each)));
  }
}

/**
 * Opens archives, and skips files in folders and archives whose name is not a transcript's; files chosen directly are
 * kept. `leftOut` counts the skipped ones.
 */
export async function* openFiles(
  chosen: readonly ChosenFile[],
): AsyncGenerator<OpenedFile | RefusedFile | { leftOut: number }> {
  for (const { path, file } of chosen) {
    const isInFolder = path.includes('/');
    if (ZIP_NAME.test(path) || TAR_NAME.test(path)) yield* openArchive(path, file);
    else if (TRANSCRIPT_NAME.test(path) || (!isInFolder && !OTHER_ARCHIVE_NAME.test(path))) yield toOpened(path, file);
    else if (isInFolder) yield { leftOut: 1 };
    else yield { path, reason: 'This kind of archive cannot be opened here: unpack it, or use recount backfill' };
  }
}

async function* openArchive(path: string, file: File): AsyncGenerator<OpenedFile | RefusedFile | { leftOut: number }> {
  try {
    const { members, leftOut } = await (ZIP_NAME.test(path) ? readZip : readTar)(file);
    if (members.length === 0) yield { path, reason: 'It contains no .jsonl, .ndjson or .json file' };
    for (const { name, bytes } of members) yield toOpened(name, new Blob([bytes as BlobPart]));
    if (leftOut > 0) yield { leftOut };
  } catch (error) {
    const isTooLarge = error instanceof ArchiveTooLargeError;
    const reason = isTooLarge
      ? 'It is too large to be opened in a browser: recount backfill takes archives of any size'
      : 'It cannot be read as an archive: it may be damaged, or of another kind than its name says';
    yield { path, reason };
  }
}

interface Members {
  members: { name: string; bytes: Uint8Array }[];
  leftOut: number;
}

async function readZip(file: File): Promise<Members> {
  const bytes = new Uint8Array(await readBounded(file.stream()));
  const { unzipSync } = await import('fflate');
  let leftOut = 0;
  let total = 0;
  const found = unzipSync(bytes, {
    filter: ({ name, originalSize }) => {
      if (name.endsWith('/')) return false;
      if (!TRANSCRIPT_NAME.test(name)) {
        leftOut++;
        return false;
      }
      total += originalSize;
      if (total > MAX_ARCHIVE_BYTES) throw new ArchiveTooLargeError();
      return true;
    },
  });
  return { members: Object.entries(found).map(([name, each]) => ({ name, bytes: each })), leftOut };
}

async function readTar(file: File): Promise<Members> {
  const stream = /gz$/i.test(file.name) ? file.stream().pipeThrough(new DecompressionStream('gzip')) : file.stream();
  const bytes = await readBounded(stream);
  const { parseTar } = await import('nanotar');
  const files = parseTar(bytes).filter(({ type }) => type === 'file');
  const members = files.flatMap(({ name, data }) =>
    TRANSCRIPT_NAME.test(name) ? [{ name: name.replace(/^\.\//, ''), bytes: data ?? new Uint8Array() }] : [],
  );
  return { members, leftOut: files.length - members.length };
}

/** Throws ArchiveTooLargeError. */
async function readBounded(stream: ReadableStream<Uint8Array>): Promise<ArrayBuffer> {
  let total = 0;
  const counted = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      total += chunk.length;
      if (total > MAX_ARCHIVE_BYTES) throw new ArchiveTooLargeError();
      controller.enqueue(chunk);
    },
  });
  return await new Response(stream.pipeThrough(counted)).arrayBuffer();
}
