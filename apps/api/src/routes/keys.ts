import {
  type ApiKeyRequest,
  apiKeyListSchema,
  apiKeyParamsSchema,
  apiKeyRequestSchema,
  apiKeyRotationSchema,
  apiKeySecretSchema,
  keyHolderSchema,
  ROLES,
  toRole,
} from '@recount/contract';
import { createApiKey, listApiKeys, revokeApiKey, rotateApiKey } from '@recount/db';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import packageJson from '../../package.json' with { type: 'json' };
import type { ApiApp, ApiDependencies } from '../api-dependencies.ts';
import { actorOf, workspaceOf } from '../plugins/authentication.ts';
import { addJsonRoutes } from '../plugins/json-bodies.ts';
import { problemResponse } from '../plugins/openapi.ts';
import { ProblemError } from '../problems/problem-error.ts';
import { changeKeys, requireRightTo } from './change-keys.ts';

/** Secrets must not be cached. */
const NOT_CACHED = ['cache-control', 'no-store'] as const;

const GET_KEY = {
  config: { scope: 'any', reveals: 'nothing' },
  schema: {
    operationId: 'getKey',
    summary: 'Read what the key may do',
    tags: ['operations'],
    response: { 200: keyHolderSchema },
  },
} as const;

const LIST_KEYS = {
  config: { scope: 'admin', reveals: 'nothing' },
  schema: {
    operationId: 'listKeys',
    summary: 'List the keys of the workspace',
    description: 'Without their secrets.',
    tags: ['operations'],
    response: { 200: apiKeyListSchema },
  },
} as const;

const CREATE_KEY = {
  config: { scope: 'admin', reveals: 'nothing' },
  schema: {
    operationId: 'createKey',
    summary: 'Create a key',
    description: 'Only this response contains its secret.',
    tags: ['operations'],
    body: apiKeyRequestSchema,
    response: { 201: apiKeySecretSchema },
  },
} as const;

const ROTATE_KEY = {
  config: { scope: 'admin', reveals: 'nothing' },
  schema: {
    operationId: 'rotateKey',
    summary: 'Rotate the secret of a key',
    description:
      'Id, name and scopes stay. Only this response contains the new secret. A key with the scope operator can only be rotated by another key with that scope.',
    tags: ['operations'],
    params: apiKeyParamsSchema,
    body: apiKeyRotationSchema,
    response: { 200: apiKeySecretSchema, 404: problemResponse('No such key, or it is revoked or has expired') },
  },
} as const;

const REVOKE_KEY = {
  config: { scope: 'admin', reveals: 'nothing' },
  schema: {
    operationId: 'revokeKey',
    summary: 'Revoke a key',
    description:
      'It is refused from now on, and so are the keys that it created or rotated, and the browsers that signed in with links of theirs. That is final, except for the key of a provider’s account (see restoreAccount): create another key to give access again. Their uploads remain, under their ids. A key with the scope operator can only be revoked by a key with that scope.',
    tags: ['operations'],
    params: apiKeyParamsSchema,
    response: {
      204: z.undefined().describe('It is revoked'),
      404: problemResponse('No such key, or revoked already'),
    },
  },
} as const;

/** Keys of the workspace. A key with the scope admin creates, rotates and revokes the others. */
export async function addKeyRoutes(
  parent: ApiApp,
  { database: pool, now = Date.now }: Pick<ApiDependencies, 'database' | 'now'>,
): Promise<void> {
  const { database } = pool;
  await addJsonRoutes(parent, {}, (app) => {
    app.get('/v1/key', GET_KEY, async ({ keyHolder }) => {
      if (keyHolder === null) throw new Error('The route has no scope');
      const { keyId, scopes, person, expiresAt } = keyHolder;
      const role = toRole(scopes);
      return { key_id: keyId, scopes, role, person, expires_at: expiresAt, server_version: packageJson.version };
    });

    app.get('/v1/keys', LIST_KEYS, async (request) => {
      const rows = await listApiKeys(database, workspaceOf(request));
      return { keys: rows.map(({ workspace_id: _workspaceId, ...key }) => ({ ...key, role: toRole(key.scopes) })) };
    });

    app.post('/v1/keys', CREATE_KEY, async (request, reply) => {
      const key = toNewKey(request.body);
      const { expiresAt } = key;
      requireEnd(request, expiresAt, now());
      const by = { workspaceId: workspaceOf(request), actor: actorOf(request) };
      const made = await changeKeys(pool, request, (transaction) => createApiKey(transaction, { ...key, ...by }));
      return reply
        .header(...NOT_CACHED)
        .code(201)
        .send({ ...made, expires_at: expiresAt, previous_expires_at: null });
    });

    app.post('/v1/keys/:key_id/rotate', ROTATE_KEY, async (request, reply) => {
      const { grace_ms: graceMs, expires_at: expiresAt } = request.body;
      const { key_id: id } = request.params;
      if (expiresAt !== undefined) requireEnd(request, expiresAt, now());
      const rotation = { graceMs, expiresAt, actor: actorOf(request) };
      const rotated = await changeKeys(pool, request, async (transaction) => {
        await requireRightTo(request, transaction, id);
        return await rotateApiKey(transaction, workspaceOf(request), id, rotation);
      });
      if (rotated === undefined) throw new ProblemError('not-found', 'No such key, or it is revoked or has expired');
      const { key, expiresAt: expires_at, previousExpiresAt: previous_expires_at } = rotated;
      return reply.header(...NOT_CACHED).send({ id, key, expires_at, previous_expires_at });
    });

    app.delete('/v1/keys/:key_id', REVOKE_KEY, async (request, reply) => {
      const { key_id: id } = request.params;
      const isRevoked = await pool.withTransaction(async (transaction) => {
        await requireRightTo(request, transaction, id);
        return await revokeApiKey(transaction, workspaceOf(request), id, actorOf(request));
      });
      if (!isRevoked) throw new ProblemError('not-found', 'No such key, or it is revoked already');
      return reply.code(204).send();
    });
  });
}

function toNewKey({ name, scopes, role, person, expires_at, machine_limit }: ApiKeyRequest) {
  const given = scopes ?? ROLES[role ?? 'viewer'];
  const limits = { expiresAt: expires_at ?? null, machineLimit: machine_limit ?? null };
  return { name, scopes: given, person: person ?? null, ...limits };
}

/** The expiry must be in the future, and not after the expiry of the requesting key. */
function requireEnd({ keyHolder }: FastifyRequest, expiresAt: string | null, nowMs: number): void {
  const endMs = expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(expiresAt);
  const ownEndMs = keyHolder?.expiresAt == null ? Number.POSITIVE_INFINITY : Date.parse(keyHolder.expiresAt);
  if (endMs > nowMs && endMs <= ownEndMs) return;
  const message = endMs > ownEndMs ? 'After the end of the key of the request' : 'Not in the future';
  const errors = [{ location: 'body' as const, field: 'expires_at', message }];
  throw new ProblemError('invalid-request', 'Not valid: expires_at', { extensions: { errors } });
}
