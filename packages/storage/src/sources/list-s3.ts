import { addAbortSignal, Readable } from 'node:stream';
import type { S3Client } from '@aws-sdk/client-s3';
import { SourceError, toSourceError } from './source-error.ts';
import { toFailed, toSkipped } from './source-item.ts';
import { toMemberPath, toShownName } from './source-name.ts';
import { admitObject, type ListContext, type ListedItem, type StoredObject } from './transcript-item.ts';

const S3_LOCATION = /^s3:\/\/([^/]+)(?:\/(.*))?$/is;

interface ListedKey {
  key: string;
  sizeBytes: number;
  etag: string | undefined;
  modifiedAtMs: number | undefined;
}

interface S3Deps {
  client: S3Client;
  bucket: string;
  signal: AbortSignal;
}

/**
 * Lists `s3://bucket/prefix` (the object with exactly that key, and everything below `prefix/`), in S3's order. A
 * prefix names a folder, not the beginning of a name: `s3://bucket/team` does not include `team-secret/`.
 */
export async function* listS3(location: string, context: ListContext): AsyncGenerator<ListedItem> {
  let isThere = false;
  let isEmpty = true;
  try {
    const { deps, prefix } = parseLocation(location, context);
    for await (const { listed, isExplicit } of listKeys(deps, prefix)) {
      isThere = true;
      // S3 consoles mark a folder by a zero-byte object.
      if (listed.key.endsWith('/') && listed.sizeBytes === 0) continue;
      isEmpty = false;
      yield admitObject(toObject(deps, listed, isExplicit), context);
    }
    if (!isThere) throw new SourceError('not-found', 'no object at or below this location');
    if (isEmpty) yield toSkipped(toShownName(location), 'empty-folder');
  } catch (error) {
    const failure = toSourceError(error);
    if (context.signal.aborted || !(failure instanceof SourceError)) throw error;
    yield toFailed(toShownName(location), failure);
  }
}

function parseLocation(location: string, context: ListContext): { deps: S3Deps; prefix: string } {
  const [, bucket, prefix = ''] = S3_LOCATION.exec(location) ?? [];
  if (bucket === undefined) throw new SourceError('invalid-location', 'an S3 location has the form s3://bucket/prefix');
  if (context.s3 === undefined) throw new SourceError('unsupported', 'no S3 client is configured');
  const client = typeof context.s3 === 'function' ? context.s3() : context.s3;
  return { deps: { client, bucket, signal: context.signal }, prefix };
}

async function* listKeys(deps: S3Deps, prefix: string): AsyncGenerator<{ listed: ListedKey; isExplicit: boolean }> {
  if (prefix === '' || prefix.endsWith('/')) {
    for await (const listed of listPages(deps, prefix)) yield { listed, isExplicit: false };
    return;
  }
  // A key equal to the prefix sorts first among those that begin with it.
  for await (const listed of listPages(deps, prefix, 1)) {
    if (listed.key === prefix) yield { listed, isExplicit: true };
    break;
  }
  for await (const listed of listPages(deps, `${prefix}/`)) yield { listed, isExplicit: false };
}

async function* listPages(deps: S3Deps, prefix: string, pageKeys?: number): AsyncGenerator<ListedKey> {
  const { ListObjectsV2Command } = await import('@aws-sdk/client-s3');
  let token: string | undefined;
  do {
    const page = await deps.client.send(
      new ListObjectsV2Command({ Bucket: deps.bucket, Prefix: prefix, ContinuationToken: token, MaxKeys: pageKeys }),
      { abortSignal: deps.signal },
    );
    for (const { Key, Size, ETag, LastModified } of page.Contents ?? []) {
      if (Key === undefined) continue;
      yield { key: Key, sizeBytes: Size ?? 0, etag: ETag, modifiedAtMs: LastModified?.getTime() };
    }
    token = page.NextContinuationToken;
  } while (token !== undefined);
}

function toObject(deps: S3Deps, listed: ListedKey, isExplicit: boolean): StoredObject {
  return {
    kind: 'object',
    location: toShownName(`s3://${deps.bucket}/${listed.key}`),
    path: toMemberPath(toShownName(listed.key)),
    sizeBytes: listed.sizeBytes,
    modifiedAtMs: listed.modifiedAtMs,
    isExplicit,
    open: async (range) => {
      const { GetObjectCommand } = await import('@aws-sdk/client-s3');
      const { Body } = await deps.client.send(
        new GetObjectCommand({
          Bucket: deps.bucket,
          Key: listed.key,
          // Ranges of a zip that is replaced during the read would not fit together.
          IfMatch: listed.etag,
          Range: range && `bytes=${range.start}-${range.end - 1}`,
        }),
        { abortSignal: deps.signal },
      );
      if (!(Body instanceof Readable)) throw new SourceError('read-failed', 'S3 answered without a body');
      return addAbortSignal(deps.signal, Body);
    },
  };
}
