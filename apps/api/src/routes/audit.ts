import { auditListSchema, auditQuerySchema } from '@recount/contract';
import { type AuditRow, listAuditEntries } from '@recount/db';
import { z } from 'zod';
import type { ApiApp, ApiDependencies } from '../api-dependencies.ts';
import { cutPage, parseCursor } from '../paging/list-pages.ts';
import { workspaceOf } from '../plugins/authentication.ts';

const cursorSchema = z.strictObject({ entry: z.string().max(100) });

const LIST_AUDIT = {
  config: { scope: 'admin', reveals: 'nothing' },
  schema: {
    operationId: 'listAudit',
    summary: 'List who changed what, and who read whose texts',
    description:
      'Keys, settings, prices, deletions, and runs over all transcripts, written with the change itself; `texts.read`, before the texts are answered, once an hour for each reader and session; `share.open`, once an hour for each link. Entries are never changed.',
    tags: ['operations'],
    querystring: auditQuerySchema,
    response: { 200: auditListSchema },
  },
} as const;

/** The audit log of who changed what. */
export function addAuditRoutes(app: ApiApp, { database: { database } }: Pick<ApiDependencies, 'database'>): void {
  app.get('/v1/audit', LIST_AUDIT, async (request) => {
    const { limit, cursor, ...filter } = request.query;
    const afterId = parseCursor(cursorSchema, cursor)?.entry;
    const rows = await listAuditEntries(database, workspaceOf(request), filter, { afterId, limit: limit + 1 });
    const { page, next_cursor } = cutPage(rows, limit, ({ id }) => ({ entry: id }));
    return { entries: page.map(toEntry), next_cursor };
  });
}

const toEntry = ({ workspace_id: _workspaceId, ...entry }: AuditRow) => entry;
