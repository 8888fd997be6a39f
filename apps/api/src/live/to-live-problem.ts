import { PROBLEMS, type ProblemSlug } from '@recount/contract';
import type { LiveError, LiveErrorCode } from '@recount/ingest';
import { ProblemError } from '../problems/problem-error.ts';

const SLUGS: Record<LiveErrorCode, ProblemSlug> = {
  'too-many-streams': 'too-many-streams',
  'wrong-session': 'invalid-request',
  'offset-mismatch': 'offset-mismatch',
  'different-bytes': 'stream-conflict',
  closed: 'stream-closed',
  'taken-over': 'stream-taken-over',
  'too-large': 'stream-too-large',
};

const RETRY_AFTER_SECONDS = '5';

export function toLiveProblem({ code, message, storedBytes }: LiveError): ProblemError {
  const slug = SLUGS[code];
  const headers: Record<string, string> = {};
  if (storedBytes !== undefined) headers['recount-offset'] = String(storedBytes);
  if (PROBLEMS[slug].status === 429) headers['retry-after'] = RETRY_AFTER_SECONDS;
  return new ProblemError(slug, message, { headers });
}
