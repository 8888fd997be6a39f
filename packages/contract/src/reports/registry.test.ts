import { REPORT_SCHEMAS } from '@recount/contract';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { REPORT_KINDS } from './report-kinds.ts';

interface JsonSchema {
  properties?: Record<string, JsonSchema>;
  items?: JsonSchema;
}

const toJsonSchema = (schema: z.ZodType): JsonSchema =>
  z.toJSONSchema(schema, {
    unrepresentable: 'any',
    reused: 'inline',
    override: ({ jsonSchema }) => void delete jsonSchema.id,
  }) as JsonSchema;

/** The API's answers are validated against the same schemas: a column that names anything else would be empty. */
it.each(REPORT_KINDS.map((kind) => [kind.name, kind] as const))(
  '%s requests what the answer contains',
  (_name, kind) => {
    const json = resolveReferences(toJsonSchema(REPORT_SCHEMAS[kind.route].answer));
    const has = (schema: JsonSchema | undefined, path: string): boolean =>
      path.split('.').reduce<JsonSchema | undefined>((part, name) => part?.properties?.[name], schema) !== undefined;
    const rows = json.properties?.rows?.items;
    for (const { path, isOfRowsOnly } of kind.columns) {
      expect(has(rows, path), `${path} of a row`).toBe(true);
      if (!isOfRowsOnly) expect(has(json.properties?.totals, path), `${path} of the totals`).toBe(true);
    }
  },
);

function resolveReferences(root: JsonSchema & { $defs?: Record<string, JsonSchema> }): JsonSchema {
  const resolve = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(resolve);
    if (typeof value !== 'object' || value === null) return value;
    const reference = (value as { $ref?: string }).$ref;
    if (reference !== undefined) return resolve(root.$defs?.[reference.replace('#/$defs/', '')]);
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, resolve(each)]));
  };
  return resolve(root) as JsonSchema;
}
