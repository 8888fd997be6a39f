import { deviceTokenSchema, enrolmentRequestSchema } from '@recount/contract';
import { type EnrolmentRefusal, enrolMachine } from '@recount/db';
import type { ApiApp, ApiDependencies } from '../api-dependencies.ts';
import { refuseDemo, uploaderOf, workspaceOf } from '../plugins/authentication.ts';
import { addJsonRoutes } from '../plugins/json-bodies.ts';
import { createMinuteLimit } from '../plugins/minute-limit.ts';
import { problemResponse } from '../plugins/openapi.ts';
import { ProblemError } from '../problems/problem-error.ts';

/** Machines that enrol with one key, whatever their addresses: a whole office may have one. */
const MAX_ENROLMENTS_PER_MINUTE = 120;

const ENROL_MACHINE = {
  config: { scope: 'enrol', reveals: 'nothing', isRateLimited: false },
  schema: {
    operationId: 'enrolMachine',
    summary: 'Exchange an enrolment key for the key of a machine',
    description:
      'The key may upload and nothing else. It is shown only once. A machine that enrols again, under the same `machine_id`, gets a new secret for the key that it had.',
    tags: ['operations'],
    body: enrolmentRequestSchema,
    response: {
      200: deviceTokenSchema.describe('The machine had enrolled before'),
      201: deviceTokenSchema,
      403: problemResponse('The key lacks the scope enrol, or the key of this machine was revoked or has expired'),
      409: problemResponse('The enrolment key has as many machines as it may'),
      429: problemResponse('Too many machines enrol'),
    },
  },
} as const;

function toEnrolmentProblem(refusal: EnrolmentRefusal): ProblemError {
  if (refusal === 'revoked') return new ProblemError('invalid-key', 'The key was revoked');
  if (refusal === 'full') {
    return new ProblemError('too-many-machines', 'Revoke keys of machines that are gone, or use another enrolment key');
  }
  const detail =
    'The key of this machine was revoked or has expired. Connect it by code, or with another enrolment key';
  return new ProblemError('machine-refused', detail);
}

/** Lets the machines of a fleet exchange an enrolment key for their own. */
export async function addEnrolmentRoutes(
  parent: ApiApp,
  { database: pool }: Pick<ApiDependencies, 'database'>,
): Promise<void> {
  await addJsonRoutes(parent, {}, (app) => {
    const onRequest = createMinuteLimit(app, MAX_ENROLMENTS_PER_MINUTE, uploaderOf);
    app.post('/v1/device/enrol', { ...ENROL_MACHINE, onRequest }, async (request, reply) => {
      const { machine_id: machineId, person = null } = request.body;
      refuseDemo(request.keyHolder);
      const { redactText } = await import('@recount/ingest/secrets');
      const machine = await redactText(request.body.machine);
      const place = { workspaceId: workspaceOf(request), enrolmentKeyId: uploaderOf(request) };
      const enrolling = { ...place, machine, machineId, person };
      const enrolled = await pool.withTransaction((transaction) => enrolMachine(transaction, enrolling));
      if (typeof enrolled === 'string') throw toEnrolmentProblem(enrolled);
      return reply
        .code(enrolled.isNew ? 201 : 200)
        .send({ access_token: enrolled.key, token_type: 'Bearer' as const, scope: 'ingest' });
    });
  });
}
