import type { JsonObject, JsonValue } from '../lines/json.ts';

export type MessageType = 'user' | 'assistant' | 'system' | 'summary';

/** One message of a transcript (a user, system or summary line, or all assistant lines that share a `message.id`). */
export interface TranscriptMessage {
  /** ULID, the same for every parse of the same session; ascending with `ordinal`. */
  id: string;
  session_id: string;
  /** Line of the message's first record, counted from 1 over all lines. */
  line_number: number;
  /** Position among the transcript's messages, from 0 without gaps. */
  ordinal: number;
  message_type: MessageType;
  role: string | null;
  model: string | null;
  /** Tokens as the provider counts them, without cached ones; null if the record has no usage. */
  tokens_in: number | null;
  tokens_out: number | null;
  cache_read: number | null;
  cache_write: number | null;
  /** US dollars, exact to 1e-10; null if there is no usage or no price. */
  cost_usd: number | null;
  /** ISO 8601 in UTC with milliseconds, or null. */
  timestamp: string | null;
  has_text: boolean;
  has_thinking: boolean;
  has_tool_use: boolean;
  has_tool_result: boolean;
  metadata: JsonObject;
  provider_message_id: string | null;
  request_id: string | null;
  uuid: string | null;
  parent_uuid: string | null;
  is_sidechain: boolean;
  agent_id: string | null;
  stop_reason: string | null;
  /** Place of the first line in the raw object, in bytes; the length is without the line end. */
  byte_offset: number;
  byte_length: number;
}

/** One content block of a message. `block_type` determines which of the text columns is set. */
export interface ParsedContentBlock {
  /** ULID, the same for every parse of the same session. */
  id: string;
  message_id: string;
  session_id: string;
  /** Position within the message, from 0 without gaps, in the order of the message's lines. */
  block_order: number;
  /** `text`, `thinking`, `tool_use`, `tool_result`, `image`, …: the transcript's own name. */
  block_type: string;
  content_text: string | null;
  thinking_text: string | null;
  tool_name: string | null;
  /** The kind of tool that the block calls; null if it calls none. */
  tool_kind: ToolKind | null;
  tool_use_id: string | null;
  /**
   * The tool's input. If `metadata.truncated` is true, it is a string with the first bytes of its JSON, or null if it
   * is nested too deep.
   */
  tool_input: JsonValue;
  tool_result_id: string | null;
  is_error: boolean | null;
  result_text: string | null;
  metadata: JsonObject;
  /** Line of the block, and its place in the raw object. */
  line_number: number;
  byte_offset: number;
  byte_length: number;
}

/**
 * Why a request within a response is billed apart from it: `advisor`, another model that the response asked;
 * `fallback`, an attempt that another model's answer replaced; `compaction`, a summary of the context that the API made
 * first; `paused`, a part of the answer up to a limit, until it was resumed; `unknown`, a kind that recount does not
 * know, which has no price.
 */
export type BilledApart = 'advisor' | 'fallback' | 'compaction' | 'paused' | 'unknown';

/**
 * The place of an API response in a transcript (its own message, a sub-agent's progress line, or within another one).
 */
export type UsageSource = 'message' | 'progress' | BilledApart;

/**
 * Tokens of one request, as input, output, cache reads, all cache writes, and their 5-minute and 1-hour parts, as in
 * `Usage`.
 */
export type RequestTokens = readonly [
  inputTokens: number,
  outputTokens: number,
  cacheReadTokens: number,
  cacheWriteTokens: number,
  cacheWrite5mTokens: number,
  cacheWrite1hTokens: number,
];

/** Costs are whole multiples of 1e-10 dollars, so that integer sums of them are exact. */
export const COST_UNITS_PER_USD = 1e10;

/** US dollars by what they were spent on, each a multiple of 1e-10. */
export interface CostByClass {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  webSearch: number;
}

/** Model of usage that an agent recorded without a model. It has no price, while a null model has the default one. */
export const UNKNOWN_MODEL = 'unknown';

/**
 * `default` means no model named. `override` is a workspace's own rate. `reported` is the agent's figure for an unknown
 * model.
 */
export type PriceBasis = 'list' | 'default' | 'override' | 'reported' | 'unpriced';

