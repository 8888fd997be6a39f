import { gunzipSync, gzipSync } from 'node:zlib';
import {
  type DocumentFormat,
  type DocumentQuery,
  documentQuerySchema,
  newShareSchema,
  type Share,
  sessionDocumentSchema,
  sessionParamsSchema,
  sharedViewSchema,
  shareListQuerySchema,
  shareListSchema,
  shareRequestSchema,
} from '@recount/contract';
import {
  createShare,
  findCurrencyLabel,
  listShares,
  type OpenedShare,
  openShare,
  presentSessions,
  revokeShare,
  type SessionRow,
  type ShareRow,
} from '@recount/db';
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import type { ApiApp, ApiDependencies } from '../api-dependencies.ts';
import type { DocumentLayout, RedactionCounts, SessionDocument } from '../documents/index.ts';
import { toAttachment } from '../http/download-headers.ts';
import { cutPage, parseCursor } from '../paging/list-pages.ts';
import { actorOf, workspaceOf } from '../plugins/authentication.ts';
import { addJsonRoutes } from '../plugins/json-bodies.ts';
import { problemResponse, toResponse } from '../plugins/openapi.ts';
import { ProblemError } from '../problems/problem-error.ts';
import { requireRows, requireSession } from './require-session.ts';
import {
  createViewRefresher,
  createViewRenderer,
  SHARE_VIEW,
  type ViewDeps,
  type ViewRenderer,
} from './shared-views.ts';

type Deps = Pick<ApiDependencies, 'database'>;

/**
 * Has a parser of Markdown and rules for secrets, which take memory. It is loaded for the first client that asks for a
 * document.
 */
const loadDocuments = () => import('../documents/index.ts');

/** Documents are built in memory, up to about 100 MB each. */
const MAX_CONCURRENT_DOCUMENTS = 2;
const DAY_MS = 86_400_000;

const MEDIA_TYPES: Readonly<Record<DocumentFormat, { mediaType: string; extension: string }>> = {
  html: { mediaType: 'text/html; charset=utf-8', extension: '.html' },
  markdown: { mediaType: 'text/markdown; charset=utf-8', extension: '.md' },
  json: { mediaType: 'application/json; charset=utf-8', extension: '.json' },
};

const shareCursorSchema = z.strictObject({ share: z.string().max(100) });
const notFound = problemResponse('The workspace has no such session');

const GET_SESSION_DOCUMENT = {
  config: { scope: 'read', reveals: 'texts' },
  schema: {
    operationId: 'getSessionDocument',
    summary: 'Read a session as one document',
    description:
      'HTML that needs nothing else and runs nothing, Markdown, or JSON. Secrets are replaced unless told otherwise.',
    tags: ['sessions'],
    params: sessionParamsSchema,
    querystring: documentQuerySchema,
    response: { 200: toResponse('The document', 'text/html', z.string()), 404: notFound },
  },
} as const;

const SHARE_SESSION = {
  config: { scope: 'admin', reveals: 'texts' },
  schema: {
    operationId: 'shareSession',
    summary: 'Share a session by a link',
    description:
      'Anyone with the link can read the session as it is now, with its secrets replaced, without a key, until the link expires or is revoked. `GET …/document` shows what they will see.',
    tags: ['sessions'],
    params: sessionParamsSchema,
    body: shareRequestSchema,
    response: { 201: newShareSchema, 404: notFound },
  },
} as const;

const LIST_SHARES = {
  config: { scope: 'read', reveals: 'figures' },
  schema: {
    operationId: 'listShares',
    summary: 'List links to sessions and views',
    tags: ['sessions'],
    querystring: shareListQuerySchema,
    response: { 200: shareListSchema },
  },
} as const;

const REVOKE_SHARE = {
  config: { scope: 'admin', reveals: 'nothing' },
  schema: {
    operationId: 'revokeShare',
    summary: 'Revoke a link',
    description: 'It stops working, and its page is deleted.',
    tags: ['sessions'],
    params: z.object({ share_id: z.string().max(100).describe('Id of the link') }),
    response: {
      204: z.undefined().describe('Revoked'),
      404: problemResponse('The workspace has no such link, or it is revoked already'),
    },
  },
} as const;

const OPEN_SHARE = {
  config: { reveals: 'nothing' },
  schema: {
    operationId: 'openShare',
    summary: 'Read a shared session or view',
    description: 'Needs no key. Unknown, revoked and expired links get the same answer.',
    tags: ['sessions'],
    params: z.object({ token: z.string().max(200).describe('What the link ends with') }),
    response: {
      200: toResponse('The page', 'text/html', z.string()),
      404: problemResponse('The link is unknown, or has expired'),
    },
  },
} as const;

