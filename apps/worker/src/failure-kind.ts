/** What a failure reason begins with: an SQLSTATE, or the name of an error. */
const KIND = /^(?:Postgres error ([0-9A-Z]{5})|([A-Za-z]{1,60}))(?::|$)/;

/** The kind of a failure for counting, e.g. `postgres-23505` or `RawStoreError`: few, and nothing of a transcript. */
export function toFailureKind(reason: string): string {
  const [, state, name] = KIND.exec(reason) ?? [];
  return state === undefined ? (name ?? 'unknown') : `postgres-${state}`;
}
