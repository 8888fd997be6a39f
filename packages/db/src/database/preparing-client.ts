import pg from 'pg';

/** Further ones are not prepared: a connection keeps each, with its plan, in some ten KB of the server's memory. */
const MAX_PREPARED_STATEMENTS = 200;

/**
 * A class of connections that prepare each statement with parameters from its second time on. Postgres then parses it once a
 * connection, and plans it again only until it finds that one plan serves all parameters: of short statements, planning is
 * most of what they cost. For programs that run the same statements over and over.
 */
export function createPreparingClient(): typeof pg.Client {
  /** By text; undefined for one that was seen once. */
  const names = new Map<string, string | undefined>();
  let preparedCount = 0;
  const toName = (text: string): string | undefined => {
    const isKnown = names.has(text);
    if (isKnown && names.get(text) === undefined) names.set(text, `recount_${++preparedCount}`);
    if (!isKnown && names.size < MAX_PREPARED_STATEMENTS) names.set(text, undefined);
    return names.get(text);
  };
  const withName = (config: unknown, values: unknown): unknown => {
    const isUnnamed = typeof config === 'object' && config !== null && 'text' in config && !('submit' in config);
    if (!isUnnamed || !Array.isArray(values) || values.length === 0) return config;
    return { ...config, name: toName(String(config.text)) };
  };
  return class extends pg.Client {
    // Its many forms differ in their types alone.
    override query(...[config, values, ...rest]: unknown[]): never {
      return super.query(...([withName(config, values), values, ...rest] as unknown as [string])) as never;
    }
  };
}
