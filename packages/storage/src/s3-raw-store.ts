import { Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  type AbortMultipartUploadCommandInput,
  DeleteObjectCommand,
  GetObjectCommand,
  type GetObjectCommandOutput,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  type ListMultipartUploadsCommandOutput,
  type MultipartUpload,
  paginateListObjectsV2,
  type S3Client,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { createCheckedDownload } from './checked-download.ts';
import { type UndescribedStore, withDescriptions } from './described-objects.ts';
import {
  assertKeyPrefix,
  assertObjectKey,
  isObjectKey,
  parseRawObjectKey,
  parseRedactedObjectKey,
  parseStreamObjectKey,
} from './raw-object-key.ts';
import {
  assertByteRange,
  type ByteRange,
  type NewObject,
  type RawObjectInfo,
  type RawStore,
  RawStoreError,
} from './raw-store.ts';
import { createS3Client, type S3ClientOptions } from './s3-client.ts';
import { isS3Error, toS3Error, withS3Errors } from './s3-errors.ts';
import { settleWithLimit } from './settle-with-limit.ts';
import { writeBody } from './write-body.ts';

/**
 * The bucket's unfinished multipart uploads under the key prefix, page by page, because the SDK has no paginator for
 * them.
 */
async function* listMultipartUploads(
  client: S3Client,
  Bucket: string,
  Prefix: string,
): AsyncGenerator<MultipartUpload> {
  let position: { KeyMarker?: string; UploadIdMarker?: string } = {};
  for (;;) {
    const page: ListMultipartUploadsCommandOutput = await client.send(
      new ListMultipartUploadsCommand({ Bucket, Prefix, ...position }),
    );
    yield* page.Uploads ?? [];
    const { NextKeyMarker: KeyMarker, NextUploadIdMarker: UploadIdMarker } = page;
    // Otherwise a server that repeats its marker would be queried forever.
    if (!page.IsTruncated || !KeyMarker || !UploadIdMarker || UploadIdMarker === position.UploadIdMarker) return;
    position = { KeyMarker, UploadIdMarker };
  }
}

/**
 * The smallest part that S3 accepts. A put holds the parts in flight, the next one, and the copy that assembles it: 25
 * MiB.
 */
const PART_BYTES = 5 * 1024 * 1024;
const PARTS_IN_FLIGHT = 3;
/** Objects that `putAll` puts at a time. */
const OBJECTS_IN_FLIGHT = 16;
const READ_AHEAD_BYTES = 64 * 1024;
const CONTENT_TYPE = 'application/x-ndjson';

export interface S3RawStoreOptions extends S3ClientOptions {
  bucket: string;
  /** Prefixed to every key, with a slash in between. */
  prefix?: string | undefined;
  /** Defaults to the bucket's default encryption. */
  serverSideEncryption?: 'AES256' | 'aws:kms' | undefined;
}

/** Raw objects in a bucket of S3 or a compatible server. Throws `invalid-key` for an unsafe prefix. */
export const createS3RawStore = (options: S3RawStoreOptions): RawStore => withDescriptions(new S3Objects(options));

class S3Objects implements UndescribedStore {
  readonly #client: S3Client;
  readonly #bucket: string;
  readonly #keyPrefix: string;
  readonly #serverSideEncryption: S3RawStoreOptions['serverSideEncryption'];

  constructor(options: S3RawStoreOptions) {
    this.#client = createS3Client(options);
    this.#bucket = options.bucket;
    this.#keyPrefix = options.prefix ? `${options.prefix}/` : '';
    this.#serverSideEncryption = options.serverSideEncryption;
    assertKeyPrefix(this.#keyPrefix);
  }

  async put(
    key: string,
    body: AsyncIterable<Uint8Array>,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<{ sizeBytes: number }> {
    const object = this.#at(key);
    const sizeBytes = await writeBody(body, signal, (chunks, bytesRead) =>
      withS3Errors(key, signal, async () => {
        await upload(this.#client, this.#serverSideEncryption, object, chunks).catch(async (error: unknown) => {
          // The answer to an earlier, successful attempt was lost. The SDK's retry then finds no such upload.
          const isComplete = isS3Error(error, 'NoSuchUpload') && (await this.stat(key))?.sizeBytes === bytesRead();
          if (!isComplete) throw error;
        });
        if (!signal?.aborted) return;
        await this.delete(key);
        throw signal.reason;
      }),
    );
    return { sizeBytes };
  }

  putAll(objects: readonly NewObject[]): Promise<PromiseSettledResult<{ sizeBytes: number }>[]> {
    return settleWithLimit(objects, OBJECTS_IN_FLIGHT, ({ key, body, signal }) => this.put(key, body, { signal }));
  }

  async get(
    key: string,
    { range, signal }: { range?: ByteRange | undefined; signal?: AbortSignal | undefined } = {},
  ): Promise<Readable> {
    const object = this.#at(key);
    if (range) assertByteRange(range);
    signal?.throwIfAborted();
    const output = await withS3Errors(key, signal, () =>
      this.#client.send(new GetObjectCommand({ ...object, ...(range && { Range: toRangeHeader(range) }) }), {
        ...(signal && { abortSignal: signal }),
      }),
    );
    return createCheckedDownload(toBody(output, key, range), {
      expectedBytes: output.ContentLength,
      toError: (error) => toS3Error(error, key),
      signal,
    });
  }

  async stat(key: string): Promise<RawObjectInfo | undefined> {
    const object = this.#at(key);
    try {
      const output = await this.#client.send(new HeadObjectCommand(object));
      return toRawObjectInfo(key, output.ContentLength, output.LastModified);
    } catch (error) {
      const failure = toS3Error(error, key);
      if (failure.code === 'not-found') return undefined;
      throw failure;
    }
  }

  async delete(key: string): Promise<void> {
    const object = this.#at(key);
    try {
      await this.#client.send(new DeleteObjectCommand(object));
    } catch (error) {
      const failure = toS3Error(error, key);
      if (failure.code !== 'not-found') throw failure;
    }
  }

  async *list(prefix: string): AsyncGenerator<RawObjectInfo> {
    assertKeyPrefix(prefix);
    const where = { Bucket: this.#bucket, Prefix: this.#keyPrefix + prefix };
    try {
      for await (const page of paginateListObjectsV2({ client: this.#client }, where)) {
        for (const object of page.Contents ?? []) {
          const key = object.Key?.slice(this.#keyPrefix.length) ?? '';
          if (isObjectKey(key)) yield toRawObjectInfo(key, object.Size, object.LastModified);
        }
      }
    } catch (error) {
      throw toS3Error(error, `bucket ${this.#bucket}`);
    }
  }

  async abortStaleUploads(olderThanMs: number): Promise<number> {
    let aborted = 0;
    await withS3Errors(`bucket ${this.#bucket}`, undefined, async () => {
      const uploads = listMultipartUploads(this.#client, this.#bucket, this.#keyPrefix);
      for await (const { Key, UploadId, Initiated } of uploads) {
        // Other programs may have uploads in the bucket.
        const isOurs = Key !== undefined && isTranscriptKey(Key.slice(this.#keyPrefix.length));
        if (!isOurs || Initiated === undefined || Date.now() - Initiated.getTime() < olderThanMs) continue;
        aborted += await abortUpload(this.#client, { Bucket: this.#bucket, Key, UploadId });
      }
    });
    return aborted;
  }

  async readSpace(): Promise<undefined> {
    return undefined;
  }

  async close(): Promise<void> {
    this.#client.destroy();
  }

  #at(key: string): { Bucket: string; Key: string } {
    assertObjectKey(key);
    return { Bucket: this.#bucket, Key: this.#keyPrefix + key };
  }
}

/** The number aborted: 0 if the upload has ended since then. */
async function abortUpload(client: S3Client, multipartUpload: AbortMultipartUploadCommandInput): Promise<number> {
  try {
    await client.send(new AbortMultipartUploadCommand(multipartUpload));
    return 1;
  } catch (error) {
    if (isS3Error(error, 'NoSuchUpload')) return 0;
    throw error;
  }
}

/**
 * The signal is not passed to Upload, which would reject immediately on an abort, and then clean up or complete after
 * the caller has moved on. Instead, the chunks end the upload, which awaits the parts in flight, then aborts what it
 * began.
 */
async function upload(
  client: S3Client,
  serverSideEncryption: S3RawStoreOptions['serverSideEncryption'],
  object: { Bucket: string; Key: string },
  chunks: AsyncGenerator<Uint8Array>,
): Promise<void> {
  await new Upload({
    client,
    partSize: PART_BYTES,
    queueSize: PARTS_IN_FLIGHT,
    params: {
      ...object,
      Body: Readable.from(chunks, { objectMode: false, highWaterMark: READ_AHEAD_BYTES }),
      ContentType: CONTENT_TYPE,
      ...(serverSideEncryption && { ServerSideEncryption: serverSideEncryption }),
    },
  }).done();
}

/** True if the object may be large enough for a multipart upload. */
const isTranscriptKey = (key: string): boolean =>
  [parseRawObjectKey, parseRedactedObjectKey, parseStreamObjectKey].some((parse) => parse(key) !== undefined);

const toRangeHeader = ({ startByte, endByteExclusive }: ByteRange): string =>
  `bytes=${startByte}-${endByteExclusive === undefined ? '' : endByteExclusive - 1}`;

/** Throws if a server ignored the range and sends the whole object. */
function toBody(output: GetObjectCommandOutput, key: string, range: ByteRange | undefined): Readable {
  const body = output.Body;
  if (!(body instanceof Readable)) throw new RawStoreError('unavailable', `S3: no body for ${key}`);
  if (range && !output.ContentRange?.startsWith(`bytes ${range.startByte}-`)) {
    body.destroy();
    throw new RawStoreError('unavailable', `S3: the answer for ${key} is not of the byte range asked for`);
  }
  return body;
}

function toRawObjectInfo(key: string, sizeBytes: number | undefined, modifiedAt: Date | undefined): RawObjectInfo {
  if (sizeBytes === undefined || modifiedAt === undefined) {
    throw new RawStoreError('unavailable', `S3: no size or modification time for ${key}`);
  }
  return { key, sizeBytes, modifiedAtMs: modifiedAt.getTime() };
}
