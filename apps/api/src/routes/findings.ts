import {
  addressedParamsSchema,
  addressedRequestSchema,
  addressedSchema,
  type DismissalRequest,
  dismissalListSchema,
  dismissalParamsSchema,
  dismissalRequestSchema,
  dismissalSchema,
  KINDS_WITHOUT_TOOL,
  MAX_DISMISSALS,
} from '@recount/contract';
import {
  addressFindings,
  type Database,
  type DatabasePool,
  dismissFindings,
  listAddressed,
  listDismissals,
  reopenFindings,
  restoreFindings,
} from '@recount/db';
import { z } from 'zod';
import type { ApiApp, ApiDependencies } from '../api-dependencies.ts';
import { actorOf, workspaceOf } from '../plugins/authentication.ts';
import { addJsonRoutes } from '../plugins/json-bodies.ts';
import { problemResponse } from '../plugins/openapi.ts';
import { ProblemError } from '../problems/problem-error.ts';
import { noSuchSession, requireSession } from './require-session.ts';

const TAGS = ['analytics'];
const noSuchDismissal = 'The workspace has no such dismissal';
const notAddressed = 'The kind is not marked as addressed';

const LIST_DISMISSALS = {
  config: { scope: 'read', reveals: 'texts' },
  schema: {
    operationId: 'listFindingDismissals',
    summary: 'List dismissed findings',
    description: 'With who dismissed them, when and why.',
    tags: TAGS,
    response: { 200: dismissalListSchema },
  },
} as const;

const DISMISS_FINDINGS = {
  config: { scope: 'admin', reveals: 'nothing' },
  schema: {
    operationId: 'dismissFindings',
    summary: 'Dismiss findings',
    description: `For everyone in the workspace: they leave the lists and the sum of potential waste, which say how much is dismissed. Later findings of the same subject are dismissed too. Repeating it changes the reason, if one is given. At most ${MAX_DISMISSALS}.`,
    tags: TAGS,
    body: dismissalRequestSchema,
    response: {
      200: dismissalSchema.describe('Dismissed already'),
      201: dismissalSchema,
      404: problemResponse('The workspace has no such session'),
      422: problemResponse('The workspace has no such repository, person or tool'),
    },
  },
} as const;

const RESTORE_FINDINGS = {
  config: { scope: 'admin', reveals: 'nothing' },
  schema: {
    operationId: 'restoreFindings',
    summary: 'Restore dismissed findings',
    description: 'They are listed and added up again.',
    tags: TAGS,
    params: dismissalParamsSchema,
    response: { 204: z.undefined().describe('Restored'), 404: problemResponse(noSuchDismissal) },
  },
} as const;

const ADDRESS_FINDINGS = {
  config: { scope: 'admin', reveals: 'nothing' },
  schema: {
    operationId: 'addressFindings',
    summary: 'Mark a kind of finding as addressed',
    description: 'Since a day; `GET /v1/analytics/addressed` then compares the weeks before and after it.',
    tags: TAGS,
    params: addressedParamsSchema,
    body: addressedRequestSchema,
    response: { 200: addressedSchema },
  },
} as const;

const REOPEN_FINDINGS = {
  config: { scope: 'admin', reveals: 'nothing' },
  schema: {
    operationId: 'reopenFindings',
    summary: 'Remove the mark that a kind of finding is addressed',
    tags: TAGS,
    params: addressedParamsSchema,
    response: { 204: z.undefined().describe('Removed'), 404: problemResponse(notAddressed) },
  },
} as const;

const DAY_MS = 86_400_000;

/** Dismissing and restoring findings, and marking kinds of them as addressed. */
export async function addFindingRoutes(
  parent: ApiApp,
  { database, now = Date.now }: Pick<ApiDependencies, 'database' | 'now'>,
): Promise<void> {
  await addJsonRoutes(parent, {}, (app) => {
    addDismissals(app, database);
    addAddressed(app, database, now);
  });
}

