import type { Readable } from 'node:stream';
import { SourceError, toSourceError } from './source-error.ts';
import { toFailed, toSkipped, type UnplacedItem } from './source-item.ts';
import type { SourceLimits } from './source-limits.ts';
import { classifyName, hasCompressionEnding, toMemberPath, withoutCompressionEnding } from './source-name.ts';
import { isOlder, type StoredObject } from './stored-object.ts';

/** UTF-16 units. Tar allows names of megabytes; file systems allow 4096 bytes. */
const MAX_MEMBER_NAME_LENGTH = 4096;

export interface ReadContext {
  sinceMs: number | undefined;
  limits: SourceLimits;
  signal: AbortSignal;
  /** Stored bytes of the current object that lie before the item about to be yielded. */
  position: { bytes: number };
}

export interface TranscriptCandidate {
  location: string;
  path: string;
  /** As the file or the archive tells, before any decompression of the content itself. */
  sizeBytes: number;
  modifiedAtMs: number | undefined;
  reopenable: boolean;
  open(): Promise<Readable>;
}

export function toTranscript(candidate: TranscriptCandidate, limits: SourceLimits): UnplacedItem {
  const { location, path, sizeBytes, modifiedAtMs, reopenable, open } = candidate;
  if (sizeBytes > limits.maxTranscriptBytes) {
    return toFailed(location, new SourceError('limit-exceeded', `larger than ${limits.maxTranscriptBytes} bytes`));
  }
  if (sizeBytes === 0 && hasCompressionEnding(path)) {
    return toFailed(location, new SourceError('truncated', 'compressed by its name, yet empty'));
  }
  return {
    kind: 'transcript',
    location,
    path: withoutCompressionEnding(path),
    ...(hasCompressionEnding(path) ? {} : { sizeBytes }),
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
  const named = classifyName(member.name);
  if (named === 'other') return toSkipped(location, 'not-a-transcript');
  if (named !== 'transcript') return toSkipped(location, 'nested-archive');
  if (isOlder(member.modifiedAtMs, context.sinceMs)) return toSkipped(location, 'older-than-since');
  const { sizeBytes, modifiedAtMs } = member;
  return toTranscript(
    { location, path: toMemberPath(member.name), sizeBytes, modifiedAtMs, ...access },
    context.limits,
  );
}

export function toMemberLocation(archive: StoredObject, name: string): string {
  return `${archive.location}!${name.slice(0, MAX_MEMBER_NAME_LENGTH)}`;
}
