import type { UploadReceipt } from '@recount/contract';
import { ApiError, request, toUrl } from '../../server-data/client.ts';
import { isReadable, type OpenedFile } from './open-files.ts';

export interface SendFailure {
  reason: string;
  /** `a person`: no file would be accepted before someone has seen to it. */
  helps: 'a pause' | 'a person' | 'choosing again' | 'nothing';
  retryAfterMs?: number | undefined;
}

/** The server is overloaded, restarting, or cannot be reached. */
const TEMPORARY: ReadonlySet<number> = new Set([0, 429, 502, 503, 504]);
const SIGNED_OUT = 401;
const STORE_FULL = 507;
const UNREADABLE: SendFailure = { reason: 'It changed or disappeared. Choose it again', helps: 'choosing again' };

/** Sends a transcript. Never rejects. */
export async function sendFile({
  path,
  body,
  encoding,
}: OpenedFile): Promise<{ receipt: UploadReceipt } | SendFailure> {
  if (body.size === 0) return (await isReadable(body)) ? { reason: 'It is empty', helps: 'nothing' } : UNREADABLE;
  try {
    const response = await request(toUrl('/v1/transcripts', {}, { path }), {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/x-ndjson', ...(encoding && { 'content-encoding': encoding }) },
    });
    return { receipt: (await response.json()) as UploadReceipt };
  } catch (error) {
    // An answer that breaks off is no answer: sending the same bytes again adds nothing.
    return await explain(error instanceof ApiError ? error : new ApiError(0, {}), body);
  }
}

async function explain({ status, message, retryAfterMs }: ApiError, body: Blob): Promise<SendFailure> {
  if (status === 0 && !(await isReadable(body))) return UNREADABLE;
  if (status === SIGNED_OUT) return { reason: 'You are signed out. Sign in, then send it again', helps: 'a person' };
  if (status === STORE_FULL) return { reason: message, helps: 'a person' };
  return { reason: message, helps: TEMPORARY.has(status) ? 'a pause' : 'nothing', retryAfterMs };
}
