import pg from 'pg';

/** Statements sent through drizzle, as production code sends them; a test's own SQL bypasses it. */
const recorded = new Set<string>();
const taken = new Set<string>();

const isOfDrizzle = (query: unknown): query is { text: string } =>
  typeof query === 'object' && query !== null && 'text' in query && 'types' in query && query.types !== undefined;

const IS_RECORDING = Symbol.for('recount.records-statements');

/** Starts recording statements. */
export function recordStatements(): void {
  const prototype = pg.Client.prototype as unknown as { query(...query: unknown[]): unknown; [IS_RECORDING]?: true };
  if (prototype[IS_RECORDING]) return;
  prototype[IS_RECORDING] = true;
  const { query: send } = prototype;
  prototype.query = function (this: pg.Client, ...query) {
    const [first] = query;
    if (isOfDrizzle(first)) recorded.add(first.text);
    return send.apply(this, query);
  };
}

/** New statements since the last call, each returned only once ever. */
export function takeStatements(): string[] {
  const statements = [...recorded].filter((text) => !taken.has(text));
  for (const text of statements) taken.add(text);
  recorded.clear();
  return statements;
}

/** Discards the statements since the last call. */
export function forgetStatements(): void {
  recorded.clear();
}
