import type { Readable } from 'node:stream';
import type { S3Client } from '@aws-sdk/client-s3';
import { SourceError, toSourceError } from './source-error.ts';
import {
  type FailedSource,
  type SkippedSource,
  type SourceLimits,
  toFailed,
  toSkipped,
  type UnplacedItem,
} from './source-item.ts';
import { classifyName, hasCompressionEnding, toMemberPath, withoutCompressionEnding } from './source-name.ts';

/** Not empty, half open: `start` up to, not including, `end`, in stored bytes. */
export interface ByteRange {
  start: number;
  end: number;
}

/** A file or an S3 object before anything is known of its content. */
export interface StoredObject {
  kind: 'object';
  location: string;
  path: string;
  /** When it was listed. */
  sizeBytes: number;
  modifiedAtMs: number | undefined;
  /** Given by the user, rather than found in a given folder: read whatever its name. */
  isExplicit: boolean;
  /** The stored bytes, any number of times. Rejects or fails with what `toSourceError` understands. */
  open(range?: ByteRange): Promise<Readable>;
  /** All stored bytes at once, where they are few; undefined, or not there, where `open` is to be asked. Rejects as `open` does. */
  readWhole?: (() => Promise<Buffer | undefined>) | undefined;
}

export type ListedItem =
  | StoredObject
  | Omit<SkippedSource, 'consumedInputBytes'>
  | Omit<FailedSource, 'consumedInputBytes'>;

export interface ListContext {
  sinceMs: number | undefined;
  limits: SourceLimits;
  signal: AbortSignal;
  s3: S3Client | (() => S3Client) | undefined;
  wants: WantsFile | undefined;
}

/** Whether a file of this path is read, in place of transcripts and as it is stored. */
export type WantsFile = (path: string) => boolean;

/** `transcript` is what is read: by its name, or because it is wanted. */
export function classify(path: string, wants: WantsFile | undefined): ReturnType<typeof classifyName> {
  if (wants?.(path)) return 'transcript';
  const named = classifyName(path);
  return wants !== undefined && named === 'transcript' ? 'other' : named;
}

/** The object, unless its name or its age says that it need not be read. */
export function admitObject(object: StoredObject, context: ListContext): ListedItem {
  if (!object.isExplicit && classify(object.path, context.wants) === 'other')
    return toSkipped(object.location, 'not-a-transcript');
  if (isOlder(object.modifiedAtMs, context.sinceMs)) return toSkipped(object.location, 'older-than-since');
  return object;
}

/** What has no known time is not older: reproducible archives set all times to zero. */
function isOlder(modifiedAtMs: number | undefined, sinceMs: number | undefined): boolean {
  return modifiedAtMs !== undefined && sinceMs !== undefined && modifiedAtMs < sinceMs;
}

/** UTF-16 units. Tar allows names of megabytes; file systems allow 4096 bytes. */
const MAX_MEMBER_NAME_LENGTH = 4096;

export interface ReadContext {
  sinceMs: number | undefined;
  limits: SourceLimits;
  signal: AbortSignal;
  wants: WantsFile | undefined;
  /** Stored bytes of the current object that lie before the item about to be yielded. */
  position: { bytes: number };
}

interface TranscriptCandidate {
  location: string;
  path: string;
  /** As the file or the archive tells, before any decompression of the content itself. */
  sizeBytes: number;
  modifiedAtMs: number | undefined;
  reopenable: boolean;
  open(): Promise<Readable>;
}

export function toTranscript(
  candidate: TranscriptCandidate,
  { limits, wants }: Pick<ReadContext, 'limits' | 'wants'>,
): UnplacedItem {
  const { location, path, sizeBytes, modifiedAtMs, reopenable, open } = candidate;
  const isCompressed = wants === undefined && hasCompressionEnding(path);
  if (sizeBytes > limits.maxTranscriptBytes) {
    return toFailed(location, new SourceError('limit-exceeded', `larger than ${limits.maxTranscriptBytes} bytes`));
  }
  if (sizeBytes === 0 && isCompressed) {
    return toFailed(location, new SourceError('truncated', 'compressed by its name, yet empty'));
  }
  return {
    kind: 'transcript',
    location,
    path: isCompressed ? withoutCompressionEnding(path) : path,
    ...(isCompressed ? {} : { sizeBytes }),
    ...(modifiedAtMs === undefined ? {} : { modifiedAtMs }),
    reopenable,
    open: () =>
      open().catch((error: unknown) => {
        throw toSourceError(error);
      }),
  };
}

/** A member as its archive describes it. */
export interface ArchiveMember {
  /** As `toShownName` makes it of the bytes in the archive. */
  name: string;
  type: 'file' | 'link' | 'special';
  sizeBytes: number;
  modifiedAtMs: number | undefined;
}

/** The item of a member: skipped for its type, name or age, else a transcript that `open` opens. */
export function toMemberItem(
  archive: StoredObject,
  member: ArchiveMember,
  context: ReadContext,
  access: Pick<TranscriptCandidate, 'reopenable' | 'open'>,
): UnplacedItem {
  const location = toMemberLocation(archive, member.name);
  if (member.name.length > MAX_MEMBER_NAME_LENGTH) {
    return toFailed(
      location,
      new SourceError('limit-exceeded', `a name of more than ${MAX_MEMBER_NAME_LENGTH} characters`),
    );
  }
  if (member.type === 'link') return toSkipped(location, 'link');
  if (member.type === 'special') return toSkipped(location, 'not-a-file');
  const path = toMemberPath(member.name);
  const named = classify(path, context.wants);
  if (named === 'other') return toSkipped(location, 'not-a-transcript');
  if (named !== 'transcript') return toSkipped(location, 'nested-archive');
  if (isOlder(member.modifiedAtMs, context.sinceMs)) return toSkipped(location, 'older-than-since');
  const { sizeBytes } = member;
  // No later than the archive was written.
  const modifiedAtMs = member.modifiedAtMs ?? (context.wants && archive.modifiedAtMs);
  return toTranscript({ location, path, sizeBytes, modifiedAtMs, ...access }, context);
}

export function toMemberLocation(archive: StoredObject, name: string): string {
  return `${archive.location}!${name.slice(0, MAX_MEMBER_NAME_LENGTH)}`;
}
