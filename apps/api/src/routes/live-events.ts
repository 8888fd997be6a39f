import { Readable } from 'node:stream';
import { isDeepStrictEqual } from 'node:util';
import {
  checkpointListSchema,
  EVENT_STREAM_MEDIA_TYPE,
  LIVE_EVENT_SCHEMAS,
  liveEventHeadersSchema,
  liveEventQuerySchema,
  liveParamsSchema,
} from '@recount/contract';
import {
  type Database,
  findKeyHolder,
  findLiveSession,
  findLiveStream,
  findSession,
  hashApiKey,
  type KeyHolder,
  type LiveSessionKey,
  listCheckpoints,
  listOwnNames,
  readNamesMark,
} from '@recount/db';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { toAccess } from '../access/access.ts';
import type { ApiApp, ApiDependencies } from '../api-dependencies.ts';
import type { LiveConfig } from '../config.ts';
import { toEventStream } from '../live/event-stream.ts';
import { LiveBell } from '../live/live-bell.ts';
import { mergeCheckpoints } from '../live/merge-checkpoints.ts';
import { toRunningStream } from '../live/running-stream.ts';
import { workspaceOf } from '../plugins/authentication.ts';
import { readCredential } from '../plugins/credentials.ts';
import { problemResponse, toResponse } from '../plugins/openapi.ts';
import { ProblemError, toLogReason } from '../problems/problem-error.ts';

type Deps = Pick<ApiDependencies, 'database' | 'log'>;

const RETRY_AFTER_SECONDS = '5';
const MAX_CHECKPOINTS = 100;
/** Open pages of the dashboard; each also holds one of the few connections that a browser allows to a host. */
const MAX_WORKSPACE_READERS_PER_KEY = 16;

