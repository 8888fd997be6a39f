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

/** A non-empty range of stored bytes, from `start` up to, not including, `end`. */
export interface ByteRange {
  start: number;
  end: number;
}

/** A file or an S3 object whose content is not known yet. */
export interface StoredObject {
  kind: 'object';
  location: string;
  path: string;
  /** Size when it was listed. */
  sizeBytes: number;
  modifiedAtMs: number | undefined;
  /** Named by the user rather than found in a folder, so it is read whatever its name. */
  isExplicit: boolean;
  /** The stored bytes; may be called repeatedly. Rejects or fails with errors that `toSourceError` understands. */
  open(range?: ByteRange): Promise<Readable>;
  /**
   * All stored bytes together if there are few; if it is undefined, or resolves to undefined, use `open`. Rejects like
   * `open`.
   */
  readWhole?: (() => Promise<Buffer | undefined>) | undefined;
}

export type ListedItem =
  | StoredObject
  | Omit<SkippedSource, 'consumedInputBytes'>
  | Omit<FailedSource, 'consumedInputBytes'>;

export interface ListContext extends Omit<ReadContext, 'position'> {
  s3: S3Client | (() => S3Client) | undefined;
}

/** True to read the file with this path, instead of transcripts and without decoding. */
export type WantsFile = (path: string) => boolean;

/** `transcript` means that it is read because of its name, or because it is wanted. */
export function classify(path: string, wants: WantsFile | undefined): ReturnType<typeof classifyName> {
  if (wants?.(path)) return 'transcript';
  const named = classifyName(path);
  return wants !== undefined && named === 'transcript' ? 'other' : named;
}

/** Admits the object, unless its name or age says that it need not be read. */
export function admitObject(object: StoredObject, context: ListContext): ListedItem {
  if (!object.isExplicit && classify(object.path, context.wants) === 'other')
    return toSkipped(object.location, 'not-a-transcript');
  if (isOlder(object.modifiedAtMs, context.sinceMs)) return toSkipped(object.location, 'older-than-since');
  return object;
}

/** An unknown time does not count as older, because reproducible archives set all times to zero. */
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
  /** Stored bytes of the current object before the item about to be yielded. */
  position: { bytes: number };
}

interface TranscriptCandidate {
  location: string;
  path: string;
  /** As stated by the file or archive, before any decompression of the content itself. */
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

/** A member as described by its archive. */
export interface ArchiveMember {
  /** The archive's bytes, converted by `toShownName`. */
  name: string;
  type: 'file' | 'link' | 'special';
  sizeBytes: number;
  modifiedAtMs: number | undefined;
}

/** The item for a member. It is skipped because of its type, name or age, or else a transcript that `open` opens. */
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
  // A folder has no content, so what has both is neither.
  if (member.type === 'special' || member.name.endsWith('/')) return toSkipped(location, 'not-a-file');
  const path = toMemberPath(member.name);
  const named = classify(path, context.wants);
  if (named === 'other') return toSkipped(location, 'not-a-transcript');
  if (named !== 'transcript') return toSkipped(location, 'nested-archive');
  if (isOlder(member.modifiedAtMs, context.sinceMs)) return toSkipped(location, 'older-than-since');
  const { sizeBytes } = member;
  // It is no newer than its archive.
  const modifiedAtMs = member.modifiedAtMs ?? (context.wants && archive.modifiedAtMs);
  return toTranscript({ location, path, sizeBytes, modifiedAtMs, ...access }, context);
}

export function toMemberLocation(archive: StoredObject, name: string): string {
  return `${archive.location}!${name.slice(0, MAX_MEMBER_NAME_LENGTH)}`;
}
