import { type SQL, sql } from '../drizzle.cjs';
import { contentBlocks, transcriptMessages } from '../messages/schema.ts';
import { selectActiveTimes } from '../sessions/active-time.ts';
import { selectVersions } from '../sessions/refresh-sessions.ts';
import { COST_OF_ENTRIES, SEARCHES_OF_ENTRIES } from '../transcripts/transcript-totals.ts';
import { sessionEvents, usageEntries } from './schema.ts';

/** What follows from messages and blocks, which retention takes away without changing the figures. */
const TEXT_FIGURES = [
  'total_messages',
  'user_messages',
  'assistant_messages',
  'active_ms',
  'content_block_count',
  'tool_use_count',
  'thinking_blocks',
  'subagent_count',
] as const;

/** Columns of transcripts that `selectRecountedFigures` gives. The others are of the transcript's text, not of its rows. */
export const RECOUNTED_FIGURES = [
  'id',
  'is_diverged',
  ...TEXT_FIGURES,
  'api_response_count',
  'tokens_in',
  'tokens_out',
  'cache_read',
  'cache_write',
  'cost_estimate_usd',
  'unfinalised_count',
  'unpriced_count',
  'web_search_count',
  'prompt_count',
];

/** Transcripts `t` that have rows to count. */
export const HAS_ROWS = sql`t.ingested_at IS NOT NULL AND t.row_set_id IS NOT NULL`;

/** The figures of all transcripts of a workspace that have rows, summed from these. */
export function selectRecountedFigures(workspaceId: string): SQL {
  const ofWorkspace = sql`workspace_id = ${workspaceId} GROUP BY row_set_id`;
  const textFigures = sql.raw(
    TEXT_FIGURES.map(
      (name) => `CASE WHEN t.rows_deleted_at IS NULL THEN coalesce(recounted.${name}, 0) ELSE t.${name} END AS ${name}`,
    ).join(', '),
  );
  return sql`
    SELECT t.id, NOT t.is_primary AS is_diverged, ${textFigures},
      coalesce(u.responses, 0) AS api_response_count, coalesce(u.tokens_in, 0) AS tokens_in,
      coalesce(u.tokens_out, 0) AS tokens_out, coalesce(u.cache_read, 0) AS cache_read,
      coalesce(u.cache_write, 0) AS cache_write, CASE WHEN u.row_set_id IS NULL THEN 0 ELSE u.cost_usd END AS cost_estimate_usd,
      coalesce(u.unfinalised, 0) AS unfinalised_count, coalesce(u.unpriced, 0) AS unpriced_count,
      coalesce(u.web_searches, 0) AS web_search_count, coalesce(e.prompts, 0) AS prompt_count
    FROM (${selectVersions(sql`t.workspace_id = ${workspaceId}`)}) AS t
    LEFT JOIN (
      SELECT * FROM (
        SELECT row_set_id, count(*) AS total_messages, count(*) FILTER (WHERE message_type = 'user') AS user_messages,
          count(*) FILTER (WHERE message_type = 'assistant') AS assistant_messages
        FROM ${transcriptMessages} WHERE ${ofWorkspace}
      ) AS m
      FULL JOIN (
        SELECT row_set_id, count(*) AS content_block_count,
          count(*) FILTER (WHERE block_type = 'tool_use') AS tool_use_count,
          count(*) FILTER (WHERE block_type = 'tool_use' AND tool_kind = 'agent') AS subagent_count,
          count(*) FILTER (WHERE block_type IN ('thinking', 'redacted_thinking')) AS thinking_blocks
        FROM ${contentBlocks} WHERE ${ofWorkspace}
      ) AS b USING (row_set_id)
      FULL JOIN (${selectActiveTimes(sql`m.workspace_id = ${workspaceId}`)}) AS a USING (row_set_id)
    ) AS recounted USING (row_set_id)
    LEFT JOIN (
      SELECT row_set_id, count(*) AS responses, sum(tokens_in) AS tokens_in, sum(tokens_out) AS tokens_out,
        sum(cache_read) AS cache_read, sum(cache_write) AS cache_write, ${COST_OF_ENTRIES} AS cost_usd,
        count(*) FILTER (WHERE is_unfinalised) AS unfinalised, count(*) FILTER (WHERE price_basis = 'unpriced') AS unpriced,
        ${SEARCHES_OF_ENTRIES} AS web_searches
      FROM ${usageEntries} WHERE ${ofWorkspace}
    ) AS u USING (row_set_id)
    LEFT JOIN (
      SELECT row_set_id, count(*) FILTER (WHERE kind = 'prompt') AS prompts FROM ${sessionEvents} WHERE ${ofWorkspace}
    ) AS e USING (row_set_id)
    WHERE ${HAS_ROWS}`;
}