/** A session as one file, to read, to review before sharing, or to keep. */
export function addDocumentRoutes(app: ApiApp, deps: Deps): void {
  const readDocument = createDocumentReader(deps);
  app.get('/v1/sessions/:session_id/document', GET_SESSION_DOCUMENT, async (request, reply) => {
    const workspaceId = workspaceOf(request);
    const { format, time_zone: timeZone, download } = request.query;
    const wanted = { ...request.query, onlyNames: request.onlyNames };
    const { document, session } = await readDocument(workspaceId, request.params.session_id, wanted);
    const layout = { timeZone, currencyLabel: await readCurrencyLabel(deps, workspaceId) };
    const { mediaType, extension } = MEDIA_TYPES[format];
    const { DOCUMENT_CONTENT_SECURITY_POLICY } = await loadDocuments();
    if (format === 'html') reply.header('content-security-policy', DOCUMENT_CONTENT_SECURITY_POLICY);
    reply.type(mediaType);
    if (download) reply.header('content-disposition', toAttachment(session.session_id, extension));
    const shown = request.reveal === null ? document : await request.reveal(document);
    return reply.serializer(asIs).send(await render(format, shown, layout));
  });
}

const asIs = (text: unknown): string => text as string;

/** Links that show a session, or a view of figures, to anyone who has them, until they expire. */
export async function addShareRoutes(parent: ApiApp, deps: ViewDeps): Promise<void> {
  const { database } = deps.database;
  const readDocument = createDocumentReader(deps);
  const renderView = createViewRenderer(deps);
  const refresh = createViewRefresher(deps, renderView);

  await addJsonRoutes(parent, {}, (app) => {
    addViewShareRoute(app, deps, renderView);
    app.post('/v1/sessions/:session_id/share', SHARE_SESSION, async (request, reply) => {
      const workspaceId = workspaceOf(request);
      const { expires_in_days: days, sanitize, subagents, from_line, to_line, time_zone: timeZone } = request.body;
      const options = { redact: true, sanitize, subagents, from_line, to_line, onlyNames: request.onlyNames };
      const { document, counts, session } = await readDocument(workspaceId, request.params.session_id, options);
      // Notes the reads of its sub-agents. Admins see all names.
      await request.reveal?.(document);
      const layout = { timeZone, currencyLabel: await readCurrencyLabel(deps, workspaceId) };
      const { formatHtmlDocument } = await loadDocuments();
      const { share, token } = await deps.database.withTransaction((transaction) =>
        createShare(transaction, {
          workspaceId,
          sessionId: session.session_id,
          view: null,
          page: gzipSync(formatHtmlDocument(document, layout)),
          fromLine: from_line ?? null,
          toLine: to_line ?? null,
          isSanitized: sanitize,
          expiresAt: new Date(Date.now() + days * DAY_MS).toISOString(),
          actor: actorOf(request),
        }),
      );
      return reply.code(201).send({ ...toAnswer(share), path: `/shared/${token}`, redactions: counts });
    });
  });

  parent.get('/v1/shares', LIST_SHARES, async (request) => {
    const { session_id: sessionId, limit, cursor } = request.query;
    const beforeId = parseCursor(shareCursorSchema, cursor)?.share;
    const rows = await listShares(database, workspaceOf(request), { sessionId, beforeId, limit: limit + 1 });
    const { page, next_cursor } = cutPage(rows, limit, ({ id }) => ({ share: id }));
    return { shares: page.map(toAnswer), next_cursor };
  });

  parent.delete('/v1/shares/:share_id', REVOKE_SHARE, async (request, reply) => {
    const { share_id: id } = request.params;
    const isRevoked = await deps.database.withTransaction((transaction) =>
      revokeShare(transaction, workspaceOf(request), id, actorOf(request)),
    );
    if (!isRevoked) throw new ProblemError('not-found', 'There is no such link, or it is revoked already');
    return reply.code(204).send();
  });

  parent.get('/shared/:token', OPEN_SHARE, async (request, reply) => {
    const { token } = request.params;
    const opened = await deps.database.withTransaction((transaction) => openShare(transaction, token));
    if (opened === undefined) throw new ProblemError('not-found', 'The link is unknown, or has expired');
    return await sendPage(reply, opened, opened.isOld ? await refresh(opened) : opened.page);
  });
}

