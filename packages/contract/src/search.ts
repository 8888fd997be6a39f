import { z } from 'zod';
import { meantNamesSchema, reportFilterFields } from './analytics-query.ts';
import { SEARCH_KINDS, SEARCH_MODES, SEARCH_SORTS } from './choices.ts';
import {
  countField,
  nextCursorField,
  pageQueryFields,
  sessionIdField,
  text,
  timestampField,
  transcriptIdField,
} from './fields.ts';
import { titleField } from './usage-figures.ts';

const kindField = z.enum(SEARCH_KINDS);

const MAX_SEARCH_QUERY_LENGTH = 1000;
const DEFAULT_SEARCH_LIMIT = 20;
const MAX_SEARCH_LIMIT = 100;

export const searchQuerySchema = z.strictObject({
  q: text(MAX_SEARCH_QUERY_LENGTH).describe(
    'In text mode, words that must all be present, `"words in this order"`, `-without`, `this or that`, `begin*`. In substring mode, anything with three letters or digits in a row, as it is typed',
  ),
  mode: z
    .enum(SEARCH_MODES)
    .default('text')
    .describe('`text` finds whole words anywhere, ranked. `substring` finds a part of the text, the newest first'),
  sort: z.enum(SEARCH_SORTS).default('relevance').describe('`newest` also in text mode'),
  kind: z
    .union([kindField, z.array(kindField)])
    .optional()
    .describe('Only these; may be repeated'),
  ...reportFilterFields,
  cursor: pageQueryFields.cursor,
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(MAX_SEARCH_LIMIT)
    .default(DEFAULT_SEARCH_LIMIT)
    .describe(`Results on a page, 1 to ${MAX_SEARCH_LIMIT}`),
});

/** As a client writes it. */
export type SearchQuery = z.input<typeof searchQuerySchema>;

const snippetPartSchema = z
  .object({ text: z.string(), is_match: z.boolean() })
  .meta({ id: 'SnippetPart', description: 'A part of a snippet, as plain text without markup' });

const searchResultSchema = z
  .object({
    session_id: sessionIdField,
    transcript_id: transcriptIdField.describe('Primary transcript of the session'),
    message_id: z.string().describe('Message that holds the text, and in `…/messages` its id'),
    block_order: countField.describe('Position of the content block within the message'),
    kind: kindField.describe(
      '`prompt` is by a person. `context` is added by the program, such as reminders, output of commands, a sub-agent’s task',
    ),
    timestamp: timestampField.nullable(),
    is_subagent: z.boolean(),
    line_number: z.int().min(1).describe('Line of the raw transcript, from 1'),
    byte_offset: countField.describe('Where that line starts; `GET …/lines/{byte_offset}` has it whole'),
    project: z.string().nullable().describe('Working directory of the session'),
    title: titleField,
    initial_prompt: z.string().nullable().describe('The first 200 characters of the session’s first prompt'),
    copy_count: countField.describe('How many copies of the text match, in forks and replays; this is the earliest'),
    is_cut: z.boolean().describe('Only the beginning of the text was searched, because it is very long'),
    snippet: z
      .array(snippetPartSchema)
      .describe('A piece of the text around what matches; the parts follow one another'),
  })
  .meta({ id: 'SearchResult', description: 'A matching text, and its place' });

export type SearchResult = z.infer<typeof searchResultSchema>;

export const searchResultListSchema = z
  .object({
    results: z.array(searchResultSchema),
    match_count: countField.describe('Texts that match, copies not counted'),
    is_match_count_capped: z.boolean().describe('There are more. Only the newest 500 were looked at'),
    waiting_sessions: countField.describe(
      'Sessions that are not yet, or not completely, indexed, so search may miss them',
    ),
    filters: meantNamesSchema,
    next_cursor: nextCursorField,
  })
  .meta({ id: 'SearchResultList', description: 'A page of what was found, copies of a text once' });

export type SearchResultList = z.infer<typeof searchResultListSchema>;
