import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { readTelemetry, type TelemetryRecord, type TelemetrySignal } from '@recount/core';
import { storeTelemetry } from '@recount/db';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ApiApp, ApiDependencies } from '../api-dependencies.ts';
import type { ApiConfig } from '../config.ts';
import { decodeJson, decodeProtobuf, encodeProtobuf, MAX_OTLP_VALUES, TooManyValuesError } from '../otlp/otlp-codec.ts';
import type { OtlpMessages } from '../otlp/otlp-schema.ts';
import { toEvents, toPoints, toSpans } from '../otlp/to-signals.ts';
import { personOf, uploaderOf, workspaceOf } from '../plugins/authentication.ts';
import { problemResponse } from '../plugins/openapi.ts';
import { answerWithRendered, type RenderProblem } from '../plugins/problem-answers.ts';
import { ProblemError } from '../problems/problem-error.ts';
import { readBody } from '../uploads/read-body.ts';
import { createUploadSlots } from '../uploads/receive-file.ts';

const MIB = 1024 ** 2;
/** Exporters send at most 512 log records or spans together. Agents that log much need some hundred kilobytes for these. */
const MAX_BODY_BYTES = 8 * MIB;
const MAX_DECODED_BYTES = 16 * MIB;
/** Requests whose bodies are read, decompressed and decoded at a time, which bounds what they take of the memory. */
const MAX_CONCURRENT_REQUESTS = 16;
/** Exporters send a few kilobytes; each byte adds to it. */
const PATIENCE_MS = 60_000;
/** Log records, points of sums or spans of one request. */
const MAX_SIGNALS = 20_000;

const PROTOBUF = 'application/x-protobuf';
const JSON_TYPE = 'application/json';

type RequestName = 'LogsRequest' | 'MetricsRequest' | 'TracesRequest';

interface SignalRoute<Name extends RequestName> {
  message: Name;
  toSignals(message: OtlpMessages[Name]): Iterable<TelemetrySignal>;
  /** JSON’s name for the number of rejected ones. */
  rejected: string;
  operationId: string;
  summary: string;
}

const LOGS: SignalRoute<'LogsRequest'> = {
  message: 'LogsRequest',
  toSignals: toEvents,
  rejected: 'rejectedLogRecords',
  operationId: 'receiveOtlpLogs',
  summary: 'Receive log records by OTLP',
};
const METRICS: SignalRoute<'MetricsRequest'> = {
  message: 'MetricsRequest',
  toSignals: toPoints,
  rejected: 'rejectedDataPoints',
  operationId: 'receiveOtlpMetrics',
  summary: 'Receive metrics by OTLP',
};
const TRACES: SignalRoute<'TracesRequest'> = {
  message: 'TracesRequest',
  toSignals: toSpans,
  rejected: 'rejectedSpans',
  operationId: 'receiveOtlpTraces',
  summary: 'Receive spans by OTLP',
};

const responses = (rejected: string) => ({
  200: z
    .object({ partialSuccess: z.object({ [rejected]: z.string(), errorMessage: z.string() }).optional() })
    .describe('Received; in the encoding of the request. `partialSuccess` if a part was left out'),
  413: problemResponse(
    `Larger than ${MAX_BODY_BYTES / MIB} MiB, or ${MAX_DECODED_BYTES / MIB} MiB decompressed, or with more than ${MAX_OTLP_VALUES.toLocaleString('en')} values`,
  ),
  408: problemResponse('The body stalled for too long'),
  415: problemResponse(`Neither ${PROTOBUF} nor ${JSON_TYPE}, or compressed by something other than gzip`),
});

/** Receives the telemetry of agents, as OTLP by HTTP. Keeps the figures of API responses only, and no text. */
export async function addOtlpRoutes(
  parent: ApiApp,
  { database }: Pick<ApiDependencies, 'database'>,
  { uploadIdleTimeoutMs: idleTimeoutMs }: Pick<ApiConfig, 'uploadIdleTimeoutMs'>,
): Promise<void> {
  const slots = createUploadSlots(MAX_CONCURRENT_REQUESTS, 'exports of telemetry');
  await parent.register(async (scope) => {
    const app = scope as ApiApp;
    // The body is left in the socket until the request has a place.
    app.addContentTypeParser([PROTOBUF, JSON_TYPE], (_request, _payload, done) => done(null, WAITING));
    app.setErrorHandler((error, request, reply) => answerWithRendered(error, request, reply, renderStatus));
    const add = <Name extends RequestName>(path: string, route: SignalRoute<Name>): void => {
      const { operationId, summary, rejected } = route;
      const description =
        'For exporters of OpenTelemetry: `OTEL_EXPORTER_OTLP_ENDPOINT` is the URL up to `/v1/otlp`. What agents say about API responses is stored, beside the transcripts and never as a part of their figures; everything else is left out, and accepted. It is safe to repeat.';
      const schema = { operationId, summary, description, tags: ['telemetry'], response: responses(rejected) };
      app.post(
        path,
        { config: { scope: 'ingest', reveals: 'nothing' }, schema, serializerCompiler: () => String },
        async (request, reply) => {
          const { records, rejectedCount } = await slots.run(uploaderOf(request), async () => {
            const message = await decodeRequest(route.message, request, idleTimeoutMs);
            return readRecords(route.toSignals(message), personOf(request, undefined));
          });
          await storeTelemetry(database.database, workspaceOf(request), records);
          const partial =
            rejectedCount === 0
              ? undefined
              : { rejected: rejectedCount, errorMessage: `At most ${MAX_SIGNALS} are read in one request` };
          if (isJson(request)) {
            const { rejected: count, errorMessage } = partial ?? {};
            return reply
              .type(JSON_TYPE)
              .send(
                JSON.stringify(
                  partial === undefined ? {} : { partialSuccess: { [route.rejected]: String(count), errorMessage } },
                ),
              );
          }
          const answer = await encodeProtobuf(
            'ExportResponse',
            partial === undefined ? {} : { partialSuccess: partial },
          );
          return reply.type(PROTOBUF).send(Buffer.from(answer));
        },
      );
    };
    add('/v1/otlp/v1/logs', LOGS);
    add('/v1/otlp/v1/metrics', METRICS);
    add('/v1/otlp/v1/traces', TRACES);
  });
}