const DESCRIPTION = [
  `Server-sent events: ${Object.keys(LIVE_EVENT_SCHEMAS)
    .map((name) => `\`${name}\``)
    .join(', ')}.`,
  'The `data` is the JSON that `recount run --json` prints, with `session_id` and `stream_id`.',
  'A late reader gets all events so far that are still kept; `Last-Event-ID` continues after an event.',
  'Texts of more than 65,536 characters and names of more than 256 are cut, and the event is marked `isCut`.',
  'If the workspace has redaction on, secrets are removed, and texts arrive whole, not in pieces.',
].join(' ');

const notFound = problemResponse('The workspace has no such session, nor a stream of it');

const FOLLOW_SESSION = {
  exposeHeadRoute: false,
  config: { scope: 'read', reveals: 'texts' },
  schema: {
    operationId: 'followSession',
    summary: 'Follow a session',
    description: DESCRIPTION,
    tags: ['live'],
    params: liveParamsSchema,
    querystring: liveEventQuerySchema,
    headers: liveEventHeadersSchema,
    response: { 200: toResponse('Events as they happen', EVENT_STREAM_MEDIA_TYPE, z.string()), 404: notFound },
  },
} as const;

const FOLLOW_WORKSPACE = {
  exposeHeadRoute: false,
  config: { scope: 'read', reveals: 'figures' },
  schema: {
    operationId: 'followWorkspace',
    summary: 'Follow what runs',
    description: [
      'Server-sent events `running`, with the answer of `GET /v1/live?state=running` as `data`. They come at the start, when it has changed, at most once a second,',
      `and periodically. At most ${MAX_WORKSPACE_READERS_PER_KEY} concurrent readers per key.`,
    ].join(' '),
    tags: ['live'],
    response: {
      200: toResponse('Events as they happen', EVENT_STREAM_MEDIA_TYPE, z.string()),
      429: problemResponse('Too many concurrent readers'),
    },
  },
} as const;

const LIST_CHECKPOINTS = {
  config: { scope: 'read', reveals: 'texts' },
  schema: {
    operationId: 'listCheckpoints',
    summary: 'List the points that a session can be rewound to',
    description: [
      'User messages of all its transcripts and streams, in order of time, the newest last. `recount run` makes the agent repeat them',
      'in its stream if they are sent through its stdin.',
    ].join(' '),
    tags: ['live'],
    params: liveParamsSchema,
    response: { 200: checkpointListSchema, 404: notFound },
  },
} as const;

export function addLiveEventRoutes(app: ApiApp, deps: Deps, config: LiveConfig): void {
  const { database } = deps.database;
  const bell = new LiveBell(deps.database, (error) =>
    deps.log.warn({ reason: toLogReason(error) }, 'no notifications of live events, polling every second'),
  );
  const readers = new LiveReaders(config, database);
  app.addHook('preClose', async () => readers.close());
  app.addHook('onClose', () => bell.close());

  app.get('/v1/sessions/:session_id/events', FOLLOW_SESSION, async (request, reply) => {
    const session = { workspaceId: workspaceOf(request), sessionId: request.params.session_id };
    const live = await findLiveSession(database, session);
    const { workspaceId, sessionId } = session;
    // A stream without a session yet is followed by its own id.
    const stream = live ?? (await findLiveStream(database, { workspaceId, streamId: sessionId }));
    if (stream === undefined) await requireSession(database, session);
    const reader = readers.admit(request, reply);
    const lastId = toEventId(request.query.last_event_id ?? request.headers['last-event-id']);
    const events = toEventStream(
      { database, bell },
      {
        session,
        // The id may be from before the session was deleted and started again.
        afterId: lastId > (live?.last_event_id ?? 0) ? 0 : lastId,
        isFollowing: request.query.follow,
        onlyNames: request.onlyNames,
        ...reader,
      },
    );
    return sendEvents(reply, events);
  });

  app.get('/v1/live/events', FOLLOW_WORKSPACE, async (request, reply) => {
    const reader = readers.admitOfWorkspace(request, reply);
    return sendEvents(
      reply,
      toRunningStream({ database, bell }, { workspaceId: workspaceOf(request), reveal: request.reveal, ...reader }),
    );
  });

  app.get('/v1/sessions/:session_id/checkpoints', LIST_CHECKPOINTS, async (request) => {
    const session = { workspaceId: workspaceOf(request), sessionId: request.params.session_id };
    const live = await findLiveSession(database, session);
    if (live === undefined) await requireSession(database, session);
    const shown = live?.checkpoints ?? [];
    const stored = await listCheckpoints(database, session, { limit: MAX_CHECKPOINTS, known: shown });
    const checkpoints = mergeCheckpoints(stored, shown).slice(-MAX_CHECKPOINTS);
    return { session_id: session.sessionId, checkpoints };
  });
}

async function requireSession(database: Database, { workspaceId, sessionId }: LiveSessionKey): Promise<void> {
  if ((await findSession(database, workspaceId, sessionId)) !== undefined) return;
  throw new ProblemError('not-found', 'There is no such session, nor a stream of it');
}

/** The open connections that follow events, each counted until it closes. */
class LiveReaders {
  readonly #config: LiveConfig;
  readonly #database: Database;
  readonly #closing = new AbortController();
  #count = 0;
  /** The number that follow a workspace, by key id. */
  readonly #ofWorkspaces = new Map<string, number>();

  constructor(config: LiveConfig, database: Database) {
    this.#config = config;
    this.#database = database;
  }

  /** Ends all. */
  close(): void {
    this.#closing.abort();
  }

  /** Throws ProblemError if there are too many. */
  admit(request: FastifyRequest, reply: FastifyReply) {
    const { heartbeatMs, maxReaders, slowReaderTimeoutMs } = this.#config;
    if (this.#count >= maxReaders) throw tooManyReaders(maxReaders);
    const gone = new AbortController();
    // It may have left while its session was looked up.
    if (reply.raw.closed) gone.abort();
    else this.#watch(request, reply, gone);
    return {
      heartbeatMs,
      slowReaderTimeoutMs,
      signal: AbortSignal.any([gone.signal, this.#closing.signal, ...untilExpiry(request)]),
      onSlowReader: () => {
        request.log.info('slow reader of live events dropped');
        reply.raw.destroy();
      },
    };
  }

  /** Counts a reader until it leaves, and ends it when it may no longer see what it sees. */
  #watch(request: FastifyRequest, reply: FastifyReply, gone: AbortController): void {
    this.#count++;
    const holder = request.keyHolder;
    const mark = holder === null ? undefined : readMark(this.#database, holder).catch(() => undefined);
    let isChecking = false;
    const check = async (): Promise<void> => {
      if (isChecking) return;
      isChecking = true;
      try {
        if (!(await isUnchanged(this.#database, request, mark))) gone.abort();
      } catch (error) {
        request.log.warn({ reason: toLogReason(error) }, 'key of a reader not checked');
      } finally {
        isChecking = false;
      }
    };
    const checking = setInterval(check, this.#config.heartbeatMs).unref();
    reply.raw.once('close', () => {
      this.#count--;
      clearInterval(checking);
      gone.abort();
    });
  }

  /** The same for a reader of a whole workspace. Throws ProblemError also if its key has too many. */
  admitOfWorkspace(request: FastifyRequest, reply: FastifyReply) {
    const counts = this.#ofWorkspaces;
    const keyId = request.keyHolder?.keyId ?? '';
    const count = counts.get(keyId) ?? 0;
    if (count >= MAX_WORKSPACE_READERS_PER_KEY) throw tooManyReaders(MAX_WORKSPACE_READERS_PER_KEY);
    const reader = this.admit(request, reply);
    if (reply.raw.closed) return reader;
    counts.set(keyId, count + 1);
    reply.raw.once('close', () => {
      const left = (counts.get(keyId) ?? 1) - 1;
      if (left === 0) counts.delete(keyId);
      else counts.set(keyId, left);
    });
    return reader;
  }
}

function tooManyReaders(max: number): ProblemError {
  return new ProblemError('too-many-readers', `At most ${max} concurrent readers`, {
    headers: { 'retry-after': RETRY_AFTER_SECONDS },
  });
}

function sendEvents(reply: FastifyReply, events: AsyncGenerator<string>): FastifyReply {
  // Buffering proxies would hold back the events.
  reply.type(EVENT_STREAM_MEDIA_TYPE).header('x-accel-buffering', 'no');
  // On stop, the server waits for used connections, so none of these may be reused for another request.
  reply.header('connection', 'close');
  return reply.send(Readable.from(events, { objectMode: false }));
}

/** The longest timer in Node: 24 days. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** A signed-in browser asks again after this time, and is refused if it was signed out. */
const SIGNED_IN_READER_MS = 5 * 60_000;

/** The time that a reader may stay (until its key expires). The sign-in of a browser is checked again before. */
export function toReaderMs(holder: { expiresAt?: string | null; signInId?: string }, nowMs: number): number {
  const keyMs = holder.expiresAt == null ? Number.POSITIVE_INFINITY : Math.max(0, Date.parse(holder.expiresAt) - nowMs);
  return holder.signInId === undefined ? keyMs : Math.min(keyMs, SIGNED_IN_READER_MS);
}

/**
 * False once a key is revoked, expired or replaced, or its workspace shows it something else, because what a reader may see
 * is decided when it comes. Browsers ask again anyway.
 *
 * @param mark changes with the people whom it sees by name
 */
async function isUnchanged(
  database: Database,
  request: FastifyRequest,
  mark: Promise<string | undefined> | undefined,
): Promise<boolean> {
  const credential = readCredential(request);
  if (credential === undefined || !('key' in credential)) return true;
  const holder = await findKeyHolder(database, hashApiKey(credential.key));
  if (holder === undefined || holder.isExpired) return false;
  if (!isDeepStrictEqual(holder.policy, request.keyHolder?.policy)) return false;
  return mark === undefined || (await mark) === (await readMark(database, holder));
}

async function readMark(database: Database, holder: Omit<KeyHolder, 'isExpired'>): Promise<string> {
  const { names, person } = toAccess(holder);
  const ownNames = person === null ? [] : await listOwnNames(database, holder.workspaceId, person);
  return await readNamesMark(database, holder.workspaceId, holder.policy, { names, person, ownNames });
}

/** A reader may stay for days. It is ended when its key expires, and then refused. */
function untilExpiry({ keyHolder }: FastifyRequest): AbortSignal[] {
  const leftMs = toReaderMs(keyHolder ?? {}, Date.now());
  return leftMs > MAX_TIMER_MS ? [] : [AbortSignal.timeout(leftMs)];
}

/** 0, the beginning of the session's events, for anything that is not an event id. */
function toEventId(text: string | undefined): number {
  return /^\d{1,15}$/.test(text ?? '') ? Number(text) : 0;
}
