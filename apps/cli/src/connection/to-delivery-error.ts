import { DeliveryError } from '@recount/collect/delivery-error';
import type { Problem } from '@recount/contract';
import { PROBLEM_MEDIA_TYPE, type ProblemSlug, toProblemSlug } from '@recount/contract/problem-types';
import type { HttpAnswer } from './send-request.ts';

/** 404: a server without this route. */
const DENIED_STATUSES = new Set([401, 403, 404]);
const PASSING_STATUSES = new Set([408, 425, 429]);
/**
 * Problems of a connection that broke off, changed the bytes or was replaced. They are worth another attempt, although
 * their statuses blame the request.
 */
const PASSING_PROBLEMS: ReadonlySet<ProblemSlug | undefined> = new Set([
  'upload-aborted',
  'digest-mismatch',
  'broken-encoding',
  'stream-taken-over',
]);

/** The problem that an answer states; undefined if it is not from a recount API. */
export function readProblem({ headers, text }: Pick<HttpAnswer, 'headers' | 'text'>): Problem | undefined {
  if (headers['content-type']?.split(';')[0]?.trim() !== PROBLEM_MEDIA_TYPE) return undefined;
  try {
    return (JSON.parse(text) ?? undefined) as Problem | undefined;
  } catch {
    return undefined;
  }
}

/** The meaning of an unsuccessful answer for a delivery. `message` describes its problem to people. */
export function toDeliveryError(
  { status, headers }: Pick<HttpAnswer, 'status' | 'headers'>,
  url: string,
  problem: Problem | undefined,
  message = problem && `${problem.title}: ${problem.detail}`,
): DeliveryError {
  const slug = problem && toProblemSlug(problem.type);
  const text = message ?? `${url} answers ${status}`;
  const storedBytes = readOffset({ headers });
  const isOtherOffset = slug === 'offset-mismatch' && storedBytes !== undefined;
  if (isOtherOffset || slug === 'not-continued') return new DeliveryError('mismatch', text, { storedBytes });
  if (slug === 'stream-closed') return new DeliveryError('closed', text);
  if (PASSING_STATUSES.has(status) || status >= 500 || PASSING_PROBLEMS.has(slug)) {
    const retryAfterMs = toMilliseconds(headers['retry-after']);
    return new DeliveryError('unavailable', text, { retryAfterMs, isBusy: status === 429 });
  }
  if (problem === undefined) return new DeliveryError('denied', `${text}, not as a recount API does`);
  return new DeliveryError(DENIED_STATUSES.has(status) ? 'denied' : 'rejected', text);
}

/** The number of bytes that the API has of a stream, if the answer states it. */
export function readOffset({ headers }: Pick<HttpAnswer, 'headers'>): number | undefined {
  const value = headers['recount-offset'];
  return typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : undefined;
}

/** Parses seconds or a date. */
function toMilliseconds(retryAfter: string | undefined): number | undefined {
  if (retryAfter === undefined) return undefined;
  const ms = /^\d+$/.test(retryAfter) ? Number(retryAfter) * 1000 : Date.parse(retryAfter) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}
