import type { LIVE_STREAM_STATES } from '@recount/contract/choices';
import { bigint, boolean, customType, index, integer, primaryKey, sql, text } from '../drizzle.cjs';
import { bytes, identifier, isoTimestamp, recountSchema, tokens, usd } from './column-types.ts';
import { TOKEN_CLASSES, toColumns } from './usage-columns.ts';
import { workspaces } from './workspaces.ts';

/**
 * open means more may come. closing means ended, and about to become a transcript. closed means stored in the raw
 * store.
 */
export type LiveStreamState = (typeof LIVE_STREAM_STATES)[number];

/** Uploader of a stream that several keys have sent. */
export const SEVERAL_UPLOADERS = 'several';

/** Pairs of an offset and when the bytes before it were received, in milliseconds since 1970. */
const arrivalList = customType<{ data: [endOffset: number, timeMs: number][] }>({
  dataType: () => 'jsonb',
  toDriver: (value) => JSON.stringify(value),
});

/** The live state of a session. Writers of its events lock the row, so that events come in the order of their ids. */
export const liveSessions = recountSchema.table(
  'live_sessions',
  {
    workspace_id: identifier()
      .notNull()
      .references(() => workspaces.id),
    session_id: identifier().notNull(),
    last_event_id: bigint({ mode: 'number' }).notNull().default(0),
    checkpoints: text().array().notNull().default([]),
  },
  (table) => [primaryKey({ name: 'live_sessions_pk', columns: [table.workspace_id, table.session_id] })],
);

/** One run of an agent whose output arrives while it runs. */
export const liveStreams = recountSchema.table(
  'live_streams',
  {
    workspace_id: identifier()
      .notNull()
      .references(() => workspaces.id),
    id: identifier().notNull(),
    session_id: identifier().notNull(),
    agent: text().notNull(),
    source_format: text(),
    path: text(),
    /** Id of the API key that began it; SEVERAL_UPLOADERS once another one has continued it. */
    uploader_key_id: identifier(),
    /** As stated by the request that began it. */
    machine: text(),
    person: text(),
    state: text().$type<LiveStreamState>().notNull().default('open'),
    /** The request that appends; another one takes over by writing its own id. */
    writer_id: text().notNull(),
    stored_bytes: bigint({ mode: 'number' }).notNull().default(0),
    line_count: integer().notNull().default(0),
    warning_count: integer().notNull().default(0),
    agent_session_id: text(),
    model: text(),
    ...toColumns(TOKEN_CLASSES, tokens),
    cost_usd: usd(),
    stop_reason: text(),
    started_at: isoTimestamp().notNull().default(sql`now()`),
    last_received_at: isoTimestamp().notNull().default(sql`now()`),
    ended_at: isoTimestamp(),
    success: boolean(),
    aborted: boolean(),
    /** False if another stream of the session has all of its bytes, and counts instead. */
    is_counted: boolean().notNull().default(true),
    error: text(),
    transcript_id: identifier(),
    object_key: text(),
    /** Checksum of the object; null if there is no object, or an older version stored it without one. */
    sha256: text(),
    arrivals: arrivalList(),
    /** False once they are pruned. */
    has_events: boolean().notNull().default(true),
  },
  (table) => [
    primaryKey({ name: 'live_streams_pk', columns: [table.workspace_id, table.id] }),
    index('live_streams_session').on(table.workspace_id, table.session_id),
    index('live_streams_transcript').on(table.workspace_id, table.transcript_id),
    index('live_streams_unfinished').on(table.workspace_id, table.last_received_at).where(sql`state <> 'closed'`),
    index('live_streams_prunable').on(table.ended_at).where(sql`has_events`),
  ],
);

/** Bytes of a stream as received; deleted once the whole is in the raw store. */
export const liveChunks = recountSchema.table(
  'live_chunks',
  {
    workspace_id: identifier().notNull(),
    stream_id: identifier().notNull(),
    byte_offset: bigint({ mode: 'number' }).notNull(),
    bytes: bytes().notNull(),
    received_at: isoTimestamp().notNull(),
    /** The last emission of waiting events between these bytes and the next ones; null if none were. */
    polled_at: isoTimestamp(),
  },
  (table) => [
    primaryKey({ name: 'live_chunks_pk', columns: [table.workspace_id, table.stream_id, table.byte_offset] }),
  ],
);

/** Events of a session's streams, for its followers. */
export const liveEvents = recountSchema.table(
  'live_events',
  {
    workspace_id: identifier().notNull(),
    session_id: identifier().notNull(),
    id: bigint({ mode: 'number' }).notNull(),
    stream_id: identifier().notNull(),
    name: text().notNull(),
    /** A JSON object, as readers get it, but without the ids of session and stream. */
    data: text().notNull(),
  },
  (table) => [primaryKey({ name: 'live_events_pk', columns: [table.workspace_id, table.session_id, table.id] })],
);
