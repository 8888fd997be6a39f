import { TOOL_KINDS } from '@recount/core';
import { z } from 'zod';
import { attachmentReferenceSchema } from './attachments.ts';
import { TURN_KINDS } from './choices.ts';
import { countField, nextCursorField, pageQueryFields, text, timestampField, transcriptIdField } from './fields.ts';

/** Place in the raw transcript, of messages and content blocks alike. */
const placeFields = {
  line_number: z.int().min(1).describe('From 1, over all lines'),
  byte_offset: countField.describe('Where the line starts in the raw transcript'),
  byte_length: countField.describe('Length of the line, without its line feed'),
};

const messageIdField = z.string().regex(/^[0-9A-Z]{26}$/, 'Not the id of a message');

const metadata = z.record(z.string(), z.unknown());

const contentBlockSchema = z
  .object({
    id: z.string(),
    block_order: countField.describe('Position within the message, from 0'),
    block_type: z.string().describe('`text`, `thinking`, `tool_use`, `tool_result`, `image`, …'),
    content_text: z.string().nullable(),
    thinking_text: z.string().nullable(),
    tool_name: z.string().nullable(),
    tool_kind: z.enum(TOOL_KINDS).nullable().describe('What the tool does, whatever its agent calls it'),
    tool_use_id: z.string().nullable(),
    tool_input: z
      .unknown()
      .describe('Any JSON; where `metadata.truncated` is true, a string with the beginning of the JSON'),
    tool_result_id: z.string().nullable().describe('`tool_use_id` of the tool use that this is the result of'),
    is_error: z.boolean().nullable(),
    result_text: z.string().nullable(),
    attachment: attachmentReferenceSchema
      .optional()
      .describe('Has the whole of a tool’s result, if the text says so and it is stored'),
    metadata: metadata.describe(
      '`truncated` and `original_byte_length` if a text was cut; `GET …/lines/{byte_offset}` has the whole',
    ),
    ...placeFields,
  })
  .meta({ id: 'ContentBlock', description: 'One content block of a message' });

export type ContentBlock = z.infer<typeof contentBlockSchema>;

const tokens = countField.nullable();

export const messageSchema = z
  .object({
    id: z.string().describe('ULID, the same after every re-parse; ascending'),
    ordinal: countField.describe('Position among the messages, from 0 without gaps'),
    message_type: z.enum(['user', 'assistant', 'system', 'summary']),
    role: z.string().nullable(),
    model: z.string().nullable(),
    tokens_in: tokens.describe('Input tokens, without cached ones; null if the record carries no usage'),
    tokens_out: tokens,
    cache_read: tokens,
    cache_write: tokens,
    cost_usd: z.number().nullable().describe('US dollars; null if there is no usage or no price'),
    timestamp: timestampField.nullable(),
    has_text: z.boolean(),
    has_thinking: z.boolean(),
    has_tool_use: z.boolean(),
    has_tool_result: z.boolean(),
    metadata,
    provider_message_id: z.string().nullable(),
    request_id: z.string().nullable(),
    uuid: z.string().nullable(),
    parent_uuid: z.string().nullable(),
    is_sidechain: z.boolean(),
    agent_id: z.string().nullable(),
    stop_reason: z.string().nullable(),
    ...placeFields,
    content_blocks: z.array(contentBlockSchema),
    left_out_block_count: countField.describe(
      'Blocks after these, if they are more than a page may have; the raw transcript has them',
    ),
  })
  .meta({ id: 'Message', description: 'One message of a transcript with its content blocks' });

export type Message = z.infer<typeof messageSchema>;

const transcriptIdParameter = transcriptIdField
  .optional()
  .describe('Another transcript of the session than its primary one, if versions diverged');

/** For routes that read one transcript of a session. */
export const sessionTranscriptQuerySchema = z.strictObject({ transcript_id: transcriptIdParameter });

/** Bytes of a page of messages, at most. */
export const MAX_PAGE_BYTES = 8 * 1024 * 1024;

export const messageListQuerySchema = z.strictObject({
  transcript_id: transcriptIdParameter,
  from_message_id: messageIdField
    .optional()
    .describe('The first message of the first page, by its id; by default the beginning'),
  max_bytes: z.coerce
    .number()
    .int()
    .min(1)
    .max(MAX_PAGE_BYTES)
    .default(MAX_PAGE_BYTES)
    .describe(
      `About the bytes of a page, 1 to ${MAX_PAGE_BYTES}; a page with more ends earlier, and a message with more has \`left_out_block_count\``,
    ),
  ...pageQueryFields,
});

export const messageListSchema = z
  .object({
    session_id: z.string(),
    transcript_id: transcriptIdField.describe('Whose messages these are'),
    messages: z.array(messageSchema),
    next_cursor: nextCursorField,
  })
  .meta({
    id: 'MessageList',
    description: 'Messages in their order. Long messages make a page shorter than `limit`',
  });

export type MessageList = z.infer<typeof messageListSchema>;

const MAX_CONTAINED_LENGTH = 200;

export const outlineQuerySchema = z.strictObject({
  transcript_id: transcriptIdParameter,
  contains: text(MAX_CONTAINED_LENGTH)
    .optional()
    .describe('Only turns with this text, in any case, in their texts, thinking, calls or results'),
});

const outlineTurnSchema = z
  .object({
    id: z.string().describe('Id of its message'),
    ordinal: countField.describe(
      'Ordinal of its message; messages with nothing but results are shown with their calls, and have no turn',
    ),
    kind: z
      .enum(TURN_KINDS)
      .describe(
        'A prompt, the agent’s answer, what its program added (`context`), or a notice of the program (`system`)',
      ),
    title: z.string().nullable().describe('A prompt in one line, of at most 120 characters; null for other turns'),
    is_error: z.boolean().describe('A call of it failed, or a request to the model’s API'),
    is_edit: z.boolean().describe('It has a call that edits files'),
    context_tokens: tokens.describe('Tokens that the response read, input and cache; null if it has no usage'),
    cost_usd: z.number().nullable().describe('US dollars; null if there is no usage or no price'),
    result_ordinals: z.array(countField).describe('Ordinals of the messages with the results of its calls'),
  })
  .meta({ id: 'OutlineTurn', description: 'A turn of a conversation, without its texts' });

export type OutlineTurn = z.infer<typeof outlineTurnSchema>;

export const outlineSchema = z
  .object({
    session_id: z.string(),
    transcript_id: transcriptIdField.describe('Whose messages these are'),
    message_count: countField.describe('Messages that the turns are made of'),
    turns: z.array(outlineTurnSchema),
    is_cut: z
      .boolean()
      .describe(
        'Whether the transcript has more than an outline takes: 200,000 messages, 300,000 blocks, or 1,000 blocks in a message',
      ),
  })
  .meta({
    id: 'Outline',
    description: 'All turns of a conversation, without their texts, to find places and then read only these',
  });

export type Outline = z.infer<typeof outlineSchema>;
