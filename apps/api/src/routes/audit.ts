import { apiKeyListSchema, auditListSchema, auditQuerySchema, keyHolderSchema } from '@recount/contract';
import { type AuditRow, listApiKeys, listAuditEntries } from '@recount/db';
import { z } from 'zod';
import packageJson from '../../package.json' with { type: 'json' };
import type { ApiApp, ApiDependencies } from '../api-dependencies.ts';
import { parseCursor, toCursor } from '../paging/pages.ts';
import { workspaceOf } from '../plugins/authentication.ts';

const cursorSchema = z.strictObject({ entry: z.string().max(100) });

/** What the admins of a workspace may know of its keys, and of who changed what. */
export function addAuditRoutes(app: ApiApp, { database: { database } }: Pick<ApiDependencies, 'database'>): void {
  app.get(
    '/v1/audit',
    {
      config: { scope: 'admin' },
      schema: {
        operationId: 'listAudit',
        summary: 'List who changed what',
        description:
          'Keys, settings, prices, deletions, and runs over all transcripts. Entries are written with the change itself, and never changed.',
        tags: ['operations'],
        querystring: auditQuerySchema,
        response: { 200: auditListSchema },
      },
    },
    async (request) => {
      const { limit, cursor, ...filter } = request.query;
      const afterId = parseCursor(cursorSchema, cursor)?.entry;
      const page = { afterId, limit: limit + 1 };
      const rows = await listAuditEntries(database, workspaceOf(request), filter, page);
      const entries = rows.slice(0, limit).map(toEntry);
      const last = rows.length > limit ? entries.at(-1) : undefined;
      return { entries, next_cursor: last === undefined ? null : toCursor({ entry: last.id }) };
    },
  );

  app.get(
    '/v1/key',
    {
      config: { scope: 'any' },
      schema: {
        operationId: 'getKey',
        summary: 'Ask what the key may do',
        tags: ['operations'],
        response: { 200: keyHolderSchema },
      },
    },
    async ({ keyHolder }) => {
      if (keyHolder === null) throw new Error('The route has no scope');
      const { keyId, scopes, person, expiresAt } = keyHolder;
      return { key_id: keyId, scopes, person, expires_at: expiresAt, server_version: packageJson.version };
    },
  );

  app.get(
    '/v1/keys',
    {
      config: { scope: 'admin' },
      schema: {
        operationId: 'listKeys',
        summary: 'List the keys of the workspace',
        description:
          'Without their secrets. They are made, rotated and revoked by `recount keys`, next to the database.',
        tags: ['operations'],
        response: { 200: apiKeyListSchema },
      },
    },
    async (request) => {
      const rows = await listApiKeys(database, workspaceOf(request));
      return { keys: rows.map(({ workspace_id: _workspaceId, ...key }) => key) };
    },
  );
}

const toEntry = ({ workspace_id: _workspaceId, ...entry }: AuditRow) => entry;
