import { z } from 'zod';
import { meantNamesSchema, nameFilterFields, namesField, timeZoneField } from './analytics-query.ts';
import {
  countField,
  dateOrMomentField,
  flagField,
  MAX_PATH_LENGTH,
  machineField,
  nextCursorField,
  pageQueryFields,
  personField,
  sentPersonField,
  sessionIdField,
  sessionIdParameter,
  text,
  timestampField,
  transcriptIdField,
  uploaderField,
} from './fields.ts';
import { liveTotalsSchema } from './live.ts';
import { annotationFields, tagText } from './session-annotations.ts';
import { transcriptSchema } from './transcripts.ts';
import { figureFields, ownAndSharedUsageFields } from './usage-figures.ts';

const MAX_FILTER_LENGTH = 1000;
const MAX_COST_USD = 1e10;
const MAX_FILTER_TAGS = 20;

const SESSION_SORTS = [
  'last_timestamp',
  'first_timestamp',
  'cost_estimate_usd',
  'tokens_out',
  'total_messages',
  'duration_ms',
] as const;

export const sessionParamsSchema = z.object({ session_id: sessionIdParameter });

const sessionPageFields = {
  sort: z.enum(SESSION_SORTS).default('last_timestamp').describe('What the list is sorted by'),
  order: z.enum(['asc', 'desc']).default('desc'),
  ...pageQueryFields,
};

const costBound = z.coerce.number().min(0).max(MAX_COST_USD);

export const sessionListQuerySchema = z.strictObject({
  ...nameFilterFields,
  branch: namesField(text(MAX_FILTER_LENGTH), 'Git branch'),
  model: namesField(text(MAX_FILTER_LENGTH), 'Model that the sessions used'),
  from: dateOrMomentField.optional().describe('Sessions with activity at or after this date or moment'),
  to: dateOrMomentField.optional().describe('Sessions that began before this date or moment'),
  time_zone: timeZoneField.describe('IANA time zone of dates in `from` and `to`'),
  prompt: text(MAX_FILTER_LENGTH).optional().describe('Part of the first prompt, in upper or lower case'),
  tool: text(MAX_FILTER_LENGTH).optional().describe('Sessions that called this tool'),
  program: text(MAX_FILTER_LENGTH).optional().describe('Sessions with a shell command that began with this program'),
  mcp_server: text(MAX_FILTER_LENGTH).optional().describe('Sessions that called a tool of this MCP server'),
  skill: text(MAX_FILTER_LENGTH).optional().describe('Sessions that loaded this skill'),
  subagent_type: text(MAX_FILTER_LENGTH).optional().describe('Sessions that started a sub-agent of this type'),
  file: text(MAX_PATH_LENGTH).optional().describe('Sessions whose tools read or changed the file with this path'),
  pull_request: text(MAX_PATH_LENGTH).optional().describe('Sessions that are linked to the pull request with this URL'),
  min_cost_usd: costBound.optional().describe('Sessions whose cost, shared responses included, is at least this'),
  max_cost_usd: costBound.optional().describe('Sessions whose cost is at most this'),
  is_starred: flagField.optional().describe('Only sessions that people have starred, or only the others'),
  tag: z
    .union([tagText, z.array(tagText).min(1).max(MAX_FILTER_TAGS)])
    .optional()
    .describe(
      `Sessions with this tag, by its full name. May be repeated, at most ${MAX_FILTER_TAGS} times, for any of them`,
    ),
  parent_session_id: sessionIdParameter.optional().describe('Sub-agents of this session'),
  is_subagent: flagField.optional().describe('Only sub-agents, or only main sessions'),
  has_errors: flagField
    .optional()
    .describe('Only sessions with failed tool calls or API errors, or only those without'),
  totals: flagField.optional().describe('With the sums over all sessions that pass, on the first page'),
  ...sessionPageFields,
});

/** As a client writes it. */
export type SessionListQuery = z.input<typeof sessionListQuerySchema>;

export const subagentListQuerySchema = z.strictObject(sessionPageFields);

