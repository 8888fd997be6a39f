import pg from 'pg';

/**
 * Further statements are not prepared, because a connection keeps each one, with its plan, in about ten KB of server
 * memory.
 */
const MAX_PREPARED_STATEMENTS = 200;

/**
 * A class of connections that prepare each parameterised statement from its second use on. Postgres then parses it once
 * for each connection, and stops planning it once a generic plan is good enough. For short statements, planning is most
 * of the cost. For programs that run the same statements repeatedly.
 */
export function createPreparingClient(): typeof pg.Client {
  /** By text; undefined for a statement seen once. */
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
    // All of the overloads have these parameters.
    override query(...[config, values, ...rest]: unknown[]): never {
      return super.query(...([withName(config, values), values, ...rest] as unknown as [string])) as never;
    }
  };
}