/** One API response as one transcript holds it; a copy in another transcript has the same `response_key`. */
export interface ApiResponse {
  response_key: string;
  source: UsageSource;
  session_id: string;
  /** The message that is the response, or that states the request billed apart from it; null for progress lines. */
  message_id: string | null;
  provider_message_id: string | null;
  request_id: string | null;
  model: string | null;
  /** ISO 8601 in UTC with milliseconds, or null. */
  timestamp: string | null;
  /**
   * Line of the prompt that its turn began with, and so of the event of that turn; 0 before the first prompt. Null in
   * stored rows of a parser that did not know turns.
   */
  turn_line: number | null;
  /** Made by a sub-agent, even if its lines are in its parent's transcript. */
  is_subagent: boolean;
  agent_id: string | null;
  /** As the line has them. Both may change within a session. */
  git_branch: string | null;
  agent_version: string | null;
  /** The line says that it was copied from another session. */
  is_marked_copy: boolean;
  tokens_in: number;
  tokens_out: number;
  cache_read: number;
  cache_write: number;
  /** Parts of `cache_write`; both 0 if the transcript does not distinguish them. */
  cache_write_5m: number;
  cache_write_1h: number;
  thinking_tokens: number;
  web_search_requests: number;
  web_fetch_requests: number;
  service_tier: string | null;
  speed: string | null;
  inference_geo: string | null;
  /** The tokens of each of its requests if it took several; null for most. */
  request_tokens: readonly RequestTokens[] | null;
  /** The output count is a placeholder that was never replaced. */
  is_unfinalised: boolean;
  /** Output tokens estimated from the length of the content; null unless unfinalised. Never part of a total. */
  estimated_tokens_out: number | null;
  /** The line's own figure (old versions wrote `costUSD`), or null. */
  reported_cost_usd: number | null;
  cost_usd: number | null;
  cost_input_usd: number | null;
  cost_output_usd: number | null;
  cost_cache_read_usd: number | null;
  cost_cache_write_usd: number | null;
  cost_web_search_usd: number | null;
  price_basis: PriceBasis;
  line_number: number;
}

/** The purpose of a tool, independent of its name; each agent's vocabulary maps its tools. */
export const TOOL_KINDS = [
  'read',
  'edit',
  'shell',
  'search',
  'web',
  'agent',
  'skill',
  'mcp',
  'plan',
  'question',
  'other',
] as const;
export type ToolKind = (typeof TOOL_KINDS)[number];

/** 30 days, because a permission prompt may stay open over the holidays. Anything longer is a wrong clock. */
export const MAX_TOOL_DURATION_MS = 30 * 24 * 60 * 60_000;

/** One use of a tool with its result. */
export interface ToolCall {
  /**
   * The same in every copy. It is the tool use's id, combined with the response's key if it is too short to be unique;
   * without an id, made from the line's uuid and the block's place.
   */
  call_key: string;
  /** Response that made the call. A copy of the call has a copy of the response. Null if there is none. */
  response_key: string | null;
  session_id: string;
  message_id: string;
  tool_name: string;
  tool_kind: ToolKind;
  /** Server of an MCP tool. */
  mcp_server: string | null;
  /** First program of a shell command, without its path. */
  program: string | null;
  /** File that was read or edited. */
  file_path: string | null;
  subagent_type: string | null;
  /** Id of the sub-agent that the call started, from its result. */
  subagent_id: string | null;
  skill_name: string | null;
  model: string | null;
  timestamp: string | null;
  is_subagent: boolean;
  /** From the tool use's line to its result's; null without a result, or if a timestamp is missing. */
  duration_ms: number | null;
  /** Null while there is no result. */
  is_error: boolean | null;
  /** The user, a rule or a hook refused it. */
  is_denied: boolean;
  input_bytes: number;
  /** Bytes of the result's text as the model receives it; null without a result. */
  output_bytes: number | null;
  line_number: number;
}

/** A `turn` is from a prompt to the next one, if the agent answered; emitted at its end, with the line of its prompt. */
export type SessionEventKind =
  | 'prompt'
  | 'turn'
  | 'compaction'
  | 'api_error'
  | 'api_retry'
  | 'pull_request'
  | 'slash_command';

