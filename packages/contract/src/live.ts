import { DEFAULT_AGENT_ID, RUNNABLE_AGENTS } from '@recount/core';
import { z } from 'zod';
import { LIVE_STREAM_STATES } from './choices.ts';
import {
  countField,
  MAX_PATH_LENGTH,
  machineParameter,
  newSessionIdParameter,
  personParameter,
  sessionIdField,
  sessionIdParameter,
  text,
  timestampField,
} from './fields.ts';
import { tokenFields } from './usage-figures.ts';

const agentField = z.enum(RUNNABLE_AGENTS.map(({ id }) => id));

export const LIVE_MEDIA_TYPE = 'application/x-ndjson';
export const EVENT_STREAM_MEDIA_TYPE = 'text/event-stream';

/** A Content-Encoding for live streams. Each chunk is preceded by its length and SHA-256. */
export const LIVE_CHUNK_ENCODING = 'recount-chunked';
/** Longer chunks in that encoding are rejected, as is a body that also has a digest header. */
export const MAX_LIVE_CHUNK_BYTES = 256 * 1024;

const MAX_FORMAT_LENGTH = 100;

/** A ULID made by the client. It identifies one run of an agent, so that a request may be repeated or resumed. */
export const streamIdField = z
  .string()
  .regex(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/, 'Not a ULID in upper case')
  .describe('Stream id, a ULID: one run of an agent');

export const liveParamsSchema = z.object({ session_id: newSessionIdParameter });

export const liveQuerySchema = z.strictObject({
  agent: agentField.default(DEFAULT_AGENT_ID).describe('Whose output it is; fixed by the first request'),
  source_format: text(MAX_FORMAT_LENGTH).optional().describe('The agent’s name for it, e.g. `stream-json`'),
  path: z.string().max(MAX_PATH_LENGTH).optional().describe('Where the output is also stored, if anywhere'),
  machine: machineParameter.optional(),
  person: personParameter.optional(),
});

const offsetHeader = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const booleanHeader = z.enum(['?0', '?1']).transform((value) => value === '?1');

/** In lower case, as Node gives them. Booleans use the syntax of structured fields (RFC 9651): `?1` is true. */
export const liveHeadersSchema = z.object({
  'recount-stream': streamIdField.optional().describe('Names the run; left out, the server makes a name'),
  'recount-offset': offsetHeader
    .default(0)
    .describe('Where in the stream this body begins, in bytes. What the server has already is compared with it'),
  'recount-complete': booleanHeader
    .default(false)
    .describe('`?1` means the agent has ended, and this body is the last of its stream; it may be empty'),
  'content-encoding': z
    .string()
    .optional()
    .describe(
      `In \`${LIVE_CHUNK_ENCODING}\`, each chunk comes as \`<length, hexadecimal>;sha-256=:<base64>:\`, CR LF, at most ${MAX_LIVE_CHUNK_BYTES} bytes, CR LF, and is stored once it was compared`,
    ),
  'content-digest': z
    .string()
    .optional()
    .describe(
      `Digest of the body (RFC 9530), which is then stored as a whole and has ${MAX_LIVE_CHUNK_BYTES} bytes at most`,
    ),
  'recount-exit-code': z.coerce
    .number()
    .int()
    .min(0)
    .max(255)
    .optional()
    .describe('Exit code of the agent; with Recount-Complete'),
  'recount-exit-signal': z
    .string()
    .regex(/^SIG[A-Z0-9]{1,16}$/, 'Not the name of a signal')
    .optional()
    .describe('That ended the agent; with Recount-Complete'),
});

export const liveOffsetQuerySchema = z.strictObject({ stream: streamIdField });

const liveStreamStateSchema = z.enum(LIVE_STREAM_STATES).meta({
  id: 'LiveStreamState',
  description: [
    '`open` means more may arrive.',
    '`closing` means the agent has ended; its stream is becoming a transcript.',
    '`closed` means the bytes are stored as a transcript.',
  ].join(' '),
});