function addDismissals(app: ApiApp, pool: DatabasePool): void {
  app.get('/v1/findings/dismissals', LIST_DISMISSALS, async (request) => ({
    dismissals: await listDismissals(pool.database, workspaceOf(request)),
  }));

  app.post('/v1/findings/dismissals', DISMISS_FINDINGS, async (request, reply) => {
    const workspaceId = workspaceOf(request);
    const { kind, subject_type: subjectType, reason } = request.body;
    const subject = await toSubject(pool.database, workspaceId, request.body);
    const made = await pool.withTransaction((transaction) =>
      dismissFindings(
        transaction,
        { workspaceId, actor: actorOf(request) },
        { kind, subjectType, subject, reason },
        MAX_DISMISSALS,
      ),
    );
    if (made === 'too-many') {
      const detail = `The workspace has ${MAX_DISMISSALS} dismissals, which is the most; restore some of them first`;
      throw new ProblemError('invalid-request', detail);
    }
    if (made === 'unknown-subject') {
      if (subjectType === 'session') throw noSuchSession();
      throw new ProblemError('unknown-name', `The workspace has no such ${subjectType}; give its full name`);
    }
    const dismissals = await listDismissals(pool.database, workspaceId);
    const dismissal = dismissals.find(({ id }) => id === made.id);
    // Restored by another request since then.
    if (dismissal === undefined) throw new ProblemError('not-found', noSuchDismissal);
    return await reply.code(made.isNew ? 201 : 200).send(dismissal);
  });

  app.delete('/v1/findings/dismissals/:dismissal_id', RESTORE_FINDINGS, async (request, reply) => {
    const decision = { workspaceId: workspaceOf(request), actor: actorOf(request) };
    const isRestored = await pool.withTransaction((transaction) =>
      restoreFindings(transaction, decision, request.params.dismissal_id),
    );
    if (!isRestored) throw new ProblemError('not-found', noSuchDismissal);
    return await reply.code(204).send();
  });
}

function addAddressed(app: ApiApp, pool: DatabasePool, now: () => number): void {
  app.put('/v1/findings/addressed/:kind', ADDRESS_FINDINGS, async (request) => {
    const workspaceId = workspaceOf(request);
    const { kind } = request.params;
    const { since, note = null } = request.body;
    // Somewhere it is tomorrow already.
    if (Date.parse(since) > now() + DAY_MS) {
      throw new ProblemError('invalid-request', 'The day is in the future', {
        extensions: { errors: [{ location: 'body', field: 'since', message: 'In the future' }] },
      });
    }
    return await pool.withTransaction(async (transaction) => {
      await addressFindings(transaction, { workspaceId, actor: actorOf(request) }, { kind, since, note });
      const all = await listAddressed(transaction, workspaceId);
      const addressed = all.find((each) => each.kind === kind);
      if (addressed === undefined) throw new Error('The mark was not stored');
      return { ...addressed, kind };
    });
  });

  app.delete('/v1/findings/addressed/:kind', REOPEN_FINDINGS, async (request, reply) => {
    const decision = { workspaceId: workspaceOf(request), actor: actorOf(request) };
    const isRemoved = await pool.withTransaction((transaction) =>
      reopenFindings(transaction, decision, request.params.kind),
    );
    if (!isRemoved) throw new ProblemError('not-found', notAddressed);
    return await reply.code(204).send();
  });
}

/** The full id of a session; throws ProblemError for a subject that the kind cannot have. */
async function toSubject(
  database: Database,
  workspaceId: string,
  { kind, subject_type: type, subject }: DismissalRequest,
): Promise<string> {
  if (type === 'session') return (await requireSession(database, workspaceId, subject)).session_id;
  if (type === 'tool' && KINDS_WITHOUT_TOOL.includes(kind)) {
    const detail = `Findings of the kind ${kind} are about no tool; dismiss them for a session, a repository or a person`;
    throw new ProblemError('invalid-request', detail, {
      extensions: { errors: [{ location: 'body', field: 'subject_type', message: 'Not for this kind' }] },
    });
  }
  return subject;
}
