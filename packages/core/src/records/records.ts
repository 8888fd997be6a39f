import type { JsonObject, JsonValue } from '../lines/json.ts';
import type {
  BilledApart,
  MessageType,
  ParsedContentBlock,
  PullRequestLink,
  ReportedTotals,
  SessionConstant,
  SessionEvent,
  ToolCall,
} from './rows.ts';
import type { Usage } from './usage.ts';

/** The place of a line in the transcript. */
export interface LinePlace {
  /** From 1. */
  lineNumber: number;
  /** The beginning of the line, in bytes. */
  byteOffset: number;
  /** Without the line feed. */
  byteLength: number;
}

/** Facts about a call from the tool use's input. Every text is cut to 512 characters. */
export type ToolUseFacts = Pick<
  ToolCall,
  'tool_name' | 'tool_kind' | 'mcp_server' | 'program' | 'file_path' | 'subagent_type' | 'skill_name' | 'input_bytes'
>;

export interface ToolUse {
  facts: ToolUseFacts;
  /** True if its result may count web searches that the transcript's usage does not include. */
  countsSearches: boolean;
  /** One short line for people about what the call does, if the agent's reader provides it. */
  summary?: string | undefined;
}

/** The facts of a result about its call. */
export interface ToolResult {
  timestampMs: number | undefined;
  isError: boolean;
  /** The user, a rule or a hook refused the call. */
  isDenied: boolean;
  /** UTF-8 bytes of the text that the model receives. */
  outputBytes: number;
  subagentId: string | null;
  /** Web searches made for the call that the transcript's usage does not include; 0 for most. */
  searchCount: number;
  /** The agent's description of the failure, if it differs from the tool's output. */
  error?: string | undefined;
}

/** A content block as its line has it, without ids, order and place. */
export interface BlockContent
  extends Omit<
    ParsedContentBlock,
    'id' | 'message_id' | 'session_id' | 'block_order' | 'tool_kind' | 'line_number' | 'byte_offset' | 'byte_length'
  > {
  /**
   * UTF-8 bytes before any cut, of its text, of a tool use's input as JSON, or of a tool result's text as the model
   * receives it. For withheld thinking, the length that its ciphertext implies.
   */
  contentBytes: number;
  /** The number of these bytes that the model wrote; 0 for results. */
  writtenBytes: number;
  /** The call, if the block calls a tool. */
  toolUse?: ToolUse;
  /** The result, if the block answers a tool use. */
  toolResult?: ToolResult;
}

/** A request within a response that is billed apart from it, and that its usage does not contain. */
export interface BilledRequest {
  source: BilledApart;
  /** Counts the requests of this source in the response, from 1; the same in every copy. */
  position: number;
  model: string | null;
  usage: Usage;
}

/** The fields about an API response that messages and usage records share. */
export interface ResponseRecord {
  /** The provider's id of the response. The same on each of its lines and in every copy. */
  responseId: string | null;
  /**
   * Set if the agent names a response, or states its usage, only after the messages. All messages of the response share
   * a group (any text that no other response of the transcript uses), and a usage record of that group adds the rest.
   */
  group?: string | undefined;
  requestId: string | null;
  /** The line's own id. */
  uuid: string | null;
  timestampMs: number | undefined;
  agentId: string | null;
  model: string | null;
  /** True if the agent made the response up. It is then no API response, whatever usage it carries. */
  isSynthetic: boolean;
  stopReason: string | null;
  /**
   * Undefined if the line has none. If several lines of a response have usage, the largest count of each class is
   * final.
   */
  usage: Usage | undefined;
  /** Later records of the response repeat them. */
  billedRequests: readonly BilledRequest[];
  /** The cost of the response according to the agent, in US dollars. */
  reportedCostUsd: number | null;
  gitBranch: string | null;
  agentVersion: string | null;
  /** The line says that it was copied from another session. */
  isMarkedCopy: boolean;
  blocks: readonly BlockContent[];
}

/** A line that is a message, or part of an assistant message. Lines with the same response id form one message. */
export interface MessageRecord extends ResponseRecord {
  kind: 'message';
  type: MessageType;
  parentUuid: string | null;
  /** The tool use that started the sub-agent that this message is from or to; null for the main agent. */
  parentToolUseId: string | null;
  /** ISO 8601 in UTC with milliseconds, or null. */
  timestamp: string | null;
  isSidechain: boolean;
  role: string | null;
  metadata: JsonObject;
  /** A person's words, cut to 1,000 characters and `...`; undefined if no person typed this line. */
  promptText: string | undefined;
}

