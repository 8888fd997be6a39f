/** JSON value as `JSON.parse` gives it. */
export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };
export type JsonObject = { [key: string]: JsonValue };

export type MessageType = 'user' | 'assistant' | 'system' | 'summary';

/** One message of a transcript: a user, system or summary line, or all assistant lines that share a `message.id`. */
export interface TranscriptMessage {
  /** ULID, the same at every parse of the same session; ascending with `ordinal`. */
  id: string;
  session_id: string;
  /** Line of the message's first record, counted from 1 over all lines. */
  line_number: number;
  /** Position among the transcript's messages, from 0 without gaps. */
  ordinal: number;
  message_type: MessageType;
  role: string | null;
  model: string | null;
  /** Tokens as the provider counts them, without cached ones; null where the record carries no usage. */
  tokens_in: number | null;
  tokens_out: number | null;
  cache_read: number | null;
  cache_write: number | null;
  /** US dollars, exact to 1e-10; null where there is no usage or no price. */
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

/** One content block of a message. Which of the text columns is filled follows from `block_type`. */
export interface ParsedContentBlock {
  /** ULID, the same at every parse of the same session. */
  id: string;
  message_id: string;
  session_id: string;
  /** Position within the message, from 0 without gaps, in the order of the message's lines. */
  block_order: number;
  /** `text`, `thinking`, `tool_use`, `tool_result`, `image`, … : the name that the transcript gives it. */
  block_type: string;
  content_text: string | null;
  thinking_text: string | null;
  tool_name: string | null;
  tool_use_id: string | null;
  /**
   * The tool's input. Where `metadata.truncated` is true: a string holding the first bytes of its JSON, or null for one
   * nested too deep.
   */
  tool_input: JsonValue;
  tool_result_id: string | null;
  is_error: boolean | null;
  result_text: string | null;
  metadata: JsonObject;
  /** Line that holds the block, and its place in the raw object. */
  line_number: number;
  byte_offset: number;
  byte_length: number;
}

export interface TranscriptStats {
  total_messages: number;
  user_messages: number;
  assistant_messages: number;
  tool_use_count: number;
  /** Blocks of type `thinking` and `redacted_thinking`. */
  thinking_blocks: number;
  /** Tool uses named `Task` or `Agent`. */
  subagent_count: number;
  tokens_in: number;
  tokens_out: number;
  cache_read: number;
  cache_write: number;
  cost_estimate_usd: number;
  /** Last timestamp minus first, in milliseconds; 0 where there are none. */
  duration_ms: number;
  /** First real user text, 1,000 characters at most, then `...`; null where there is none. */
  initial_prompt: string | null;
}

export interface PullRequestLink {
  number: number | null;
  url: string | null;
  repository: string | null;
}

/** What the lines tell of the session as a whole. Each field is null (or empty) where no line has it. */
export interface TranscriptMetadata {
  sessionId: string | null;
  cwd: string | null;
  version: string | null;
  gitBranch: string | null;
  /** Earliest and latest timestamp of any line, ISO 8601 in UTC. */
  firstTimestamp: string | null;
  lastTimestamp: string | null;
  entrypoint: string | null;
  agentId: string | null;
  /** Set by the user, else generated, else the transcript's first summary. */
  title: string | null;
  titleSource: 'custom' | 'generated' | 'summary' | null;
  permissionMode: string | null;
  agentName: string | null;
  /** Distinct model names in order of appearance, without `<synthetic>`. */
  models: string[];
  pullRequests: PullRequestLink[];
  forkedFromSessionId: string | null;
  /** Lines in the file, empty ones included. */
  lineCount: number;
  /** Bytes read. */
  byteLength: number;
  /** Records by line type, messages and metadata alike. */
  lineTypes: Record<string, number>;
}
