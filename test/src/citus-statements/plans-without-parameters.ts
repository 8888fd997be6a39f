import type { Client } from 'pg';

/** The first version that has `EXPLAIN (GENERIC_PLAN)`. */
const MIN_VERSION_NUMBER = 160_000;

/** True if the server can plan statements without their parameters. */
export async function plansWithoutParameters(client: Client): Promise<boolean> {
  const { rows } = await client.query<{ version_number: number }>(
    `SELECT current_setting('server_version_num')::int AS version_number`,
  );
  return (rows[0]?.version_number ?? 0) >= MIN_VERSION_NUMBER;
}
