import type { ExportDataset } from '@recount/db';

/** `cost` is an exact decimal with up to 10 decimals. `time`: ISO 8601 in UTC with milliseconds. */
export type ExportColumnType = 'text' | 'count' | 'cost' | 'time' | 'flag' | 'json';

export interface ExportColumn {
  name: string;
  type: ExportColumnType;
}

/** Decimals of a cost, which is exact to 1e-10. */
export const COST_DECIMALS = 10;

/** The columns of a data set, in order. A public contract. Columns may be added at the end, but never changed. */
export function toExportColumns(dataset: ExportDataset): readonly ExportColumn[] {
  return COLUMNS[dataset];
}

const columns = (type: ExportColumnType, names: string): ExportColumn[] =>
  names.split(' ').map((name) => ({ name, type }));

const COLUMNS: Readonly<Record<ExportDataset, readonly ExportColumn[]>> = {
  usage: [
    ...columns('text', 'response_id agent session_id transcript_id message_id source'),
    ...columns('time', 'timestamp'),
    ...columns('text', 'project git_branch agent_version'),
    ...columns('flag', 'is_subagent'),
    ...columns('text', 'agent_id model provider_message_id request_id'),
    ...columns('count', 'tokens_in tokens_out cache_read cache_write cache_write_5m cache_write_1h thinking_tokens'),
    ...columns('count', 'web_search_requests web_fetch_requests'),
    ...columns('text', 'service_tier speed inference_geo'),
    ...columns('flag', 'is_unfinalised'),
    ...columns('count', 'estimated_tokens_out'),
    ...columns('cost', 'cost_usd cost_input_usd cost_output_usd cost_cache_read_usd cost_cache_write_usd'),
    ...columns('cost', 'cost_web_search_usd reported_cost_usd'),
    ...columns('text', 'price_basis price_version'),
    ...columns('count', 'copy_count'),
    ...columns('text', 'machine person repository team cost_centre'),
  ],
  messages: [
    ...columns('text', 'session_id transcript_id message_id'),
    ...columns('count', 'ordinal line_number byte_offset byte_length'),
    ...columns('text', 'message_type role model'),
    ...columns('time', 'timestamp'),
    ...columns('text', 'agent project git_branch'),
    ...columns('flag', 'is_subagent'),
    ...columns('text', 'agent_id'),
    ...columns('count', 'tokens_in tokens_out cache_read cache_write'),
    ...columns('cost', 'cost_usd'),
    ...columns('text', 'stop_reason'),
    ...columns('flag', 'has_text has_thinking has_tool_use has_tool_result'),
    ...columns('text', 'provider_message_id request_id uuid parent_uuid'),
    ...columns('json', 'metadata'),
    ...columns('text', 'machine person repository team cost_centre'),
  ],
  sessions: [
    ...columns('text', 'session_id agent'),
    ...columns('flag', 'is_subagent'),
    ...columns('text', 'parent_session_id agent_id primary_transcript_id'),
    ...columns('count', 'transcript_count'),
    ...columns('text', 'project git_branch agent_version title initial_prompt'),
    ...columns('json', 'models'),
    ...columns('time', 'first_timestamp last_timestamp'),
    ...columns('count', 'duration_ms active_ms prompt_count turn_count'),
    ...columns('count', 'total_messages user_messages assistant_messages tool_use_count subagent_count'),
    ...columns('count', 'api_response_count tokens_in tokens_out cache_read cache_write web_search_count'),
    ...columns('cost', 'cost_usd'),
    ...columns('count', 'unfinalised_count unpriced_count'),
    ...columns('cost', 'reported_cost_usd'),
    ...columns('count', 'own_responses own_tokens_in own_tokens_out own_cache_read own_cache_write'),
    ...columns('cost', 'own_cost_usd'),
    ...columns('count', 'shared_responses'),
    ...columns('cost', 'shared_cost_usd'),
    ...columns('count', 'own_unpriced_responses shared_unpriced_responses'),
    ...columns('text', 'machine person'),
    ...columns('count', 'output_only_count'),
    ...columns('text', 'repository commit_hash repository_url given_title'),
    ...columns('flag', 'is_starred'),
    ...columns('json', 'tags'),
    ...columns('text', 'note team cost_centre'),
  ],
};
