import { z } from 'zod';

/** Postgres stores no NUL; everything else a text may hold is allowed. */
export const text = (maxLength: number) =>
  z
    .string()
    .min(1)
    .max(maxLength)
    .refine((value) => !value.includes('\0'), 'NUL characters are not allowed');

export const MAX_SESSION_ID_LENGTH = 512;
export const MAX_PATH_LENGTH = 4096;

export const sessionId = text(MAX_SESSION_ID_LENGTH).describe(
  'Session id as the agent gave it; a sub-agent has its own, made of its parent session and agent id',
);

export const transcriptId = z
  .string()
  .regex(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/, 'Not a transcript id (ULID)')
  .describe('Transcript id, a ULID')
  .meta({ examples: ['01JCZ8Q4M2V7T3N5R9W0XYABCD'] });

export const sha256 = z
  .string()
  .regex(/^[0-9a-f]{64}$/, 'Not a SHA-256 in lower-case hexadecimal')
  .describe('SHA-256 of the decoded bytes, in lower-case hexadecimal');

export const timestamp = z.iso.datetime().describe('ISO 8601, UTC, with milliseconds');

export const count = z.int().min(0);

const EARLIEST_MS = Date.UTC(1900, 0, 1);
const LATEST_MS = Date.UTC(9999, 11, 31);

/** A moment in a query: a date (midnight UTC), or a date and time with `Z` or an offset. Gives ISO 8601 in UTC. */
export const moment = z.union([z.iso.datetime({ offset: true }), z.iso.date()]).overwrite((value) => {
  const ms = Date.parse(value);
  return ms >= EARLIEST_MS && ms < LATEST_MS ? new Date(ms).toISOString() : value;
});

/** `true` or `false` in a query. */
export const flag = z.enum(['true', 'false']).transform((value) => value === 'true');
