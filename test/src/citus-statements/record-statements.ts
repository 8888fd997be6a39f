import pg from 'pg';

/** Statements that were sent through drizzle, as production code sends them; a test's own SQL goes past it. */
const recorded = new Set<string>();
const taken = new Set<string>();

const isOfDrizzle = (query: unknown): query is { text: string } =>
  typeof query === 'object' && query !== null && 'text' in query && 'types' in query && query.types !== undefined;

const IS_RECORDING = Symbol.for('recount.records-statements');

/** Notes from now on what is sent. */
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

/** The statements that came since the last call and were never taken before. */
export function takeStatements(): string[] {
  const statements = [...recorded].filter((text) => !taken.has(text));
  for (const text of statements) taken.add(text);
  recorded.clear();
  return statements;
}

/** Takes no notice of the statements that came since the last call. */
export function forgetStatements(): void {
  recorded.clear();
}
