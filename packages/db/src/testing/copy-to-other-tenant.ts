import type { DatabasePool } from '../database/database.ts';
import { OTHER_WORKSPACE, TEST_WORKSPACE } from './create-test-pool.ts';

/** Columns that the copies share with the originals (ids, times, and flags that decide what is counted at all). */
const SHARED_COLUMNS =
  /(^|_)(id|key|number|sha256)$|^(agent|source|status|format|kind|tool_name|price_basis|is_subagent|is_own|is_shared|is_diverged)$/;

const TYPES_OF_VALUES: Readonly<Record<string, (column: string) => string>> = {
  integer: (column) => `${column} * 7 + 1000`,
  bigint: (column) => `${column} * 7 + 1000`,
  numeric: (column) => `${column} * 7 + 1000`,
  'double precision': (column) => `${column} * 7 + 1000`,
  boolean: (column) => `NOT ${column}`,
  text: (column) => `'!' || ${column}`,
};

/**
 * Copies every row of the test workspace to the other one under the same ids, which two workspaces may share, because
 * ids of sessions, messages and calls are the agent's, and people copy transcripts. Everything shown or counted is
 * different there, names sort first, and sessions without a parent become children of `rootSessionId`. So whatever a
 * query wrongly reads from the other workspace shows in its result. Call it again after more rows were written.
 */
export async function copyToOtherTenant({ pool }: DatabasePool, rootSessionId: string): Promise<void> {
  const { rows: columns } = await pool.query<{ table_name: string; column_name: string; data_type: string }>(`
    SELECT table_name, column_name, data_type FROM information_schema.columns
    JOIN information_schema.tables USING (table_schema, table_name)
    WHERE table_schema = 'recount' AND table_type = 'BASE TABLE' AND is_generated = 'NEVER'`);
  for (const [table, columnsOfTable] of Map.groupBy(columns, ({ table_name }) => table_name)) {
    if (!columnsOfTable.some(({ column_name }) => column_name === 'workspace_id')) continue;
    const values = columnsOfTable.map(({ column_name: name, data_type: type }) => {
      if (name === 'workspace_id') return `'${OTHER_WORKSPACE}'`;
      if (name === 'parent_session_id') return `coalesce("${name}", nullif('${rootSessionId}', session_id))`;
      // Between the times of the original; the buckets of roll-ups stay the same.
      if (name === 'timestamp') return `"${name}" + interval '1 minute'`;
      return SHARED_COLUMNS.test(name) ? `"${name}"` : (TYPES_OF_VALUES[type]?.(`"${name}"`) ?? `"${name}"`);
    });
    await pool.query(`
      INSERT INTO recount.${table} (${columnsOfTable.map(({ column_name }) => `"${column_name}"`).join(', ')})
      SELECT ${values.join(', ')} FROM recount.${table} WHERE workspace_id = '${TEST_WORKSPACE}' ON CONFLICT DO NOTHING`);
  }
}
