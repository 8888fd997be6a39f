import { createHash } from 'node:crypto';
import { pipeline } from 'node:stream';
import { constants, createZstdCompress } from 'node:zlib';
import type {
  AttachmentDelivery,
  AttachmentReceipt,
  DeliveryTarget,
  StoredTranscript,
  TranscriptDelivery,
  TranscriptReceipt,
} from '@recount/collect';
import { DeliveryError } from '@recount/collect/delivery-error';
import {
  type AttachmentList,
  type AttachmentReceipt as AttachmentUploadReceipt,
  MAX_PATH_LENGTH,
  type SearchResultList,
  type Transcript,
  type TranscriptList,
  type UploadReceipt,
} from '@recount/contract';
import { UsageError } from '../terminal/cli-error.ts';
import type { ApiClient, ApiRequest } from './api-client.ts';
import { listPages } from './list-pages.ts';

const LOOPBACK_HOSTS = new Set(['127.0.0.1', 'localhost', '[::1]']);
const PENDING_PAGE_LIMIT = 100;
const ATTACHMENT_PAGE_LIMIT = 500;
/** Any search. Every answer states what is not indexed yet. */
const ANY_SEARCH = { q: 'recount', limit: 1 };
/** The fastest level that compresses transcripts well enough, to a fifth of their size. */
const ZSTD_LEVEL = 3;
const CONTENT_TYPE = 'application/x-ndjson';

/** The machine that transcripts come from, and whose they are, if known. */
export interface UploadOrigin {
  machine?: string | undefined;
  person?: string | undefined;
}

/** Uploads transcripts and attachments to a recount API. */
export function createHttpTarget(client: ApiClient, origin: UploadOrigin = {}): DeliveryTarget {
  return new HttpTarget(client, origin);
}

class HttpTarget implements DeliveryTarget {
  readonly #client: ApiClient;
  readonly #origin: UploadOrigin;
  readonly #isNear: boolean;

  constructor(client: ApiClient, { machine, person }: UploadOrigin) {
    this.#client = client;
    this.#origin = { machine, person };
    this.#isNear = LOOPBACK_HOSTS.has(new URL(client.place.url).hostname);
  }

  async find({ sessionId, sha256 }: { sessionId: string; sha256: string }, signal: AbortSignal | undefined) {
    const query = { session_id: sessionId, sha256, limit: 1 };
    const list = await this.#client.request<TranscriptList>('/v1/transcripts', { query, signal });
    const transcript = list?.transcripts[0];
    // Older servers do not report it.
    const isDamaged = (transcript?.raw_damaged_at ?? null) !== null;
    return transcript === undefined || isDamaged ? undefined : toStoredTranscript(transcript);
  }

