import { createHash } from 'node:crypto';
import { pipeline } from 'node:stream';
import { constants, createGzip } from 'node:zlib';
import { type BackfillTarget, BackfillTargetError, type StoredTranscript } from '@recount/collect';
import {
  MAX_PATH_LENGTH,
  type SearchResultList,
  type Transcript,
  type TranscriptList,
  type UploadReceipt,
} from '@recount/contract';
import type { ApiClient } from './api-client.ts';

const LOOPBACK_HOSTS = new Set(['127.0.0.1', 'localhost', '[::1]']);
const PENDING_PAGE_LIMIT = 100;
/** Any search: every answer states what is not indexed yet. */
const ANY_SEARCH = { q: 'recount', limit: 1 };

/** The machine that transcripts come from, and whose they are, if known. */
export interface UploadOrigin {
  machine?: string | undefined;
  person?: string | undefined;
}

/** Uploads transcripts to a recount API. */
export function createApiTarget(client: ApiClient, origin: UploadOrigin = {}): BackfillTarget {
  const isNear = LOOPBACK_HOSTS.has(new URL(client.place.url).hostname);
  return {
    async find({ sessionId, sha256 }, signal) {
      const query = { session_id: sessionId, sha256, limit: 1 };
      const list = await client.request<TranscriptList>('/v1/transcripts', { query, signal });
      const transcript = list?.transcripts[0];
      // Older servers do not report it.
      const isDamaged = (transcript?.raw_damaged_at ?? null) !== null;
      return transcript === undefined || isDamaged ? undefined : toStoredTranscript(transcript);
    },
    async receive({ path, open, sha256 }, signal) {
      // Content-Digest would cover the compressed bytes, which are not known in advance.
      const digestField = isNear ? 'content-digest' : 'unencoded-digest';
      const { body, trailers } =
        sha256 === undefined ? withDigest(open(), digestField) : { body: open(), trailers: undefined };
      const receipt = await client.request<UploadReceipt>('/v1/transcripts', {
        method: 'POST',
        // The end of a path identifies the transcript.
        query: { ...origin, path: path.slice(-MAX_PATH_LENGTH) },
        headers: {
          'content-type': 'application/x-ndjson',
          ...(!isNear && { 'content-encoding': 'gzip' }),
          ...(sha256 === undefined
            ? { trailer: digestField }
            : { [digestField]: toDigest(Buffer.from(sha256, 'hex')) }),
        },
        body: isNear ? body : compress(body),
        trailers,
        signal,
      });
      if (receipt === undefined) throw new BackfillTargetError('denied', `${client.place.url} accepts no uploads`);
      const { transcript_id: transcriptId, session_id: sessionId, status, duplicate: isDuplicate } = receipt;
      const transcript = { transcriptId, sessionId, status, failureReason: null };
      return { transcript, isDuplicate, isHealed: receipt.raw_object === 'healed' };
    },
    async readStatuses(ids, signal) {
      const findPending = await readPending(client, signal);
      const found: StoredTranscript[] = [];
      for (const id of ids) {
        const pending = findPending(id);
        if (pending !== undefined) {
          found.push(pending);
          continue;
        }
        const transcript = await client.request<Transcript>(`/v1/transcripts/${id}`, { signal });
        if (transcript !== undefined) found.push(toStoredTranscript(transcript));
      }
      return found;
    },
    async countUnindexed(signal) {
      const list = await client.request<SearchResultList>('/v1/search', { query: ANY_SEARCH, signal });
      return list?.waiting_sessions ?? 0;
    },
  };
}

/**
 * One request lists the transcripts waiting for a worker, so that only the others are queried. The list is sorted
 * oldest first: everything after its first page counts as waiting too.
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

/** The format of RFC 9530. */
const toDigest = (sha256: Buffer): string => `sha-256=:${sha256.toString('base64')}:`;

/** The bytes, unchanged; their digest is known once they have been sent. */
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
  return pipeline(body, createGzip({ level: constants.Z_BEST_SPEED }), () => undefined);
}
