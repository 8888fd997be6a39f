import type { IncomingMessage } from 'node:http';
import { CliError } from '../terminal/cli-error.ts';
import { type ApiPlace, type ApiRequest, readAnswer, toUrl } from './api-client.ts';
import { openRequest } from './send-request.ts';

const MAX_PROBLEM_BYTES = 1024 * 1024;

/**
 * Starts a download, which is read at the caller's pace; a broken one ends with an error. Rejects with a
 * DeliveryError for an unsuccessful status.
 */
export async function download(
  place: ApiPlace,
  path: string,
  { query = {}, signal }: Pick<ApiRequest, 'query' | 'signal'>,
): Promise<IncomingMessage> {
  const headers = { authorization: `Bearer ${place.key}` };
  const { response } = await openRequest(toUrl(place.url, path, query), { headers, signal });
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