  async send(delivery: TranscriptDelivery, signal: AbortSignal | undefined): Promise<TranscriptReceipt> {
    const added = delivery.base && (await this.#sendAdded(delivery, delivery.base, signal));
    const receipt = added ?? (await this.#sendWhole(delivery, signal));
    const { transcript_id: transcriptId, session_id: sessionId, status, duplicate: isDuplicate } = receipt;
    return {
      transcript: { transcriptId, sessionId, status, failureReason: null },
      isDuplicate,
      isHealed: receipt.raw_object === 'healed',
      sentFromByte: added === undefined ? 0 : (delivery.base?.sizeBytes ?? 0),
    };
  }

  async #sendWhole(delivery: TranscriptDelivery, signal: AbortSignal | undefined): Promise<UploadReceipt> {
    const receipt = await this.#client.request<UploadReceipt>('/v1/transcripts', {
      method: 'POST',
      query: this.#toQuery(delivery),
      ...toBody(delivery.open(0), { ...delivery, contentType: CONTENT_TYPE, isNear: this.#isNear }),
      signal,
    });
    if (receipt === undefined) throw new DeliveryError('denied', `${this.#client.place.url} accepts no uploads`);
    return receipt;
  }

  /** Undefined if the server has different bytes, or cannot continue the transcript. */
  async #sendAdded(
    delivery: TranscriptDelivery,
    { transcriptId, sizeBytes }: NonNullable<TranscriptDelivery['base']>,
    signal: AbortSignal | undefined,
  ): Promise<UploadReceipt | undefined> {
    try {
      return await this.#client.request<UploadReceipt>(`/v1/transcripts/${transcriptId}`, {
        method: 'PATCH',
        query: this.#toQuery(delivery),
        headers: {
          'content-type': CONTENT_TYPE,
          ...(!this.#isNear && { 'content-encoding': 'zstd' }),
          'recount-offset': String(sizeBytes),
          'recount-sha256': delivery.sha256 ?? '',
        },
        body: this.#isNear ? delivery.open(sizeBytes) : compress(delivery.open(sizeBytes)),
        signal,
      });
    } catch (error) {
      if (error instanceof DeliveryError && mayAcceptWhole(error)) return undefined;
      throw error;
    }
  }

  // The end of a path identifies the transcript.
  #toQuery({ path, agent, repository, worktree }: TranscriptDelivery) {
    return { ...this.#origin, agent, repository, worktree, path: path.slice(-MAX_PATH_LENGTH) };
  }

  async readStatuses(ids: readonly string[], signal: AbortSignal | undefined): Promise<StoredTranscript[]> {
    const findPending = await readPending(this.#client, signal);
    const found: StoredTranscript[] = [];
    for (const id of ids) {
      const pending = findPending(id);
      if (pending !== undefined) {
        found.push(pending);
        continue;
      }
      const transcript = await this.#client.request<Transcript>(`/v1/transcripts/${id}`, { signal });
      if (transcript !== undefined) found.push(toStoredTranscript(transcript));
    }
    return found;
  }

  async countUnindexed(signal: AbortSignal | undefined): Promise<number> {
    try {
      const list = await this.#client.request<SearchResultList>('/v1/search', { query: ANY_SEARCH, signal });
      return list?.waiting_sessions ?? 0;
    } catch (error) {
      // Keys that see no texts of others cannot search them, and so need not wait for the index.
      if (error instanceof DeliveryError && error.code === 'denied') return 0;
      throw error;
    }
  }

  async listAttachments(sessionId: string, signal: AbortSignal | undefined): Promise<ReadonlySet<string>> {
    const contents = new Set<string>();
    for await (const { attachments } of listPages((cursor) => listPage(this.#client, sessionId, cursor, signal))) {
      for (const { path, sha256 } of attachments) contents.add(`${path}/${sha256}`);
    }
    return contents;
  }

  async sendAttachment(
    { agent, sessionId, path, modifiedAtMs, sha256, open }: AttachmentDelivery,
    signal: AbortSignal | undefined,
  ): Promise<AttachmentReceipt> {
    const receipt = await this.#client.request<AttachmentUploadReceipt>(toAttachmentsPath(sessionId), {
      method: 'PUT',
      query: { ...this.#origin, agent, path, modified_at: new Date(modifiedAtMs).toISOString() },
      ...toBody(open(), { sha256, contentType: 'application/octet-stream', isNear: this.#isNear }),
      signal,
    });
    if (receipt === undefined) throw new DeliveryError('rejected', 'The server is too old for attachments');
    return { attachmentId: receipt.attachment.id, outcome: receipt.outcome };
  }
}

/** Without a cause, the error is the server's answer, and it may accept the whole file, but not while it is busy. */
function mayAcceptWhole({ code, cause, isBusy }: DeliveryError): boolean {
  return code === 'rejected' || code === 'mismatch' || (code === 'unavailable' && cause === undefined && !isBusy);
}

const toAttachmentsPath = (sessionId: string): string => `/v1/sessions/${encodeURIComponent(sessionId)}/attachments`;

/** Undefined if there are none, or the key may only write. Then all are sent, and existing ones are duplicates. */
async function listPage(
  client: ApiClient,
  sessionId: string,
  cursor: string | undefined,
  signal: AbortSignal | undefined,
): Promise<AttachmentList | undefined> {
  const query = { limit: ATTACHMENT_PAGE_LIMIT, cursor };
  try {
    return await client.request<AttachmentList>(toAttachmentsPath(sessionId), { query, signal });
  } catch (error) {
    // The name of an unknown session.
    if (error instanceof UsageError) return undefined;
    if (error instanceof DeliveryError && error.code === 'denied') return undefined;
    throw error;
  }
}

/**
 * One request lists the transcripts waiting for a worker, so that only the others are queried. The list is sorted
 * oldest first, so everything after its first page counts as waiting too.
 */
async function readPending(
  client: ApiClient,
  signal: AbortSignal | undefined,
): Promise<(id: string) => StoredTranscript | undefined> {
  const query = { status: ['queued', 'processing'], limit: PENDING_PAGE_LIMIT };
  const list = await client.request<TranscriptList>('/v1/transcripts', { query, signal });
  const pending = new Map(list?.transcripts.map((transcript) => [transcript.id, toStoredTranscript(transcript)]));
  const last = list?.next_cursor == null ? undefined : list.transcripts.at(-1)?.id;
  return (id) => {
    const isBehind = last !== undefined && id > last;
    return (
      pending.get(id) ??
      (isBehind ? { transcriptId: id, sessionId: '', status: 'queued', failureReason: null } : undefined)
    );
  };
}

function toStoredTranscript({ id, session_id, status, failure_reason }: Transcript): StoredTranscript {
  return { transcriptId: id, sessionId: session_id, status, failureReason: failure_reason };
}

/**
 * The body of an upload with its digest, compressed, unless the bytes are already or the server is on this machine. A
 * digest that is not known before follows the body.
 */
function toBody(
  bytes: AsyncIterable<Uint8Array>,
  about: { sha256: string | undefined; encoding?: string | undefined; contentType: string; isNear: boolean },
): Pick<ApiRequest, 'headers' | 'body' | 'trailers'> {
  const isSentAsIs = about.isNear || about.encoding !== undefined;
  // Content-Digest covers the bytes sent; the bytes of a body that is compressed on the way are not known in advance.
  const field = isSentAsIs ? 'content-digest' : 'unencoded-digest';
  const encoding = about.encoding ?? (about.isNear ? undefined : 'zstd');
  const headers = {
    'content-type': about.contentType,
    ...(encoding !== undefined && { 'content-encoding': encoding }),
  };
  const { sha256 } = about;
  if (sha256 !== undefined) {
    const digest = toDigest(Buffer.from(sha256, 'hex'));
    return { headers: { ...headers, [field]: digest }, body: isSentAsIs ? bytes : compress(bytes) };
  }
  const { body, trailers } = withDigest(bytes, field);
  return { headers: { ...headers, trailer: field }, body: isSentAsIs ? body : compress(body), trailers };
}

/** The format of RFC 9530. */
const toDigest = (sha256: Buffer): string => `sha-256=:${sha256.toString('base64')}:`;

/** The bytes, unchanged; their digest is complete once they have been sent. */
function withDigest(body: AsyncIterable<Uint8Array>, field: string) {
  const hash = createHash('sha256');
  async function* hashed(): AsyncGenerator<Uint8Array> {
    for await (const chunk of body) {
      hash.update(chunk);
      yield chunk;
    }
  }
  return { body: hashed(), trailers: () => ({ [field]: toDigest(hash.digest()) }) };
}

/** Errors of `body` destroy the result, and with it the request. */
function compress(body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  const compressor = createZstdCompress({ params: { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL } });
  return pipeline(body, compressor, () => undefined);
}
