import { type JsonObject, type JsonValue, TOOL_KINDS } from '@recount/core';
import type { LiveWarningCode } from '@recount/core/live';
import { z } from 'zod';
import { countField, sessionIdField } from './fields.ts';
import { streamIdField } from './live.ts';
import { tokenFields } from './usage-figures.ts';

const nullableText = z.string().nullable();
const usdField = z.number().nullable().describe('US dollars');
const tokensSchema = z.object(tokenFields);

const eventFields = {
  session_id: sessionIdField,
  stream_id: streamIdField,
  timestampMs: z.number().describe('Milliseconds since 1970: the line’s own time, or when it was received'),
  isCut: z.literal(true).optional().describe('Something was too long for an event; the transcript has the whole'),
};
const lineFields = {
  ...eventFields,
  lineNumber: countField,
  isLarge: z.boolean().describe('The line is longer than 1 MiB: to be shown folded'),
};
const messageFields = {
  ...lineFields,
  parentToolUseId: z.string().optional().describe('The call that started the sub-agent that this is from or to'),
};

const promptFields = { toolUseId: nullableText, requestId: nullableText };
const optionSchema = z.object({ label: z.string(), description: nullableText });
const questionSchema = z.object({
  question: z.string(),
  header: nullableText,
  options: z.array(optionSchema),
  multiSelect: z.boolean(),
});

const summarySchema = z.object({
  agentSessionId: nullableText,
  model: nullableText,
  tokens: tokensSchema,
  tokensCover: z.enum(['stream', 'session']),
  reportedTokens: tokensSchema.nullable(),
  costUsd: usdField,
  lastResult: z.object({ success: z.boolean(), error: nullableText }).nullable(),
  stopReason: nullableText,
  lineCount: countField,
  warningCount: countField,
  lastActivityMs: z.number().nullable(),
});

/**
 * Server-sent events of a session by their `event` name, as `data` has them. They are the events that `recount run
 * --json` prints, with the ids of session and stream. The `id` of an event is an increasing number.
 */
export const LIVE_EVENT_SCHEMAS = {
  'session-start': z.object({
    ...lineFields,
    type: z.literal('session-start'),
    agent: z.string(),
    sessionId: z.string().describe('As the agent names its session; empty if the line has none'),
    model: nullableText,
    tools: z.array(z.string()),
    cwd: nullableText,
    version: nullableText,
  }),
  'tool-start': z.object({
    ...messageFields,
    type: z.literal('tool-start'),
    toolName: z.string(),
    toolKind: z.enum(TOOL_KINDS),
    toolId: z.string(),
    toolInput: z.string().describe('The input in one short line; may be empty'),
    input: z.custom<JsonValue>().describe('As the agent wrote it; null if it is too long'),
  }),
  'tool-end': z.object({
    ...messageFields,
    type: z.literal('tool-end'),
    toolName: nullableText,
    toolId: z.string(),
    toolOutput: z.string(),
    toolError: nullableText.describe('Null if the tool did not fail'),
    durationMs: z.number().nullable(),
    isUnpaired: z.literal(true).optional().describe('The call was not seen within 64 events or 2 seconds'),
  }),
  text: z.object({
    ...messageFields,
    type: z.literal('text'),
    text: z.string(),
    uuid: z.string().optional(),
    wasStreamed: z.boolean().describe('Its pieces came before, as `progress` events named `text`'),
  }),
  result: z.object({
    ...lineFields,
    type: z.literal('result'),
    isComplete: z.literal(true),
    success: z.boolean(),
    text: nullableText,
    error: nullableText,
    durationMs: z.number().nullable(),
    tokens: tokensSchema.describe('Of the stream so far'),
    costUsd: usdField,
    costDeltaUsd: usdField,
  }),
  prompt: z.object({
    ...lineFields,
    type: z.literal('prompt'),
    prompt: z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('question'), ...promptFields, questions: z.array(questionSchema) }),
      z.object({
        kind: z.literal('confirmation'),
        reason: z.enum(['permission_request', 'plan_approval', 'permission_denied']),
        ...promptFields,
        toolName: nullableText,
        toolInput: z.custom<JsonValue>(),
        message: nullableText,
      }),
    ]),
  }),
  progress: z.object({
    ...messageFields,
    type: z.literal('progress'),
    name: z.string().describe('`thinking`, `text` (a piece of one), `user`, `system/status`, …'),
    text: z.string(),
    isError: z.boolean(),
    checkpoint: z.string().optional().describe('The uuid of a user’s message that the session can be rewound to'),
  }),
  unknown: z.object({
    ...lineFields,
    type: z.literal('unknown'),
    name: z.string(),
    original: z.custom<JsonObject>().describe('The line; empty if it is too long'),
  }),
  warning: z.object({
    ...eventFields,
    type: z.literal('warning'),
    warning: z.object({
      code: z.custom<LiveWarningCode>((code) => typeof code === 'string'),
      message: z.string(),
      lineNumber: countField,
      byteOffset: countField,
      quote: z.string().optional(),
    }),
  }),
  close: z.object({
    ...eventFields,
    type: z.literal('close'),
    state: z.enum(['complete', 'error']),
    success: z.boolean(),
    aborted: z.boolean(),
    error: nullableText,
    stopReason: nullableText,
    exit: z
      .object({ exitCode: z.number().nullable(), signal: nullableText, stderrTail: z.string().optional() })
      .optional(),
    summary: summarySchema.optional(),
  }),
} as const;

export type LiveEventName = keyof typeof LIVE_EVENT_SCHEMAS;

/** The `data` of an event as a follower gets it. */
export type FollowedEvent = z.infer<(typeof LIVE_EVENT_SCHEMAS)[LiveEventName]>;
