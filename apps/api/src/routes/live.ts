import {
  liveHeadersSchema,
  liveListQuerySchema,
  liveListSchema,
  liveOffsetQuerySchema,
  liveParamsSchema,
  liveQuerySchema,
  liveReceiptSchema,
  MAX_LIVE_STREAMS_LISTED,
} from '@recount/contract';
import { findLiveStream, listLiveStreams } from '@recount/db';
import { newStreamId, tendLiveStreams } from '@recount/ingest';
import { z } from 'zod';
import type { ApiApp, ApiDependencies } from '../api-dependencies.ts';
import type { LiveConfig } from '../config.ts';
import type { SpaceWatch } from '../disk-space/space-watch.ts';
import { chooseLiveDecoder } from '../live/decode-chunks.ts';
import { createLiveReceiver } from '../live/receive-live.ts';
import { toLiveStream } from '../live/to-live-stream.ts';
import { personOf, uploaderOf, workspaceOf } from '../plugins/authentication.ts';
import { problemResponse } from '../plugins/openapi.ts';
import { ProblemError, toLogReason } from '../problems/problem-error.ts';
import { addLiveEventRoutes } from './live-events.ts';

const MAX_TEND_INTERVAL_MS = 30_000;
const OFFSET_HEADER = 'recount-offset';

const DESCRIPTION = [
  'The body is the agent’s output as it is produced, line by line, while the agent runs.',
  'Bytes are stored within a second; if the connection breaks, the stream stays open.',
  'Send the encoding `recount-chunked`, or a Content-Digest, to have the bytes checked before they are stored.',
  'To continue, use HEAD to find where the stored bytes end, and send from there, with `Recount-Offset`.',
  'If the first lines of the output name no session, send it with the stream’s own id as session id; a later request under the',
  'session that it has named by then moves the stream there.',
  'The request with `Recount-Complete: ?1` ends the stream, which then becomes a transcript of the session;',
  'it may be repeated until it is answered.',
].join(' ');

type Deps = ApiDependencies & { space: Pick<SpaceWatch, 'assertRoom'> };

const SEND_LIVE_STREAM = {
  config: { scope: 'ingest', reveals: 'nothing', isRateLimited: false },
  schema: {
    operationId: 'sendLiveStream',
    summary: 'Send the output of a running agent',
    description: DESCRIPTION,
    tags: ['live'],
    params: liveParamsSchema,
    querystring: liveQuerySchema,
    headers: liveHeadersSchema,
    response: {
      200: liveReceiptSchema,
      400: problemResponse('A chunk does not match its digest; everything before it is stored'),
      408: problemResponse('No data for too long; the stream is closed'),
      409: problemResponse(
        'Bytes are missing, see Recount-Offset; or the stream has other bytes there; or it is closed, or another request has it',
      ),
      413: problemResponse('The stream has reached its limit; everything before it is stored'),
    },
  },
} as const;

const GET_LIVE_OFFSET = {
  config: { scope: 'ingest', reveals: 'nothing', swagger: { exposeHeadRoute: true } },
  schema: {
    operationId: 'getLiveOffset',
    summary: 'Ask how much of a stream is stored',
    description:
      'In the header `Recount-Offset`; `Recount-Complete: ?1` says that the stream has ended and accepts nothing more.',
    tags: ['live'],
    params: liveParamsSchema,
    querystring: liveOffsetQuerySchema,
    response: {
      200: z.undefined().describe('No body'),
      404: problemResponse('The session has no such stream'),
    },
  },
} as const;

const LIST_LIVE_STREAMS = {
  config: { scope: 'read', reveals: 'figures' },
  schema: {
    operationId: 'listLiveStreams',
    summary: 'List what runs now',
    tags: ['live'],
    querystring: liveListQuerySchema,
    response: { 200: liveListSchema },
  },
} as const;

/** The end of a process, if its stream is complete. */
const readCompletion = (headers: z.output<typeof liveHeadersSchema>) =>
  headers['recount-complete']
    ? { exitCode: headers['recount-exit-code'], exitSignal: headers['recount-exit-signal'] }
    : undefined;