/** Something that happened in a session other than responses and tool calls. */
export interface SessionEvent {
  /** The same in every copy of the line. It is the kind with its uuid, or else with the session and the line number. */
  event_key: string;
  kind: SessionEventKind;
  session_id: string;
  timestamp: string | null;
  is_subagent: boolean;
  /**
   * The key of its groups in counts (a compaction's trigger, an error's type or status, a pull request's URL, a
   * command's name, a turn's kind of work).
   */
  name: string | null;
  /** Scalars: `preTokens`, `postTokens`, `retryInMs`, `retryAttempt`, `number`, `repository`, … */
  details: JsonObject;
  line_number: number;
}

/** Tokens by class, as rows and answers of the API name them. These four add up to all tokens. */
export type TokenSums = Pick<ApiResponse, 'tokens_in' | 'tokens_out' | 'cache_read' | 'cache_write'>;

/** The agent's own cumulative figures for the session (the last ones in its transcript). */
export interface ReportedTotals extends Record<keyof TokenSums, number | null> {
  source: 'cost-state' | 'result';
  cost_usd: number | null;
}

/**
 * Figures of a transcript. Tokens and cost cover all its API responses, each once, from messages, progress lines,
 * requests billed apart.
 */
export interface TranscriptStats {
  total_messages: number;
  user_messages: number;
  assistant_messages: number;
  tool_use_count: number;
  /** Blocks of type `thinking` and `redacted_thinking`. */
  thinking_blocks: number;
  /** Tool uses that start a sub-agent. */
  subagent_count: number;
  /** These four and the cost are null if the transcript has answers but no usage, and 0 if there were no answers. */
  tokens_in: number | null;
  tokens_out: number | null;
  cache_read: number | null;
  cache_write: number | null;
  /**
   * US dollars of the responses that have a price: 0 if there are no responses at all, null if no response has a price,
   * or if the sum exceeds 1e10 dollars. The number nearest to the sum, which is exact up to 900,000 dollars.
   */
  cost_estimate_usd: number | null;
  api_response_count: number;
  /** Responses whose input is in no figure. The agent states it at the end of a run, and that end never came. */
  output_only_count: number;
  /** Responses whose output count is a placeholder. */
  unfinalised_count: number;
  /** Responses without a price, which the cost does not include. */
  unpriced_count: number;
  web_search_count: number;
  /** User prompts of the main conversation, without tool results and text that the agent added. */
  prompt_count: number;
  /** Prompts with at least one API response before the next prompt. */
  turn_count: number;
  /** Last timestamp minus first, in milliseconds; 0 if there are none. */
  duration_ms: number;
  /** First text that the user typed, cut to 1,000 characters and `...`; null if there is none. */
  initial_prompt: string | null;
}

export interface PullRequestLink {
  number: number | null;
  url: string | null;
  repository: string | null;
}

/** Facts about a session as a whole whose first value counts. */
export const SESSION_CONSTANTS = [
  'sessionId',
  'cwd',
  'version',
  'gitBranch',
  // The remote as the agent records it, usually a URL, without user name, password and query.
  'repository',
  // The commit that was checked out when the session began.
  'commitHash',
  'entrypoint',
  'agentId',
  'forkedFromSessionId',
] as const;
export type SessionConstant = (typeof SESSION_CONSTANTS)[number];

/** The facts of the lines about the session as a whole. Each field is null (or empty) if no line has it. */
export interface TranscriptMetadata extends Record<SessionConstant, string | null> {
  /** Earliest and latest timestamp of any line, ISO 8601 in UTC. */
  firstTimestamp: string | null;
  lastTimestamp: string | null;
  /** Set by the user, else generated, else the transcript's first summary. */
  title: string | null;
  titleSource: 'custom' | 'generated' | 'summary' | null;
  permissionMode: string | null;
  agentName: string | null;
  /** Distinct model names in order of appearance, without `<synthetic>`. */
  models: string[];
  pullRequests: PullRequestLink[];
  reportedTotals: ReportedTotals | null;
  /** Lines in the file, empty ones included. */
  lineCount: number;
  /** Bytes read. */
  byteLength: number;
  /** Records by line type, messages and metadata alike. */
  lineTypes: Record<string, number>;
}
