import { UPLOAD_ENCODINGS, type UploadEncoding } from '@recount/contract';
import { ProblemError } from '../problems/problem-error.ts';

const ALIASES: Readonly<Record<string, UploadEncoding>> = { 'x-gzip': 'gzip' };
const ACCEPTED = UPLOAD_ENCODINGS.join(', ');

/**
 * The one encoding of a Content-Encoding header; undefined for none. Throws ProblemError `unsupported-encoding` for
 * unknown ones and for several on top of each other.
 */
export function parseContentEncoding(header: string | undefined): UploadEncoding | undefined {
  const names = (header ?? '')
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '' && name !== 'identity')
    .map((name) => ALIASES[name] ?? name);
  if (names.length === 0) return undefined;
  const encoding = UPLOAD_ENCODINGS.find((candidate) => candidate === names[0]);
  if (encoding === undefined || names.length > 1) {
    const detail = `Accepted is one of ${ACCEPTED}, or none`;
    throw new ProblemError('unsupported-encoding', detail, { headers: { 'accept-encoding': ACCEPTED } });
  }
  return encoding;
}
