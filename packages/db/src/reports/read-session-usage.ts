import type { UsageFigures, UsageSums } from '@recount/core';
import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import { sumUsage, toPrefixedFigures } from './usage-figures.ts';

/** Usage that a session is credited with, and usage that it holds but that is credited to another session. */
export async function readSessionUsage(
  database: Database,
  workspaceId: string,
  sessionId: string,
): Promise<{ own: UsageFigures; shared: UsageFigures }> {
  const sums = { ...sumUsage('own_', sql`NOT is_shared`), ...sumUsage('shared_', sql`is_shared`) };
  const { rows } = await database.execute<Record<`${'own_' | 'shared_'}${keyof UsageSums}`, number>>(sql`
    SELECT ${sql.join(
      Object.entries(sums).map(([name, value]) => sql`${value} AS ${sql.identifier(name)}`),
      sql`, `,
    )}
    FROM recount.usage_day_rollup WHERE workspace_id = ${workspaceId} AND session_id = ${sessionId}`);
  const [row] = rows;
  if (row === undefined) throw new Error('An aggregate without a row');
  return { own: toPrefixedFigures(row, 'own_'), shared: toPrefixedFigures(row, 'shared_') };
}
