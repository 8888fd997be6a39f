import { checkRelations, RelationCheckError } from '@recount/db';
import type { IngestDependencies } from '../ingest-dependencies.ts';

export type DatabaseFinding =
  /** A table or an index whose files are damaged: by the disk, or by two servers on the same files. */
  | { kind: 'damaged-relation'; relation: string; reason: string; fixed: false }
  /** The check was asked for and cannot be done. */
  | { kind: 'unchecked-database'; reason: string; fixed: false };

/** Reads all tables and indexes of the database; see checkRelations. */
export async function* checkDatabaseFiles(
  { database }: IngestDependencies,
  signal: AbortSignal | undefined,
): AsyncGenerator<DatabaseFinding> {
  try {
    for await (const fault of checkRelations(database, signal)) {
      yield { kind: 'damaged-relation', ...fault, fixed: false };
    }
  } catch (error) {
    if (!(error instanceof RelationCheckError)) throw error;
    yield { kind: 'unchecked-database', reason: error.message, fixed: false };
  }
}
