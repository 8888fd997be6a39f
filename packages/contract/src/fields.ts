import { isNewSessionId, MAX_SESSION_ID_LENGTH, SESSION_ID_RULE } from '@recount/core';
import { z } from 'zod';

export const MAX_PATH_LENGTH = 4096;

/** A text to compare with stored ones. Postgres does not store NUL, so it is rejected. */
export const text = (maxLength: number) =>
  z
    .string()
    .min(1)
    .max(maxLength)
    .refine((value) => !value.includes('\0'), 'NUL characters are not allowed');

/** A text that people see on one line. */
export const singleLine = (maxLength: number) =>
  text(maxLength).refine(
    (value) => !/[\p{Cc}\u2028\u2029]/u.test(value) && value.trim() === value,
    'One line, without spaces at its ends',
  );

/** The name of a budget, digest or destination. */
export const titleField = singleLine(100).describe('What people call it; unique in the workspace');

const sessionIdText =
  'Session id, as the agent gave it; a sub-agent has its own, made of its parent session and its agent id';

/** In requests. */
export const sessionIdParameter = text(MAX_SESSION_ID_LENGTH).describe(sessionIdText);

/** In requests that may begin a session. */
export const newSessionIdParameter = sessionIdParameter.refine(isNewSessionId, SESSION_ID_RULE);

/** In answers. */
export const sessionIdField = z.string().describe(sessionIdText);

export const transcriptIdField = z
  .string()
  .regex(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/, 'Not a ULID')
  .describe('Transcript id, a ULID');

export const sha256Field = z
  .string()
  .regex(/^[0-9a-f]{64}$/, 'Not a SHA-256 in lower-case hexadecimal')
  .describe('SHA-256 of the decoded bytes, in lower-case hexadecimal');

/** In answers. Not validated, because a page must not fail because of one odd row. */
export const timestampField = z.string().meta({ format: 'date-time', description: 'ISO 8601, UTC, with milliseconds' });

export const countField = z.int().min(0);

const isoSchema = z.union([z.iso.datetime({ offset: true }), z.iso.date()]);
const EARLIEST_MS = Date.UTC(1900, 0, 1);
const END_MS = Date.UTC(10_000, 0, 1);

/** In a query, a date (interpreted in a time zone) or a moment. */
export const dateOrMomentField = z
  .string()
  .refine((value) => {
    const ms = isoSchema.safeParse(value).success ? Date.parse(value) : Number.NaN;
    return ms >= EARLIEST_MS && ms < END_MS;
  }, 'Not a date, nor a date and time with Z or an offset, of the years 1900 to 9999')
  .meta({ examples: ['2026-01-31', '2026-01-31T12:00:00Z', '2026-01-31T12:00:00+02:00'] });

/** Like `dateOrMomentField`, converted to ISO 8601 in UTC: a date begins at midnight UTC. */
export const momentField = dateOrMomentField.transform((value) => new Date(value).toISOString());

/** `true` or `false` in a query. */
export const flagField = z.enum(['true', 'false']).transform((value) => value === 'true');

const MAX_NAME_LENGTH = 255;
/** Name of a machine or a person. */
export const nameText = text(MAX_NAME_LENGTH).refine(
  (value) => !/\p{Cc}/u.test(value),
  'Control characters are not allowed',
);

/** In requests. */
export const machineParameter = nameText.describe('Machine that the session ran on, as its uploader named it');
export const personParameter = nameText.describe('Person whose session it is, as the key or its uploader says');

/** In answers. */
export const machineField = z.string().nullable().describe('Machine that it came from; null if unknown');
export const personField = z
  .string()
  .nullable()
  .describe('Who has the name that it arrived under, as in reports, else that name; null if unknown');
export const sentPersonField = z
  .string()
  .nullable()
  .describe(
    'Name that it arrived under: the person of the API key that uploaded it, else the one named in the upload; null if unknown',
  );

/** The uploader of the bytes, as the id of an API key, or a word that is not one. */
export const uploaderField = z
  .string()
  .nullable()
  .describe(
    'Id of the API key that uploaded it first. `operator` means direct access to the database. `several` means a stream that several keys sent. Null if unknown, as it is from before 0.4 or lost its row',
  );

const DEFAULT_PAGE_LIMIT = 50;
const MAX_PAGE_LIMIT = 500;
const MAX_CURSOR_LENGTH = 2048;

/** Query parameters of every list. */
export const pageQueryFields = {
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(MAX_PAGE_LIMIT)
    .default(DEFAULT_PAGE_LIMIT)
    .describe(`Rows on a page, 1 to ${MAX_PAGE_LIMIT}`),
  cursor: z
    .string()
    .max(MAX_CURSOR_LENGTH)
    .regex(/^[A-Za-z0-9_-]+$/, 'Not a cursor of this API')
    .optional()
    .describe('`next_cursor` of the previous page; keep the rest of the query unchanged'),
};

export const nextCursorField = z
  .string()
  .nullable()
  .describe('Opaque; give it back as `cursor` for the next page. Null on the last page');
