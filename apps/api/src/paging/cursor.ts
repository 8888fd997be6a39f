import type { ZodType } from 'zod';
import { ProblemError } from '../problems/problem-error.ts';

/** An opaque cursor that holds `value`. */
export function toCursor(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

/** What a cursor holds; undefined for none. Throws ProblemError `invalid-cursor` for what this list did not make. */
export function parseCursor<Value>(schema: ZodType<Value>, cursor: string | undefined): Value | undefined {
  if (cursor === undefined) return undefined;
  const result = schema.safeParse(parseJson(Buffer.from(cursor, 'base64url').toString()));
  if (!result.success) throw invalidCursor();
  return result.data;
}

export function invalidCursor(): ProblemError {
  return new ProblemError('invalid-cursor', 'Take next_cursor from an answer of this list, with the same parameters');
}

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
