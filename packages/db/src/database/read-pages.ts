import { and, gt, or, type PgColumn, type SQL, sql } from '../drizzle.cjs';

/** Reads a long list in pages of that many rows. `readPage` gets the last row of the page before; no page is empty. */
export async function* readPages<Row>(
  pageRows: number,
  readPage: (last: Row | undefined) => Promise<Row[]>,
): AsyncGenerator<Row[]> {
  let last: Row | undefined;
  for (;;) {
    const page = await readPage(last);
    if (page.length > 0) yield page;
    last = page.at(-1);
    if (page.length < pageRows) return;
  }
}

/** True for rows after that place in the order of workspaces and, within each, of a key; for all rows without a place. */
export function isAfter(
  workspaceId: PgColumn,
  key: PgColumn,
  place: { workspaceId: string; key: string } | undefined,
): SQL | undefined {
  if (place === undefined) return undefined;
  return or(gt(workspaceId, place.workspaceId), and(sql`${workspaceId} = ${place.workspaceId}`, gt(key, place.key)));
}
