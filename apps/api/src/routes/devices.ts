import {
  approvedDeviceSchema,
  deviceApprovalSchema,
  deviceCodeRequestSchema,
  deviceCodeSchema,
  deviceRefusalSchema,
  deviceTokenRequestSchema,
  deviceTokenSchema,
} from '@recount/contract';
import {
  approveDeviceRequest,
  createDeviceRequest,
  DEVICE_POLL_INTERVAL_S,
  DEVICE_REQUEST_MAX_AGE_S,
  type DeviceScope,
  holdApiKey,
  redeemDeviceCode,
} from '@recount/db';
import type { ApiApp, ApiDependencies } from '../api-dependencies.ts';
import { actorOf, refuseDemo, workspaceOf } from '../plugins/authentication.ts';
import { createMinuteLimit } from '../plugins/minute-limit.ts';
import { problemResponse } from '../plugins/openapi.ts';
import { ProblemError } from '../problems/problem-error.ts';

const FORM = 'application/x-www-form-urlencoded';
const MAX_BODY_BYTES = 16 * 1024;
/** Codes that one address may request. */
const MAX_CODES_PER_MINUTE = 10;
/** Polls for a key by one address, for ten machines, each every five seconds. */
const MAX_TOKENS_PER_MINUTE = 120;

const CREATE_DEVICE_CODE = {
  config: { reveals: 'nothing' },
  schema: {
    operationId: 'createDeviceCode',
    summary: 'Request a key with a code that an admin approves',
    description: 'The device authorization request of RFC 8628. Needs no key.',
    tags: ['operations'],
    consumes: [FORM],
    body: deviceCodeRequestSchema,
    response: { 200: deviceCodeSchema, 429: problemResponse('Too many machines are requesting a key') },
  },
} as const;

const REDEEM_DEVICE_CODE = {
  config: { reveals: 'nothing' },
  schema: {
    operationId: 'redeemDeviceCode',
    summary: 'Fetch the key of an approved code',
    description: 'The device access token request of RFC 8628. Needs no key. The key is shown only once.',
    tags: ['operations'],
    consumes: [FORM],
    body: deviceTokenRequestSchema,
    response: { 200: deviceTokenSchema, 400: deviceRefusalSchema },
  },
} as const;

const APPROVE_DEVICE = {
  config: { scope: 'admin', reveals: 'nothing' },
  schema: {
    operationId: 'approveDevice',
    summary: 'Approve the code of a machine that requests a key',
    description: 'Its key expires with the key of this request, and is revoked with it.',
    tags: ['operations'],
    body: deviceApprovalSchema,
    response: {
      200: approvedDeviceSchema,
      404: problemResponse('No machine is waiting with this code, or the code has expired'),
    },
  },
} as const;

/** RFC 8628 has forms; programs of recount send JSON. */
function addParsers(app: ApiApp): void {
  app.addContentTypeParser(FORM, { parseAs: 'string', bodyLimit: MAX_BODY_BYTES }, (_request, body, done) =>
    done(null, Object.fromEntries(new URLSearchParams(String(body)))),
  );
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'string', bodyLimit: MAX_BODY_BYTES },
    app.getDefaultJsonParser('error', 'error'),
  );
}

/** Lets a machine without a key get one. It shows a code, and an admin approves it (RFC 8628). */
export async function addDeviceRoutes(
  parent: ApiApp,
  { database: pool }: Pick<ApiDependencies, 'database'>,
): Promise<void> {
  await parent.register(async (scope) => {
    const app = scope as ApiApp;
    addParsers(app);
    const limit = (max: number) => createMinuteLimit(app, max);

    app.post('/v1/device/code', { ...CREATE_DEVICE_CODE, onRequest: limit(MAX_CODES_PER_MINUTE) }, async (request) => {
      const { scope: words } = request.body;
      // Always redacted, because the workspace, which decides that for uploads, is not known yet.
      const { redactText } = await import('@recount/ingest/secrets');
      const machine = await redactText(request.body.machine);
      const scopes = words.split(' ') as DeviceScope[];
      const made = await pool.withTransaction((transaction) => createDeviceRequest(transaction, { machine, scopes }));
      if (made === undefined) throw new ProblemError('too-many-requests', 'Too many machines are waiting for approval');
      return {
        device_code: made.deviceCode,
        user_code: `${made.userCode.slice(0, 4)}-${made.userCode.slice(4)}`,
        verification_uri: `${request.protocol}://${request.host}/admin`,
        expires_in: DEVICE_REQUEST_MAX_AGE_S,
        interval: DEVICE_POLL_INTERVAL_S,
      };
    });

    app.post(
      '/v1/device/token',
      { ...REDEEM_DEVICE_CODE, onRequest: limit(MAX_TOKENS_PER_MINUTE) },
      async (request, reply) => {
        const { device_code: code } = request.body;
        const redeemed = await pool.withTransaction((transaction) => redeemDeviceCode(transaction, code));
        if (typeof redeemed === 'string') return reply.code(400).send({ error: redeemed });
        const { key, scopes } = redeemed;
        return reply.send({ access_token: key, token_type: 'Bearer' as const, scope: scopes.join(' ') });
      },
    );

    app.post('/v1/device/approve', APPROVE_DEVICE, async (request) => {
      const { user_code: userCode, scopes, person = null } = request.body;
      const workspaceId = workspaceOf(request);
      refuseDemo(request.keyHolder);
      const keyExpiresAt = request.keyHolder?.expiresAt ?? null;
      const approval = { workspaceId, scopes, person, keyExpiresAt, actor: actorOf(request) };
      const approved = await pool.withTransaction(async (transaction) => {
        const isHeld = await holdApiKey(transaction, workspaceId, request.keyHolder?.keyId ?? '');
        if (!isHeld) throw new ProblemError('invalid-key', 'The key was revoked');
        return await approveDeviceRequest(transaction, userCode, approval);
      });
      if (approved === undefined) {
        throw new ProblemError('not-found', 'No machine is waiting with this code. Codes expire after ten minutes');
      }
      return { machine: approved.machine, scopes: approved.scopes };
    });
  });
}