function addViewShareRoute(app: ApiApp, deps: ViewDeps, renderView: ViewRenderer): void {
  app.post('/v1/shares', SHARE_VIEW, async (request, reply) => {
    const workspaceId = workspaceOf(request);
    const { expires_in_days: days, ...view } = request.body;
    const page = await renderView(workspaceId, view);
    const { share, token } = await deps.database.withTransaction((transaction) =>
      createShare(transaction, {
        ...{ workspaceId, sessionId: null, view, page, fromLine: null, toLine: null, isSanitized: false },
        expiresAt: new Date(Date.now() + days * DAY_MS).toISOString(),
        actor: actorOf(request),
      }),
    );
    return reply.code(201).send({ ...toAnswer(share), path: `/shared/${token}` });
  });
}

async function sendPage(
  reply: FastifyReply,
  { view }: Pick<OpenedShare, 'view'>,
  page: Uint8Array,
): Promise<FastifyReply> {
  const { DOCUMENT_CONTENT_SECURITY_POLICY, FIGURES_CONTENT_SECURITY_POLICY } = await loadDocuments();
  return await reply
    .type(MEDIA_TYPES.html.mediaType)
    .header(
      'content-security-policy',
      view === null ? DOCUMENT_CONTENT_SECURITY_POLICY : FIGURES_CONTENT_SECURITY_POLICY,
    )
    .header('cache-control', 'no-store')
    .header('x-robots-tag', 'noindex')
    .serializer(asIs)
    .send(gunzipSync(page).toString());
}

interface WantedDocument extends Omit<z.output<typeof documentQuerySchema>, 'format' | 'time_zone' | 'download'> {
  /** Leaves out sub-agents of others; null means none. */
  onlyNames: readonly string[] | null;
}

/** Reads a session and removes what must not be seen. Throws ProblemError. */
function createDocumentReader({ database }: Deps) {
  let underWay = 0;
  return async (
    workspaceId: string,
    name: string,
    { redact, sanitize, subagents: hasSubagents, from_line: fromLine, to_line: toLine, onlyNames }: WantedDocument,
  ): Promise<{ document: SessionDocument; counts: RedactionCounts; session: SessionRow }> => {
    if (underWay >= MAX_CONCURRENT_DOCUMENTS) {
      const detail = `At most ${MAX_CONCURRENT_DOCUMENTS} documents at a time; try again`;
      throw new ProblemError('too-many-exports', detail, { headers: { 'retry-after': '5' } });
    }
    underWay++;
    try {
      const { loadSessionDocument, redactDocument, sanitizeDocument } = await loadDocuments();
      const { loaded, session } = await database.withSnapshot(async (snapshot) => {
        const session = await requireSession(snapshot, workspaceId, name);
        const rowSetId = await requireRows(snapshot, session, session.primary_transcript_id);
        const [presented] = await presentSessions(snapshot, workspaceId, [session]);
        if (presented === undefined) throw new Error('A session has no answer');
        const request = { workspaceId, session: presented, rowSetId, fromLine, toLine, hasSubagents, onlyNames };
        return { session, loaded: await loadSessionDocument(snapshot, request) };
      });
      const kept = sanitize ? sanitizeDocument(loaded) : loaded;
      if (!redact) return { document: kept, counts: {}, session };
      return { ...(await redactDocument(kept)), session };
    } finally {
      underWay--;
    }
  };
}

async function render(
  format: NonNullable<DocumentQuery['format']>,
  document: SessionDocument,
  layout: DocumentLayout,
): Promise<string> {
  const { formatHtmlDocument, formatMarkdownDocument } = await loadDocuments();
  switch (format) {
    case 'html':
      return formatHtmlDocument(document, layout);
    case 'markdown':
      return `${formatMarkdownDocument(document, layout)}\n`;
    case 'json':
      return `${JSON.stringify(sessionDocumentSchema.parse(document), null, 2)}\n`;
  }
}

async function readCurrencyLabel({ database }: Deps, workspaceId: string): Promise<string> {
  return (await findCurrencyLabel(database.database, workspaceId)) ?? 'USD';
}

const toAnswer = ({ workspace_id: _workspaceId, page_at: _pageAt, view, ...share }: ShareRow): Share => ({
  ...share,
  // It may be written by a process of another version.
  view: sharedViewSchema.safeParse(view).data ?? null,
});
