type Row = Readonly<Record<string, unknown>>;

/** The value at a path such as `own.tokens_in`; undefined if there is none. */
export function readPath(row: Row, path: string): unknown {
  let value: unknown = row;
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Row)[name];
  }
  return value;
}
