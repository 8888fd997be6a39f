import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { sessionListQuerySchema } from '../sessions.ts';
import { REPORT_NAMES, REPORTS } from './registry.ts';
import type { ReportEntry } from './report-entry.ts';
import { REPORT_SCHEMAS } from './report-schemas.ts';

/** Finds the field at a path such as `own.tokens_in`. */
function hasPath(shape: z.ZodRawShape, path: string): boolean {
  const [name = '', ...rest] = path.split('.');
  const field = shape[name];
  if (field === undefined || rest.length === 0) return field !== undefined;
  const inner = field instanceof z.ZodNullable ? field.unwrap() : field;
  return inner instanceof z.ZodObject && hasPath(inner.shape, rest.join('.'));
}

function shapesOf(answer: z.ZodType): { row: z.ZodRawShape; totals: z.ZodRawShape } {
  if (!(answer instanceof z.ZodObject)) throw new TypeError('The answer is no object');
  const { rows, totals } = answer.shape as { rows: z.ZodArray<z.ZodObject>; totals: z.ZodObject };
  return { row: rows.element.shape, totals: totals.shape };
}

describe.each(REPORT_NAMES)('the report %s', (name) => {
  const { commands, groupBy, pages = [] }: ReportEntry = REPORTS[name];
  // Not by `shapes`: it would register the ids of its schemas once more, also for the tests of other files.
  const { row, totals } = shapesOf(REPORT_SCHEMAS[name].answer);

  it('has a column or a figure only for fields that the answer contains', () => {
    const shown = [...commands.flatMap(({ columns }) => columns), ...pages.flatMap(({ figures }) => figures)];
    for (const { path, isOfRowsOnly } of shown) {
      expect(hasPath(row, path), `${path} of a row`).toBe(true);
      if (!isOfRowsOnly) expect(hasPath(totals, path), `${path} of the totals`).toBe(true);
    }
  });

  it('links its rows to sessions by fields of the row and filters of the list of sessions', () => {
    for (const page of pages) {
      for (const field of [page.name, ...Object.values(page.filters)]) expect(row).toHaveProperty([field]);
      const query = Object.fromEntries(Object.keys(page.filters).map((filter) => [filter, 'x']));
      expect(sessionListQuerySchema.safeParse(query).error?.issues ?? []).toEqual([]);
    }
  });

  it('accepts the queries of its commands and pages', () => {
    const queries = [
      ...commands.map(({ by }) => (by === undefined ? {} : { group_by: by })),
      ...pages.flatMap(({ query = {}, trend }) => [query, trend?.query ?? {}]),
      ...(groupBy?.keys ?? []).map((key) => ({ group_by: key })),
    ];
    for (const query of queries) expect(REPORT_SCHEMAS[name].query.safeParse(query).error?.issues ?? []).toEqual([]);
  });

  it('names in its answer the keys that it is grouped by', () => {
    const { filters } = (REPORT_SCHEMAS[name].answer as unknown as z.ZodObject<{ filters: z.ZodObject }>).shape;
    for (const key of groupBy?.keys ?? []) {
      expect(filters.shape.group_by).toBeDefined();
      expect((filters.shape.group_by as z.ZodArray).safeParse([key]).error?.issues ?? []).toEqual([]);
    }
  });
});
