import type { Readable } from 'node:stream';
import type { S3Client } from '@aws-sdk/client-s3';
import { type FailedSource, type SkippedSource, toSkipped } from './source-item.ts';
import type { SourceLimits } from './source-limits.ts';
import { classifyName } from './source-name.ts';

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
}

/** The object, unless its name or its age says that it need not be read. */
export function admitObject(object: StoredObject, context: ListContext): ListedItem {
  if (!object.isExplicit && classifyName(object.path) === 'other')
    return toSkipped(object.location, 'not-a-transcript');
  if (isOlder(object.modifiedAtMs, context.sinceMs)) return toSkipped(object.location, 'older-than-since');
  return object;
}

/** What has no known time is not older: reproducible archives set all times to zero. */
export function isOlder(modifiedAtMs: number | undefined, sinceMs: number | undefined): boolean {
  return modifiedAtMs !== undefined && sinceMs !== undefined && modifiedAtMs < sinceMs;
}
