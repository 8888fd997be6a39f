/** Reads a list page by page. An answer of none, such as for an unknown session, ends it. */
export async function* listPages<Page extends { next_cursor: string | null }>(
  read: (cursor: string | undefined) => Promise<Page | undefined>,
): AsyncGenerator<Page, void> {
  let cursor: string | undefined;
  do {
    const page = await read(cursor);
    if (page !== undefined) yield page;
    cursor = page?.next_cursor ?? undefined;
  } while (cursor !== undefined);
}
