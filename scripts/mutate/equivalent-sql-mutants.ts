// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are lines of other files, with their templates.
import type { SqlMutant } from './sql-mutants.ts';

/** A change of SQL that no test can detect, because every answer stays the same. */
export interface EquivalentSqlMutant extends Pick<SqlMutant, 'original' | 'replacement'> {
  /** Relative to the root. */
  file: string;
  /** The changed source line, without its indentation; unlike a line number it survives changes above it. */
  sourceLine: string;
  /** Why no answer changes. */
  reason: string;
}

/** Neither tried nor counted. */
export const EQUIVALENT_SQL_MUTANTS: readonly EquivalentSqlMutant[] = [
  {
    file: 'packages/db/src/usage/ledger-definition.ts',
    sourceLine: 'JOIN ${transcripts} AS t ON t.workspace_id = e.workspace_id AND t.row_set_id = e.row_set_id`;',
    original: 't.workspace_id = e.workspace_id',
    replacement: 'true',
    reason: 'The id of a row set is of one workspace alone. Citus wants the workspace named.',
  },
  {
    file: 'packages/db/src/usage/settle-usage-ledger.ts',
    sourceLine: 'AND replaced.workspace_id = ${workspace} AND replaced.row_set_id = ${rowSetId}',
    original: 'replaced.workspace_id = ${workspace}',
    replacement: 'true',
    reason: 'The id of a row set is of one workspace alone.',
  },
  {
    file: 'packages/db/src/usage/settle-usage-ledger.ts',
    sourceLine:
      'AND replaced.call_number >= ${prefix.numbers.call}::int AND replaced.call_number < ${firstNewNumbers.call}::int',
    original: 'replaced.call_number >= ${prefix.numbers.call}::int',
    replacement: 'true',
    reason:
      'Of the calls of one key in a transcript the first counts: if an earlier one does not, no replaced one does.',
  },
  {
    file: 'packages/db/src/transcripts/replaced-usage.ts',
    sourceLine: 'WHERE workspace_id = ${workspaceId} AND row_set_id = ${rowSetId}) AS call`);',
    original: 'workspace_id = ${workspaceId}',
    replacement: 'true',
    reason: 'The id of a row set is of one workspace alone.',
  },
  {
    file: 'packages/db/src/sessions/touched-rows.ts',
    sourceLine:
      "SELECT DISTINCT agent, response_key FROM ${usageEntries} AS e WHERE ${isInvolved(change, 'e', 'entry')}",
    original: 'SELECT DISTINCT ',
    replacement: 'SELECT ',
    reason: 'Each is looked up twice then, and the buckets become a set.',
  },
  {
    file: 'packages/db/src/sessions/touched-rows.ts',
    sourceLine: 'WHERE workspace_id = ${workspace} AND agent = r.agent AND response_key = r.response_key OFFSET 0',
    original: 'AND',
    replacement: 'OR',
    reason: 'More buckets are made again than need be.',
  },
  {
    file: 'packages/db/src/sessions/touched-rows.ts',
    sourceLine:
      'SELECT * FROM ${toolCalls} WHERE workspace_id = ${workspace} AND response_key = r.response_key OFFSET 0',
    original: 'AND',
    replacement: 'OR',
    reason: 'More buckets are made again than need be.',
  },
  {
    file: 'packages/db/src/sessions/touched-rows.ts',
    sourceLine: 'SELECT DISTINCT (extract(epoch FROM ${BUCKET_START}) * 1000)::float8',
    original: 'SELECT DISTINCT ',
    replacement: 'SELECT ',
    reason: 'The buckets become a set. Where they are too many, all are made again.',
  },
];

/** The entry for this change of `source`, if it is listed as undetectable. */
export function findEquivalent(file: string, source: string, mutant: SqlMutant): EquivalentSqlMutant | undefined {
  const sourceLine = source.split('\n')[mutant.line - 1]?.trim();
  return EQUIVALENT_SQL_MUTANTS.find(
    (entry) =>
      entry.file === file &&
      entry.sourceLine === sourceLine &&
      entry.original === mutant.original &&
      entry.replacement === mutant.replacement,
  );
}
