import type { Readable } from 'node:stream';
import { extract as createExtract, type Extract, type Header } from 'tar-stream';
import { type Chunks, closeStream } from './byte-stream.ts';
import { createTranscriptStream, decodeBytes } from './decode-bytes.ts';
import { SourceError } from './source-error.ts';
import { toFailed, type UnplacedItem } from './source-item.ts';
import { toShownName } from './source-name.ts';
import {
  type ArchiveMember,
  type ReadContext,
  type StoredObject,
  toMemberItem,
  toMemberLocation,
} from './transcript-item.ts';

type Entry = Extract extends AsyncIterable<infer Item> ? Item : never;

const TAR_BLOCK_BYTES = 512;
/**
 * Archives older than ustar have no magic, only checksums. The high-water mark is 0: each chunk is parsed before the
 * next is decoded, so that no error overtakes a member. In latin1, each character of a name is one byte. Names in pax
 * headers are read as UTF-8 regardless.
 */
const EXTRACT_OPTIONS = { allowUnknownFormat: true, highWaterMark: 0, filenameEncoding: 'latin1' } as const;

/**
 * The members of a tar archive, plain or compressed, in order. Each can be opened once, before the next is requested;
 * unread content is then skipped.
 *
 * @throws SourceError after the members before the fault
 */
export async function* readTar(object: StoredObject, context: ReadContext): AsyncGenerator<UnplacedItem> {
  const { limits, position } = context;
  const stored = await object.open();
  const extract = createExtract(EXTRACT_OPTIONS);
  async function* count(): AsyncGenerator<Buffer> {
    for await (const chunk of stored) {
      position.bytes += chunk.length;
      yield chunk;
    }
  }
  let failure: unknown;
  const decoded = decodeBytes(count(), {
    maxDecodedBytes: limits.maxArchiveDecodedBytes,
    maxExpansionRatio: limits.maxExpansionRatio,
  });
  const feeding = feed(decoded, extract).catch((error: Error) => {
    failure = error;
    extract.destroy(error);
  });
  const toFailure = (error: unknown) =>
    failure ?? (error instanceof SourceError ? error : new SourceError('corrupt', 'no tar archive, or a damaged one'));
  let entryCount = 0;
  try {
    for await (const entry of extract) {
      entryCount += 1;
      if (entryCount > limits.maxArchiveEntries) {
        throw new SourceError('limit-exceeded', `more than ${limits.maxArchiveEntries} members`);
      }
      // A directory has no content, even if its header claims a size, because reading it would never end.
      if (entry.header.type === 'directory') continue;
      const content = createEntryContent(entry, context, toFailure);
      if (!isEmptyFolder(entry.header)) yield toTarItem(object, entry.header, context, content);
      await content.skipRest();
    }
  } catch (error) {
    throw toFailure(error);
  } finally {
    failure ??= new SourceError('closed', 'the reading of the archive was ended');
    extract.destroy(null);
    await closeStream(stored);
    await feeding;
  }
}

/** Resolves when everything is parsed or the parser is destroyed; rejects with what the source throws. */
async function feed(source: Chunks, extract: Extract): Promise<void> {
  let wake = () => {};
  for (const event of ['drain', 'close']) extract.on(event, () => wake());
  let sizeBytes = 0;
  let trailingZeroBytes = 0;
  for await (const chunk of source) {
    sizeBytes += chunk.length;
    trailingZeroBytes = countTrailingZeros(chunk, trailingZeroBytes);
    const drained = new Promise<void>((resolve) => {
      wake = resolve;
    });
    if (extract.destroyed) return;
    extract.write(chunk);
    await drained;
  }
  // Otherwise an archive cut between two members would pass for complete.
  if (trailingZeroBytes < TAR_BLOCK_BYTES || sizeBytes % TAR_BLOCK_BYTES !== 0) {
    throw new SourceError('truncated', 'the tar archive ends without its end mark, so later members may be missing');
  }
  extract.end(null);
}

/** Number of zero bytes at the end of all chunks so far, up to one tar block. */
function countTrailingZeros(chunk: Buffer, before: number): number {
  const tail = chunk.subarray(-TAR_BLOCK_BYTES);
  const zeros = tail.length - 1 - tail.findLastIndex((byte) => byte !== 0);
  return Math.min(TAR_BLOCK_BYTES, zeros === chunk.length ? before + zeros : zeros);
}

function toTarItem(archive: StoredObject, header: Header, context: ReadContext, content: EntryContent): UnplacedItem {
  const member = toMember(header);
  const item = toMemberItem(archive, member, context, { reopenable: false, open: content.open });
  const obstacle = item.kind === 'transcript' ? findObstacle(header) : undefined;
  if (obstacle === undefined) return item;
  return toFailed(toMemberLocation(archive, member.name), new SourceError('unsupported', obstacle));
}

/** Some tools write a folder as a file without content, with a slash at the end of its name. */
function isEmptyFolder({ name, type, size }: Header): boolean {
  return type === 'file' && name.endsWith('/') && size === 0;
}

const readPax = ({ pax }: Header): Record<string, string> => (pax ?? {}) as Record<string, string>;

function findObstacle(header: Header): string | undefined {
  const pax = readPax(header);
  if (pax.path?.includes('\uFFFD')) {
    return 'its name in a pax header is not UTF-8, so it could be mistaken for another; unpack the archive, and give its folder';
  }
  const isSparse = Object.keys(pax).some((key) => key.startsWith('GNU.sparse.'));
  return isSparse ? 'a sparse file, whose bytes are not stored as they are' : undefined;
}

const MEMBER_TYPES: Readonly<Record<string, ArchiveMember['type']>> = {
  file: 'file',
  'contiguous-file': 'file',
  link: 'link',
  symlink: 'link',
};

function toMember(header: Header): ArchiveMember {
  const { name, type, size, mtime } = header;
  const modifiedAtMs = mtime.getTime();
  return {
    name: toShownName(readPax(header).path || Buffer.from(name, 'latin1')),
    type: MEMBER_TYPES[type] ?? 'special',
    sizeBytes: size,
    modifiedAtMs: modifiedAtMs > 0 ? modifiedAtMs : undefined,
  };
}

interface EntryContent {
  open(): Promise<Readable>;
  /** Ends the stream that `open` returned, if any, and skips the rest of the entry. */
  skipRest(): Promise<void>;
}

function createEntryContent(entry: Entry, context: ReadContext, toFailure: (error: unknown) => unknown): EntryContent {
  const iterator = entry[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  let lastRead: Promise<unknown> = Promise.resolve();
  // tar-stream allows only one read at a time.
  const next = (): Promise<IteratorResult<Buffer>> => {
    const read = lastRead
      .then(() => iterator.next())
      .catch((error: unknown) => {
        throw toFailure(error);
      });
    lastRead = read.catch(() => {});
    return read;
  };
  // Leaves out `return`, because leaving the entry early would destroy the whole archive.
  const chunks: Chunks = { [Symbol.asyncIterator]: () => ({ next }) };
  let stream: Readable | undefined;
  let isOver = false;
  return {
    async open() {
      if (isOver) throw new SourceError('closed', 'a tar member opens while it is the current item');
      if (stream !== undefined) throw new SourceError('closed', 'a tar member opens once');
      stream = createTranscriptStream(chunks, context, () => {});
      return stream;
    },
    async skipRest() {
      isOver = true;
      stream?.destroy(new SourceError('closed', 'the reader moved on before the tar member was read to its end'));
      while (!(await next()).done);
    },
  };
}