const sessionFields = {
  session_id: sessionIdField,
  agent: z.string(),
  is_subagent: z.boolean(),
  parent_session_id: z.string().nullable(),
  agent_id: z.string().nullable().describe('The agent’s own id of the sub-agent; null for other sessions'),
  primary_transcript_id: transcriptIdField.describe(
    'The longest transcript from the uploader of the session’s first one, a stream only if there is no session file; the figures are its own',
  ),
  uploader_key_id: uploaderField,
  machine: machineField,
  person: personField,
  sent_person: sentPersonField,
  other_uploader_count: countField.describe(
    'Ingested transcripts from neither the uploader of the first one nor the operator. They diverge from the primary one, or are it and add to what the first person uploaded (`extended_by`)',
  ),
  transcript_count: countField.describe('Ingested transcripts; more than one where versions diverged'),
  ...figureFields,
  ...annotationFields,
  tool_error_count: countField.describe('Tool calls that failed'),
  api_error_count: countField.describe('Errors of the model’s API'),
  created_at: timestampField,
  updated_at: timestampField,
};

export const sessionSchema = z
  .object(sessionFields)
  .meta({ id: 'Session', description: 'One conversation with an agent, or of a sub-agent with its parent' });

export type Session = z.infer<typeof sessionSchema>;

const sessionTotalsSchema = z
  .object({
    sessions: countField,
    total_messages: countField,
    user_messages: countField,
    tool_use_count: countField,
    tokens_in: figureFields.tokens_out,
    tokens_out: figureFields.tokens_out,
    cache_read: figureFields.tokens_out,
    cache_write: figureFields.tokens_out,
    cost_estimate_usd: z.number().nullable().describe('Null if no session has a cost'),
    unpriced_count: countField.describe('API responses without a price, which the cost lacks'),
    output_only_count: countField.describe('API responses whose input is unknown'),
  })
  .meta({
    id: 'SessionTotals',
    description:
      'Sums over sessions. Each counts whole, also outside of `from` and `to`, and what forks share counts in each: `GET /v1/analytics/usage` counts every response once',
  });

export type SessionTotals = z.infer<typeof sessionTotalsSchema>;

export const sessionListSchema = z
  .object({
    sessions: z.array(sessionSchema),
    filters: meantNamesSchema,
    totals: sessionTotalsSchema
      .nullable()
      .describe('Null unless asked for with `totals=true`, and after the first page'),
    next_cursor: nextCursorField,
  })
  .meta({ id: 'SessionList', description: 'A page of sessions' });

export type SessionList = z.infer<typeof sessionListSchema>;

export const subagentListSchema = sessionListSchema
  .omit({ filters: true, totals: true })
  .meta({ id: 'SubagentList', description: 'A page of sub-agents' });

export type SubagentList = z.infer<typeof subagentListSchema>;

export const sessionDetailSchema = z
  .object({
    ...sessionFields,
    usage: z
      .object(ownAndSharedUsageFields)
      .describe('API responses of all its transcripts. Over all sessions, `own` adds up to the workspace'),
    uploader_key_ids: z
      .array(uploaderField)
      .describe('Who uploaded its transcripts, superseded ones included, in the order of their first upload'),
    extended_by: z
      .array(z.object({ uploader_key_id: uploaderField, machine: machineField, person: personField }))
      .describe(
        'Everyone else who made the session longer than its person had it, in the order of upload, the last one with the primary transcript. Their lines count for that person. Empty if the primary transcript is that person’s',
      ),
    disagreeing_response_count: countField.describe(
      'Responses with a copy that disagrees with others, see `GET /v1/analytics/disagreements`',
    ),
    other_uploader_subagent_count: countField.describe(
      'Sub-agents that claim to belong to this session, from another uploader',
    ),
    resume_command: z
      .string()
      .nullable()
      .describe(
        'Command that resumes it on the machine that has its file, in its folder; null for sub-agents and agents without a known one',
      ),
    live: liveTotalsSchema.nullable().describe('Totals of its streams; null if it had none'),
    transcripts: z
      .array(transcriptSchema)
      .describe('Its transcripts in the order of their upload, superseded and diverged ones included'),
    transcripts_next_cursor: nextCursorField.describe(
      'If there are more: `cursor` for `GET /v1/transcripts` with this `session_id`',
    ),
  })
  .meta({ id: 'SessionDetail', description: 'A session with its transcripts' });

export type SessionDetail = z.infer<typeof sessionDetailSchema>;
