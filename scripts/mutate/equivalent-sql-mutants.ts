import type { SqlMutant } from './sql-mutants.ts';

/** A change of SQL that no test can notice, as every answer stays what it is. */
export interface EquivalentSqlMutant extends Pick<SqlMutant, 'original' | 'replacement'> {
  /** Relative to the root. */
  file: string;
  /** The source line that is changed, without its indentation: it stays the same where lines above come and go. */
  sourceLine: string;
  /** Why no answer changes. */
  reason: string;
}

/** Neither tried nor counted. */
export const EQUIVALENT_SQL_MUTANTS: readonly EquivalentSqlMutant[] = [];

/** The entry that says of this change of `source` that nobody could notice it. */
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