/** Streams of running agents, with sending and reading them. */
export function addLiveRoutes(app: ApiApp, deps: Deps, config: LiveConfig): void {
  const { database } = deps.database;
  const receiver = createLiveReceiver(deps, config);
  app.addHook('preClose', async () => receiver.stop());
  addTending(app, deps, config);
  addLiveEventRoutes(app, deps, config);

  app.post('/v1/sessions/:session_id/live', SEND_LIVE_STREAM, async (request, reply) => {
    const { query, headers, params } = request;
    const decode = chooseLiveDecoder(headers);
    await deps.space.assertRoom();
    if (headers.expect !== undefined) reply.raw.writeContinue();
    // Silence on the stream has a separate limit.
    request.raw.socket.setTimeout(2 * config.idleTimeoutMs);
    const streamId = headers['recount-stream'] ?? newStreamId();
    const workspaceId = workspaceOf(request);
    const received = await receiver.receive({
      workspaceId,
      uploaderKeyId: uploaderOf(request),
      machine: query.machine,
      person: personOf(request, query.person),
      streamId,
      sessionId: params.session_id,
      agent: query.agent,
      sourceFormat: query.source_format,
      path: query.path,
      offset: headers['recount-offset'],
      body: request.raw,
      decode,
      completion: readCompletion(headers),
    });
    const { state, stored_bytes, transcript_id } = received;
    request.log.info(
      { workspaceId, streamId, state, storedBytes: stored_bytes, transcriptId: transcript_id },
      'live stream',
    );
    reply.header(OFFSET_HEADER, String(stored_bytes));
    return { stream_id: streamId, state, stored_bytes, transcript_id };
  });

  app.head('/v1/sessions/:session_id/live', GET_LIVE_OFFSET, async (request, reply) => {
    const key = { workspaceId: workspaceOf(request), streamId: request.query.stream };
    const stream = await findLiveStream(database, key);
    const isOfSession = stream?.session_id === request.params.session_id || stream?.session_id === stream?.id;
    if (stream === undefined || !isOfSession) {
      throw new ProblemError('not-found', 'The session has no such stream');
    }
    reply.header(OFFSET_HEADER, String(stream.stored_bytes));
    reply.header('recount-complete', stream.state === 'open' ? '?0' : '?1');
    return reply.send();
  });

  app.get('/v1/live', LIST_LIVE_STREAMS, async (request) => {
    const { state, session_id: sessionId } = request.query;
    const isOpen = state === 'all' ? undefined : state === 'running';
    const filter = { isOpen, sessionId };
    const streams = await listLiveStreams(database, workspaceOf(request), filter, MAX_LIVE_STREAMS_LISTED);
    return { streams: streams.map(toLiveStream) };
  });
}

/** Regularly ends abandoned streams and does similar maintenance. */
function addTending(app: ApiApp, deps: ApiDependencies, config: LiveConfig): void {
  const { idleTimeoutMs, eventRetentionMs } = config;
  let timer: NodeJS.Timeout | undefined;
  let tending: Promise<void> | undefined;
  const onFailure = (error: unknown, fields = {}): void =>
    deps.log.warn({ ...fields, reason: toLogReason(error) }, 'maintenance of live streams failed');
  const tend = async (): Promise<void> => {
    try {
      const options = { idleTimeoutMs, eventRetentionMs };
      await tendLiveStreams(deps, { ...options, onFailure: (stream, error) => onFailure(error, stream) });
    } catch (error) {
      onFailure(error);
    } finally {
      tending = undefined;
    }
  };
  app.addHook('onListen', async () => {
    timer = setInterval(
      () => {
        tending ??= tend();
      },
      Math.min(MAX_TEND_INTERVAL_MS, idleTimeoutMs / 2),
    );
    timer.unref();
  });
  app.addHook('onClose', async () => {
    clearInterval(timer);
    await tending;
  });
}