export const liveReceiptSchema = z
  .object({
    stream_id: streamIdField,
    state: liveStreamStateSchema,
    stored_bytes: countField.describe(
      'Bytes of the stream that are stored permanently; also in the header Recount-Offset',
    ),
    transcript_id: z
      .string()
      .nullable()
      .describe('The transcript that the stream has become. Null before, and for agents whose streams are only stored'),
  })
  .meta({ id: 'LiveReceipt', description: 'How much of a stream is stored' });

export type LiveReceipt = z.infer<typeof liveReceiptSchema>;

const usdField = z.number().describe('US dollars');

const liveStreamSchema = z
  .object({
    stream_id: streamIdField,
    session_id: sessionIdField,
    agent: agentField,
    source_format: z.string().nullable(),
    state: liveStreamStateSchema,
    stored_bytes: countField,
    line_count: countField.describe('JSON objects read'),
    warning_count: countField,
    agent_session_id: z.string().nullable().describe('As the agent itself names its session or thread'),
    model: z.string().nullable(),
    ...tokenFields,
    cost_usd: usdField.nullable().describe('The agent’s own figure, the latest; null if it gives none'),
    started_at: timestampField,
    last_received_at: timestampField,
    ended_at: timestampField.nullable(),
    success: z.boolean().nullable().describe('Null while it is open'),
    aborted: z.boolean().nullable().describe('Ended by a signal, or silent for too long'),
    error: z.string().nullable(),
    stop_reason: z.string().nullable(),
    transcript_id: z.string().nullable(),
  })
  .meta({ id: 'LiveStream', description: 'One run of an agent, as it came' });

export type LiveStream = z.infer<typeof liveStreamSchema>;

export const MAX_LIVE_STREAMS_LISTED = 500;

export const liveListQuerySchema = z.strictObject({
  state: z
    .enum(['running', 'ended', 'all'])
    .default('running')
    .describe('`running` are open ones. `ended` are the others, as long as they are listed'),
  session_id: sessionIdParameter.optional(),
});

export const liveListSchema = z
  .object({ streams: z.array(liveStreamSchema).describe(`The newest first, at most ${MAX_LIVE_STREAMS_LISTED}`) })
  .meta({ id: 'LiveList', description: 'Streams of agents' });

export type LiveList = z.infer<typeof liveListSchema>;

/** The totals of a session's live streams, in `GET /v1/sessions/{id}`. */
export const liveTotalsSchema = z
  .object({
    stream_count: countField.describe('Streams that have ended'),
    running_count: countField.describe('Streams that are open'),
    ...tokenFields,
    cost_usd: usdField.nullable().describe('Cost of the streams that have ended, as the agents reported it'),
    model: z.string().nullable().describe('The first one named'),
  })
  .meta({
    id: 'LiveTotals',
    description:
      'Totals of a session’s streams that have ended; one that was abandoned and sent again as a whole counts once',
  });

export const checkpointListSchema = z
  .object({
    session_id: sessionIdField,
    checkpoints: z.array(z.string()).describe('UUIDs of user messages, the oldest first, each once, the newest 100'),
  })
  .meta({ id: 'CheckpointList', description: 'Points that a session can be rewound to' });

export const liveEventQuerySchema = z.strictObject({
  follow: z
    .enum(['true', 'false'])
    .default('true')
    .transform((value) => value === 'true')
    .describe('With `false`, the response ends after the last event, once no stream of the session is open'),
  last_event_id: z
    .string()
    .regex(/^\d{1,15}$/, 'Not an id of an event')
    .optional()
    .describe('For clients that cannot send the header Last-Event-ID'),
});

export const liveEventHeadersSchema = z.object({
  'last-event-id': z
    .string()
    .max(100)
    .optional()
    .describe('The last event that the client has. The response starts after it'),
});
