import type { Readable } from 'node:stream';
import { DeliveryError } from '@recount/collect/delivery-error';
import { LIVE_CHUNK_ENCODING, LIVE_MEDIA_TYPE, type LiveReceipt } from '@recount/contract';
import { type ApiPlace, toUrl } from '../../connection/api-client.ts';
import { sendRequest } from '../../connection/send-request.ts';
import { readOffset, readProblem, toDeliveryError } from '../../connection/to-delivery-error.ts';
import type { StreamEnd } from '../spool/spool-folder.ts';

interface LiveStreamName {
  streamId: string;
  sessionId: string;
  /** Id of the agent. */
  agent: string;
  sourceFormat: string;
}

interface LiveSending {
  /** Offset of the body in the stream. */
  offset: number;
  body: Readable | undefined;
  /** The stream ends with these bytes; `end` says how, if known. */
  isLast: boolean;
  end: StreamEnd | null;
}

/** One stream at one API. Every method rejects with a DeliveryError. */
export interface LiveClient {
  /** Bytes that the API has stored durably; 0 if it does not know the stream. */
  readOffset(signal: AbortSignal): Promise<number>;
  send(sending: LiveSending, signal: AbortSignal): Promise<LiveReceipt>;
}

export function createLiveClient({ url, key }: ApiPlace, name: LiveStreamName): LiveClient {
  const path = `/v1/sessions/${encodeURIComponent(name.sessionId)}/live`;
  const authorization = `Bearer ${key}`;
  return {
    async readOffset(signal) {
      const target = toUrl(url, path, { stream: name.streamId });
      const answer = await sendRequest(target, { method: 'HEAD', headers: { authorization }, signal });
      if (answer.status === 404) return 0;
      if (answer.status !== 200) throw toDeliveryError(answer, url, readProblem(answer));
      return readOffset(answer) ?? 0;
    },
    async send({ offset, body, isLast, end }, signal) {
      const answer = await sendRequest(toUrl(url, path, { agent: name.agent, source_format: name.sourceFormat }), {
        method: 'POST',
        headers: {
          accept: 'application/json',
          authorization,
          'content-type': LIVE_MEDIA_TYPE,
          ...(body !== undefined && { 'content-encoding': LIVE_CHUNK_ENCODING }),
          'recount-stream': name.streamId,
          'recount-offset': String(offset),
          ...(isLast && toEndHeaders(end)),
        },
        body,
        signal,
      });
      if (answer.status !== 200 && answer.status !== 201) throw toDeliveryError(answer, url, readProblem(answer));
      const receipt = parseObject<LiveReceipt>(answer.text);
      if (!Number.isSafeInteger(receipt?.stored_bytes)) {
        throw new DeliveryError('denied', `${url} does not answer as a recount API does`);
      }
      return receipt as LiveReceipt;
    },
  };
}

function toEndHeaders(end: StreamEnd | null): Record<string, string> {
  const { exitCode = null, signal = null } = end ?? {};
  return {
    'recount-complete': '?1',
    ...(exitCode !== null && { 'recount-exit-code': String(exitCode) }),
    ...(signal !== null && { 'recount-exit-signal': signal }),
  };
}

function parseObject<T>(text: string): T | undefined {
  try {
    return (JSON.parse(text) ?? undefined) as T | undefined;
  } catch {
    // From a proxy, not recount.
    return undefined;
  }
}
