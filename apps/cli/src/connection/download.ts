import { once } from 'node:events';
import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { CliError } from '../terminal/cli-error.ts';
import { type ApiPlace, type ApiRequest, readAnswer, toUrl } from './api-client.ts';

/** A download without progress for this long is aborted. */
const IDLE_TIMEOUT_MS = 120_000;
const MAX_PROBLEM_BYTES = 1024 * 1024;

/**
 * Starts a download, which is read at the caller's pace; a broken one ends with an error. Rejects with a
 * BackfillTargetError for an unsuccessful status.
 */
export async function download(
  place: ApiPlace,
  path: string,
  { query = {}, signal }: Pick<ApiRequest, 'query' | 'signal'>,
): Promise<IncomingMessage> {
  const url = toUrl(place.url, path, query);
  const send = url.protocol === 'https:' ? requestHttps : requestHttp;
  const headers = { authorization: `Bearer ${place.key}` };
  const request = send(url, { headers, timeout: IDLE_TIMEOUT_MS, ...(signal && { signal }) });
  request.on('timeout', () => request.destroy(new Error(`no data for ${IDLE_TIMEOUT_MS / 1000} s`)));
  request.end();
  let response: IncomingMessage;
  try {
    [response] = (await once(request, 'response')) as [IncomingMessage];
  } catch (cause) {
    signal?.throwIfAborted();
    const { code, message } = cause as NodeJS.ErrnoException;
    throw new CliError(`Cannot reach ${place.url} (${code ?? message})`, { cause });
  }
  if (response.statusCode === 200) return response;
  const text = await readProblem(response);
  readAnswer({ status: response.statusCode ?? 0, headers: response.headers, text }, place.url);
  throw new CliError(`${place.url} does not have this export. Is it an older version?`);
}

async function readProblem(response: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) {
    text += chunk;
    if (text.length > MAX_PROBLEM_BYTES) throw new CliError('The answer is too long.');
  }
  return text;
}