const isJson = ({ headers }: FastifyRequest): boolean => headers['content-type']?.startsWith(JSON_TYPE) === true;

/** The records of a request’s signals, and how many signals beyond the limit were not read. */
function readRecords(
  signals: Iterable<TelemetrySignal>,
  person: string | undefined,
): { records: TelemetryRecord[]; rejectedCount: number } {
  const records: TelemetryRecord[] = [];
  let count = 0;
  for (const signal of signals) {
    count++;
    const record = count > MAX_SIGNALS ? undefined : readTelemetry(signal);
    // The person of a key is known, the one that a program names is claimed.
    if (record !== undefined) records.push(person === undefined ? record : { ...record, person });
  }
  return { records, rejectedCount: Math.max(0, count - MAX_SIGNALS) };
}

async function decodeRequest<Name extends RequestName>(
  name: Name,
  request: FastifyRequest,
  idleTimeoutMs: number,
): Promise<OtlpMessages[Name]> {
  if (request.body !== WAITING) {
    if (request.headers['content-type'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0)
      throw new ProblemError('unsupported-media-type', `Send ${PROTOBUF} or ${JSON_TYPE}`);
    return {};
  }
  const bytes = await decompressBody(await collectBody(request, idleTimeoutMs), request.headers['content-encoding']);
  try {
    return await (isJson(request) ? decodeJson(name, bytes) : decodeProtobuf(name, bytes));
  } catch (cause) {
    if (cause instanceof TooManyValuesError) {
      throw new ProblemError('request-too-large', `At most ${MAX_OTLP_VALUES.toLocaleString('en')} values`, { cause });
    }
    // Not the decoder’s own words, which may quote the body.
    throw new ProblemError('invalid-request', 'The body is not the message of OTLP that belongs to this path', {
      cause: new Error('not OTLP', { cause }),
    });
  }
}

/** The body of a request that has one, of a type that is known. */
const WAITING = Symbol('waiting');

async function collectBody({ headers, raw }: FastifyRequest, idleTimeoutMs: number): Promise<Buffer> {
  const tooLarge = new ProblemError('request-too-large', `At most ${MAX_BODY_BYTES / MIB} MiB`);
  if (Number(headers['content-length'] ?? 0) > MAX_BODY_BYTES) throw tooLarge;
  const chunks: Buffer[] = [];
  const limits = { idleTimeoutMs, remainingBytes: MAX_BODY_BYTES, patienceMs: PATIENCE_MS };
  try {
    for await (const chunk of readBody(raw, limits)) chunks.push(chunk);
  } catch (error) {
    throw limits.remainingBytes < 0 ? tooLarge : error;
  }
  return Buffer.concat(chunks);
}

const gunzipBody = promisify(gunzip);

async function decompressBody(body: Buffer, encoding = 'identity'): Promise<Uint8Array> {
  const name = encoding.trim().toLowerCase();
  if (name === 'identity' || name === '') return body;
  if (name !== 'gzip' && name !== 'x-gzip') {
    const headers = { 'accept-encoding': 'gzip' };
    throw new ProblemError('unsupported-encoding', 'Accepted are gzip, or none', { headers });
  }
  try {
    return await gunzipBody(body, { maxOutputLength: MAX_DECODED_BYTES });
  } catch (cause) {
    if ((cause as { code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE') {
      throw new ProblemError('request-too-large', `At most ${MAX_DECODED_BYTES / MIB} MiB, decompressed`, { cause });
    }
    throw new ProblemError('broken-encoding', 'The body is not gzip', { cause });
  }
}

/** Codes of google.rpc.Code by status; 2 (unknown) for others. */
const STATUS_CODES: Readonly<Record<number, number>> = { 400: 3, 401: 16, 403: 7, 413: 3, 415: 3, 429: 8, 503: 14 };

/** A problem as the message that OTLP has for errors, in the encoding of the request. */
const renderStatus: RenderProblem = async (problem, request) => {
  const status = { code: STATUS_CODES[problem.statusCode] ?? 2, message: problem.message };
  return isJson(request)
    ? { type: JSON_TYPE, body: JSON.stringify(status) }
    : { type: PROTOBUF, body: Buffer.from(await encodeProtobuf('Status', status)) };
};