/** Usage of a response whose messages came before (in its `group`), are elsewhere, or do not exist. */
export interface UsageRecord extends ResponseRecord {
  kind: 'usage';
  usage: Usage;
  isSubagent: boolean;
}

/** Something that happened in the session other than responses and tool calls. */
export interface EventRecord {
  kind: 'event';
  event: Pick<SessionEvent, 'kind' | 'name' | 'details'>;
  /** The line's id, the same in every copy of it. */
  uuid: string | null;
  timestampMs: number | undefined;
  isSubagent: boolean;
  /** Identifies repetitions within the transcript; defaults to the line's uuid or place. */
  identity?: string | undefined;
}

/** The facts of a line about its session. Readers leave out facts that they have reported and that have not changed. */
export interface SessionRecord {
  kind: 'session';
  /** The first record with a value wins. */
  first?: Partial<Record<SessionConstant, string>>;
  /** The last record with a value wins. */
  last?: Partial<Record<SessionVariable, string>>;
  title?: { source: 'custom' | 'generated' | 'summary'; text: string };
  reportedTotals?: ReportedTotals;
  pullRequest?: PullRequestLink;
  /** Responses so far whose input is in no figure. The last record that states it wins. */
  outputOnlyCount?: number;
}

export type SessionVariable = 'permissionMode' | 'agentName';

/** A line, or a part of one, of a type that the reader does not know. */
export interface UnknownRecord {
  kind: 'unknown';
  type: string;
  /** The type, with whatever distinguishes its lines, e.g. `system/status`. */
  name: string;
  /** Unread content, which is searched for text and usage. Undefined if the reader keeps its content all the same. */
  value?: JsonObject | undefined;
}

/** A run of the agent begins, or another session on the same stream. */
export interface RunRecord {
  kind: 'run';
  /** Empty if the line names none. */
  sessionId: string;
  model: string | null;
  cwd: string | null;
  version: string | null;
  tools: string[];
}

/** A response starts streaming, or the text of one of its blocks grows. */
export interface PieceRecord {
  kind: 'piece';
  responseId: string | null;
  parentToolUseId: string | null;
  piece: { blockIndex: number; text: string } | undefined;
}

/** The agent ended a turn. The line's usage and cost are in separate records. */
export interface TurnEndRecord {
  kind: 'turn-end';
  success: boolean;
  /** The agent's code for how it ended, e.g. `error_max_turns`. */
  subtype: string | null;
  /** The code of the failure, e.g. `error_max_turns` or `API error 401`; null if the line has none. */
  errorCode: string | null;
  /** The answer, or the error's text. */
  text: string | null;
  stopReason: string | null;
  durationMs: number | null;
}

export interface Question {
  question: string;
  header: string | null;
  options: { label: string; description: string | null }[];
  multiSelect: boolean;
}

export interface QuestionPrompt {
  kind: 'question';
  toolUseId: string | null;
  /** The request that an answer on the agent's stdin must name, or null. */
  requestId: string | null;
  questions: Question[];
}

export interface ConfirmationPrompt {
  kind: 'confirmation';
  reason: 'permission_request' | 'plan_approval' | 'permission_denied';
  toolUseId: string | null;
  requestId: string | null;
  toolName: string | null;
  toolInput: JsonValue;
  /** The plan, the reason for asking or for the denial, or null. */
  message: string | null;
}

export type Prompt = QuestionPrompt | ConfirmationPrompt;

/** The agent asks the user something. Several lines may say so for one tool use. */
export interface PromptRecord {
  kind: 'prompt';
  prompt: Prompt;
}

/** Anything else worth showing to watchers, such as a state, a plan, a passing error. */
export interface NoticeRecord {
  kind: 'notice';
  /** E.g. `thinking`, `todo_list`, `system/status`. */
  name: string;
  /** May be empty. */
  text: string;
  isError: boolean;
}

/** Records that matter only while the agent runs and are never stored. Emitted only if the context asks for them. */
export type LiveRecord = RunRecord | PieceRecord | TurnEndRecord | PromptRecord | NoticeRecord;

/** The content of a line, in terms that all agents share. */
export type TranscriptRecord = MessageRecord | UsageRecord | EventRecord | SessionRecord | UnknownRecord | LiveRecord;
