import { randomUUID } from 'node:crypto';
import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { finished, Readable } from 'node:stream';
import { PROBLEM_MEDIA_TYPE, PROBLEMS, type ProblemSlug } from '@recount/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ApiApp } from '../api-dependencies.ts';
import { ProblemError, renderProblem, toLogReason } from '../problems/problem-error.ts';
import { toProblemError } from '../problems/to-problem-error.ts';
import { REQUEST_ID_HEADER } from './request-log.ts';

/** Time for a client to read its answer and stop sending. */
const LINGER_MS = 2000;

/** Answers a request without a route; undefined if it cannot either. */
export type AnswerUnrouted = (request: FastifyRequest, reply: FastifyReply) => FastifyReply | undefined;

/** Answers every error of every route, and every request without a route, with application/problem+json. */
export function addProblemAnswers(app: ApiApp, answerUnrouted: AnswerUnrouted = () => undefined): void {
  const routes: { pattern: RegExp; methods: string[] }[] = [];
  app.addHook('onRoute', ({ url, method }) => {
    routes.push({ pattern: toPathPattern(url), methods: [method].flat() });
  });
  app.setErrorHandler((error, request, reply) => answerWithProblem(error, request, reply));
  app.setNotFoundHandler((request, reply) => {
    const answer = answerUnrouted(request, reply);
    if (answer !== undefined) return answer;
    const [path = ''] = request.url.split('?', 1);
    const allowed = new Set(routes.filter(({ pattern }) => pattern.test(path)).flatMap(({ methods }) => methods));
    if (allowed.size === 0) throw new ProblemError('not-found', 'There is nothing at this path');
    const allow = [...allowed].sort().join(', ');
    throw new ProblemError('method-not-allowed', `Allowed here: ${allow}`, { headers: { allow } });
  });
}

/** The body of a problem’s answer. */
export type RenderProblem = (
  problem: ProblemError,
  request: FastifyRequest,
) => Promise<{ type: string; body: string | Buffer }>;

/** The framework also calls this where no hook runs, so it sets the request id itself. */
export function answerWithProblem(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const problem = toProblemError(error);
  sendProblem(problem, request, reply, {
    type: PROBLEM_MEDIA_TYPE,
    body: JSON.stringify(renderProblem(problem, request.id)),
  });
}

/** The same for routes whose protocol has another form for errors. */
export async function answerWithRendered(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  render: RenderProblem,
): Promise<FastifyReply> {
  const problem = toProblemError(error);
  return sendProblem(problem, request, reply, await render(problem, request));
}

function sendProblem(
  problem: ProblemError,
  request: FastifyRequest,
  reply: FastifyReply,
  { type, body }: Awaited<ReturnType<RenderProblem>>,
): FastifyReply {
  const { status } = PROBLEMS[problem.slug];
  const level = status < 500 ? 'debug' : status === 500 ? 'error' : 'warn';
  // Not the problem's own text, which is for the client and may quote what it sent.
  const reason = problem.cause === undefined ? undefined : toLogReason(problem.cause);
  request.log[level]({ problem: problem.slug, reason }, 'request failed');
  reply.code(status).headers(problem.headers).header(REQUEST_ID_HEADER, request.id).type(type);
  if (!hasUnreadBody(request)) return reply.send(body);
  return reply.headers({ 'content-length': Buffer.byteLength(body) }).send(linger(body, request.raw));
}

/** True if the client has not finished sending its body. */
export function hasUnreadBody({ raw, headers }: FastifyRequest): boolean {
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  return hasBody && !raw.complete;
}

/**
 * The answer to a client that is still sending. It ends the connection, but not immediately. If it were closed with
 * unread bytes, it would be reset, and many clients would see the reset instead of the answer.
 */
function linger(body: string | Buffer, raw: IncomingMessage): Readable {
  const isOver = new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, LINGER_MS);
    finished(raw, { writable: false }, () => {
      clearTimeout(timer);
      resolve();
    });
  });
  async function* answer(): AsyncGenerator<string | Buffer> {
    yield body;
    raw.unpipe();
    raw.resume();
    await isOver;
  }
  return Readable.from(answer(), { objectMode: false });
}

const CLIENT_ERRORS: Readonly<Record<string, [ProblemSlug, string]>> = {
  HPE_HEADER_OVERFLOW: ['headers-too-large', 'The headers are larger than 16 KiB'],
  ERR_HTTP_REQUEST_TIMEOUT: ['request-timeout', 'The headers took too long'],
};

/**
 * Answers input that is not HTTP. It is not logged, because the offending packet may contain anything, e.g. a
 * transcript or a key.
 */
export function answerClientError(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return;
  const [slug, detail] = CLIENT_ERRORS[error.code ?? ''] ?? ['invalid-request', 'The request is not valid HTTP'];
  const problem = new ProblemError(slug, detail);
  const requestId = randomUUID();
  const body = JSON.stringify(renderProblem(problem, requestId));
  if (socket.writable) {
    const head = [
      `HTTP/1.1 ${problem.statusCode} ${STATUS_CODES[problem.statusCode]}`,
      `Content-Type: ${PROBLEM_MEDIA_TYPE}`,
      `Content-Length: ${Buffer.byteLength(body)}`,
      `${REQUEST_ID_HEADER}: ${requestId}`,
      'Connection: close',
    ];
    socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  }
  socket.destroy();
}

function toPathPattern(url: string): RegExp {
  const source = url
    .split('/')
    .map((segment) =>
      segment.startsWith(':') ? '[^/]+' : segment === '*' ? '.*' : segment.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'),
    )
    .join('/');
  return new RegExp(`^${source}$`);
}
