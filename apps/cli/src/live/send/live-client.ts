import type { Readable } from 'node:stream';
import {
  LIVE_CHUNK_ENCODING,
  LIVE_MEDIA_TYPE,
  type LiveReceipt,
  PROBLEM_MEDIA_TYPE,
  type Problem,
  type ProblemSlug,
  toProblemSlug,
} from '@recount/contract';
import { type ApiPlace, toUrl } from '../../connection/api-client.ts';
import { type HttpAnswer, sendRequest } from '../../connection/send-request.ts';
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

/** One stream at one API. Every method rejects with a LiveSendError. */
export interface LiveClient {
  /** Bytes that the API has stored durably; 0 if it does not know the stream. */
  readOffset(signal: AbortSignal): Promise<number>;
  send(sending: LiveSending, signal: AbortSignal): Promise<LiveReceipt>;
}

/**
 * - `unavailable`: may succeed later
 * - `mismatch`: the API has a different number of bytes
 * - `denied`: the key lacks permission, or the server does not accept streams
 * - `closed`: the API has ended the stream, e.g. after a long silence
 * - `rejected`: this stream will not be accepted
 */
type LiveSendErrorCode = 'unavailable' | 'mismatch' | 'denied' | 'closed' | 'rejected';

export class LiveSendError extends Error {
  override name = 'LiveSendError';
  readonly code: LiveSendErrorCode;
  /** The number of bytes that the API has; set for `mismatch`. */
  readonly storedBytes: number | undefined;

  constructor(code: LiveSendErrorCode, message: string, options: { cause?: unknown; storedBytes?: number } = {}) {
    super(message, { cause: options.cause });
    this.code = code;
    this.storedBytes = options.storedBytes;
  }
}

const PASSING_STATUSES = new Set([408, 425, 429]);
/** 404: a server without this route. */
const DENIED_STATUSES = new Set([401, 403, 404]);
/**
 * Problems of a connection that broke off or was replaced: worth another attempt, although their statuses blame the
 * request.
 */
const PASSING_PROBLEMS: ReadonlySet<ProblemSlug | undefined> = new Set([
  'upload-aborted',
  'digest-mismatch',
  'broken-encoding',
  'stream-taken-over',
]);

export function createLiveClient({ url, key }: ApiPlace, name: LiveStreamName): LiveClient {
  const path = `/v1/sessions/${encodeURIComponent(name.sessionId)}/live`;
  const authorization = `Bearer ${key}`;
  const request = async (...[target, options]: Parameters<typeof sendRequest>): Promise<HttpAnswer> => {
    try {
      return await sendRequest(target, options);
    } catch (cause) {
      const { code, message } = (cause instanceof AggregateError ? cause.errors[0] : cause) as NodeJS.ErrnoException;
      throw new LiveSendError('unavailable', `${url} cannot be reached (${code ?? message})`, { cause });
    }
  };
  return {
    async readOffset(signal) {
      const target = toUrl(url, path, { stream: name.streamId });
      const answer = await request(target, { method: 'HEAD', headers: { authorization }, body: undefined, signal });
      if (answer.status === 404) return 0;
      if (answer.status !== 200) throw toSendError(answer, url);
      return toOffset(answer) ?? 0;
    },
    async send({ offset, body, isLast, end }, signal) {
      const answer = await request(toUrl(url, path, { agent: name.agent, source_format: name.sourceFormat }), {
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
      if (answer.status !== 200 && answer.status !== 201) throw toSendError(answer, url);
      const receipt = parseObject<LiveReceipt>(answer.text);
      if (!Number.isSafeInteger(receipt?.stored_bytes)) {
        throw new LiveSendError('denied', `${url} does not answer as a recount API does`);
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

function toSendError(answer: HttpAnswer, url: string): LiveSendError {
  const { status, headers, text } = answer;
  const problem = headers['content-type']?.startsWith(PROBLEM_MEDIA_TYPE) ? parseObject<Problem>(text) : undefined;
  const slug = problem && toProblemSlug(problem.type);
  const message = problem === undefined ? `${url} answers ${status}` : `${problem.title}: ${problem.detail}`;
  const storedBytes = toOffset(answer);
  if (slug === 'offset-mismatch' && storedBytes !== undefined) {
    return new LiveSendError('mismatch', message, { storedBytes });
  }
  if (slug === 'stream-closed') return new LiveSendError('closed', message);
  if (status >= 500 || PASSING_STATUSES.has(status) || PASSING_PROBLEMS.has(slug)) {
    return new LiveSendError('unavailable', message);
  }
  return new LiveSendError(DENIED_STATUSES.has(status) || problem === undefined ? 'denied' : 'rejected', message);
}

function toOffset({ headers }: HttpAnswer): number | undefined {
  const value = headers['recount-offset'];
  return typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : undefined;
}

function parseObject<T>(text: string): T | undefined {
  try {
    return (JSON.parse(text) ?? undefined) as T | undefined;
  } catch {
    // From a proxy, not recount.
    return undefined;
  }
}
