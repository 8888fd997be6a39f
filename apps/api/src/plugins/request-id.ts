import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { ApiApp } from '../api-dependencies.ts';

export const REQUEST_ID_HEADER = 'x-request-id';

/** What may go into logs and headers as it is. */
const SANE_REQUEST_ID = /^[A-Za-z0-9._~:/+=-]{1,128}$/;

/** The client's X-Request-Id where it is a sane one, else a new one. */
export function toRequestId({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const given = headers[REQUEST_ID_HEADER];
  return typeof given === 'string' && SANE_REQUEST_ID.test(given) ? given : randomUUID();
}

export function addRequestId(app: ApiApp): void {
  app.addHook('onRequest', async (request, reply) => {
    reply.header(REQUEST_ID_HEADER, request.id);
  });
}
