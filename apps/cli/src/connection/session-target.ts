import { Readable } from 'node:stream';
import { constants, createZstdCompress } from 'node:zlib';
import {
  type AttachmentDelivery,
  DeliveryError,
  type SessionDelivery,
  type SessionReceipt,
  type SessionTarget,
} from '@recount/collect';
import { BackfillTargetError } from '@recount/collect/delivery-target';
import { type AttachmentReceipt, MAX_PATH_LENGTH, type UploadReceipt } from '@recount/contract';
import type { ApiClient } from './api-client.ts';

export interface SessionOrigin {
  machine: string;
  person: string | null;
}

/** The fastest level that compresses transcripts well enough, to a fifth of their size. */
const ZSTD_LEVEL = 3;
const CONTENT_TYPE = 'application/x-ndjson';

/** Sends session files to a recount API: only the addition to a transcript that it has, else the whole file. */
export function createSessionTarget(client: ApiClient, { machine, person }: SessionOrigin): SessionTarget {
  const toQuery = ({ path, agent }: SessionDelivery) => ({
    // The end of a path identifies the transcript.
    ...{ path: path.slice(-MAX_PATH_LENGTH), agent, machine },
    person: person ?? undefined,
  });

  const sendWhole = async (delivery: SessionDelivery, signal: AbortSignal | undefined): Promise<SessionReceipt> => {
    const { sizeBytes, sha256, encoding, open } = delivery;
    const digest = `sha-256=:${Buffer.from(sha256, 'hex').toString('base64')}:`;
    const receipt = await client.request<UploadReceipt>('/v1/transcripts', {
      method: 'POST',
      query: toQuery(delivery),
      headers: {
        'content-type': CONTENT_TYPE,
        'content-encoding': encoding ?? 'zstd',
        // For a compressed file, the digest covers the bytes sent.
        [encoding === undefined ? 'unencoded-digest' : 'content-digest']: digest,
      },
      body: encoding === undefined ? compress(open(0)) : open(0),
      signal,
    });
    return toReceipt(receipt, sizeBytes);
  };

  /** Undefined if the server has different bytes, or cannot continue the transcript. */
  const sendAdded = async (
    delivery: SessionDelivery,
    base: NonNullable<SessionDelivery['base']>,
    signal: AbortSignal | undefined,
  ): Promise<SessionReceipt | undefined> => {
    try {
      const receipt = await client.request<UploadReceipt>(`/v1/transcripts/${base.transcriptId}`, {
        method: 'PATCH',
        query: toQuery(delivery),
        headers: {
          'content-type': CONTENT_TYPE,
          'content-encoding': 'zstd',
          'recount-offset': String(base.sizeBytes),
          'recount-sha256': delivery.sha256,
        },
        body: compress(delivery.open(base.sizeBytes)),
        signal,
      });
      return receipt && toReceipt(receipt, delivery.sizeBytes - base.sizeBytes);
    } catch (error) {
      const { code, cause, isBusy } = error as BackfillTargetError;
      // Without a cause it is the server's answer, and it may accept the whole file, but not while it is busy.
      if (code === 'rejected' || (code === 'unavailable' && cause === undefined && !isBusy)) return undefined;
      throw error;
    }
  };

  return {
    async sendAttachment(delivery, signal) {
      try {
        const receipt = await sendAttachment(client, delivery, { machine, person: person ?? undefined }, signal);
        return { attachmentId: receipt.attachment.id, isDuplicate: receipt.outcome !== 'stored' };
      } catch (error) {
        if (!(error instanceof BackfillTargetError)) throw error;
        throw toDeliveryError(error);
      }
    },
    async send(delivery, signal) {
      try {
        const added = delivery.base && (await sendAdded(delivery, delivery.base, signal));
        return added ?? (await sendWhole(delivery, signal));
      } catch (error) {
        if (!(error instanceof BackfillTargetError)) throw error;
        throw toDeliveryError(error);
      }
    },
  };
}

const DEFAULT_BUSY_MS = 2000;

function toDeliveryError(error: BackfillTargetError): DeliveryError {
  const { code, message, isBusy, retryAfterMs = DEFAULT_BUSY_MS } = error;
  return new DeliveryError(code, message, { cause: error, busyMs: isBusy ? retryAfterMs : undefined });
}

/** Rejects with a BackfillTargetError. */
export async function sendAttachment(
  client: ApiClient,
  { agent, sessionId, path, modifiedAtMs, sha256, open }: AttachmentDelivery,
  origin: { machine?: string | undefined; person?: string | undefined },
  signal: AbortSignal | undefined,
): Promise<AttachmentReceipt> {
  const receipt = await client.request<AttachmentReceipt>(`/v1/sessions/${encodeURIComponent(sessionId)}/attachments`, {
    method: 'PUT',
    query: { ...origin, agent, path, modified_at: new Date(modifiedAtMs).toISOString() },
    headers: {
      'content-type': 'application/octet-stream',
      'content-encoding': 'zstd',
      'unencoded-digest': `sha-256=:${Buffer.from(sha256, 'hex').toString('base64')}:`,
    },
    body: compress(open()),
    signal,
  });
  if (receipt === undefined) throw new BackfillTargetError('rejected', 'The server is too old for attachments');
  return receipt;
}

function toReceipt(receipt: UploadReceipt | undefined, sentBytes: number): SessionReceipt {
  if (receipt === undefined) throw new BackfillTargetError('denied', 'The server accepts no uploads');
  return { transcriptId: receipt.transcript_id, isDuplicate: receipt.duplicate, sentBytes };
}

function compress(bytes: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  const source = Readable.from(bytes, { objectMode: false });
  const compressed = createZstdCompress({ params: { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL } });
  source.on('error', (error) => compressed.destroy(error));
  compressed.on('close', () => source.destroy());
  return source.pipe(compressed);
}
