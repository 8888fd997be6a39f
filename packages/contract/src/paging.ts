import { z } from 'zod';

export const DEFAULT_PAGE_LIMIT = 50;
export const MAX_PAGE_LIMIT = 500;
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
    .describe('`next_cursor` of the page before; leave everything else of the query as it was'),
};

export const nextCursorField = z
  .string()
  .nullable()
  .describe('Opaque; give it back as `cursor` for the next page. Null on the last page');
