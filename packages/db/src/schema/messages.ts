import type { IssueSeverity, JsonObject, MessageType, ToolKind } from '@recount/core';
import { bigint, boolean, integer, jsonb, primaryKey, text } from '../drizzle.cjs';
import { identifier, isoTimestamp, jsonValue, recountSchema, usd } from './column-types.ts';
import { TOKEN_CLASSES, toColumns } from './usage-columns.ts';

/**
 * Bulk tables, written by COPY, one transcript at a time, by the one transaction that holds the session's lock, and
 * deleted the same way. No foreign keys or secondary indexes. They would cost a third of the ingest rate
 * (docs/decisions/0004-bulk-tables.md).
 */
export const transcriptMessages = recountSchema.table(
  'transcript_messages',
  {
    workspace_id: identifier().notNull(),
    row_set_id: identifier().notNull(),
    id: identifier().notNull(),
    session_id: identifier().notNull(),
    line_number: integer().notNull(),
    ordinal: integer().notNull(),
    message_type: text().$type<MessageType>().notNull(),
    role: text(),
    model: text(),
    ...toColumns(TOKEN_CLASSES, () => bigint({ mode: 'number' })),
    cost_usd: usd(),
    timestamp: isoTimestamp(),
    has_text: boolean().notNull(),
    has_thinking: boolean().notNull(),
    has_tool_use: boolean().notNull(),
    has_tool_result: boolean().notNull(),
    metadata: jsonb().$type<JsonObject>().notNull(),
    provider_message_id: text(),
    request_id: text(),
    uuid: text(),
    parent_uuid: text(),
    is_sidechain: boolean().notNull(),
    agent_id: text(),
    stop_reason: text(),
    byte_offset: bigint({ mode: 'number' }).notNull(),
    byte_length: integer().notNull(),
  },
  (table) => [
    primaryKey({ name: 'transcript_messages_pk', columns: [table.workspace_id, table.row_set_id, table.id] }),
  ],
);

export const contentBlocks = recountSchema.table(
  'content_blocks',
  {
    workspace_id: identifier().notNull(),
    row_set_id: identifier().notNull(),
    message_id: identifier().notNull(),
    block_order: integer().notNull(),
    id: identifier().notNull(),
    session_id: identifier().notNull(),
    block_type: text().notNull(),
    content_text: text(),
    thinking_text: text(),
    tool_name: text(),
    tool_kind: text().$type<ToolKind>(),
    tool_use_id: text(),
    tool_input: jsonValue(),
    tool_result_id: text(),
    is_error: boolean(),
    result_text: text(),
    metadata: jsonb().$type<JsonObject>().notNull(),
    line_number: integer().notNull(),
    byte_offset: bigint({ mode: 'number' }).notNull(),
    byte_length: integer().notNull(),
  },
  (table) => [
    primaryKey({
      name: 'content_blocks_pk',
      columns: [table.workspace_id, table.row_set_id, table.message_id, table.block_order],
    }),
  ],
);

/** Faults found in a transcript, each with its place; only the first ones if there are very many. */
export const ingestIssues = recountSchema.table(
  'ingest_issues',
  {
    workspace_id: identifier().notNull(),
    row_set_id: identifier().notNull(),
    issue_number: integer().notNull(),
    code: text().notNull(),
    severity: text().$type<IssueSeverity>().notNull(),
    message: text().notNull(),
    line_number: integer().notNull(),
    byte_offset: bigint({ mode: 'number' }).notNull(),
    occurrence_count: integer().notNull(),
  },
  (table) => [
    primaryKey({ name: 'ingest_issues_pk', columns: [table.workspace_id, table.row_set_id, table.issue_number] }),
  ],
);
