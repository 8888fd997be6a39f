import type {
  JsonObject,
  JsonValue,
  MessageType,
  ParsedContentBlock,
  PullRequestLink,
  ReportedTotals,
  SessionEvent,
  ToolCall,
} from '../rows.ts';
import type { Usage } from '../usage/usage.ts';

/** Where a line stands in the transcript. */
export interface LinePlace {
  /** From 1. */
  lineNumber: number;
  /** Where the line begins, in bytes. */
  byteOffset: number;
  /** Without the line feed. */
  byteLength: number;
}

/** What the input of a tool use says about the call. Every text is cut to 512 characters. */
export type ToolUseFacts = Pick<
  ToolCall,
  'tool_name' | 'tool_kind' | 'mcp_server' | 'program' | 'file_path' | 'subagent_type' | 'skill_name' | 'input_bytes'
>;

export interface ToolUse {
  facts: ToolUseFacts;
  /** Whether its result may count web searches that no usage of the transcript does. */
  countsSearches: boolean;
  /** What it does in one short line for people, if the agent's reader says it. */
  summary?: string | undefined;
}

/** What a result says about its call. */
export interface ToolResult {
  timestampMs: number | undefined;
  isError: boolean;
  /** The user, a rule or a hook refused the call. */
  isDenied: boolean;
  /** UTF-8 bytes of the text that the model gets. */
  outputBytes: number;
  subagentId: string | null;
  /** Web searches made for the call that no usage of the transcript counts; 0 for most. */
  searchCount: number;
  /** The agent's word for the failure, if that is not what the tool gave. */
  error?: string | undefined;
}

/** A content block as its line shows it: without ids, order and place. */
export interface BlockContent
  extends Omit<
    ParsedContentBlock,
    'id' | 'message_id' | 'session_id' | 'block_order' | 'tool_kind' | 'line_number' | 'byte_offset' | 'byte_length'
  > {
  /**
   * UTF-8 bytes, uncut, of its text, of a tool use's input as JSON, of a tool result's text as the model gets it; of
   * withheld thinking, what its ciphertext says about its length.
   */
  contentBytes: number;
  /** Bytes of these that the model wrote; 0 for results. */
  writtenBytes: number;
  /** The call, if the block calls a tool. */
  toolUse?: ToolUse;
  /** The result, if the block answers a tool use. */
  toolResult?: ToolResult;
}

/** A further model's response within a response, billed apart from it. */
export interface AdvisorUsage {
  model: string | null;
  usage: Usage;
}

/** What a message and a usage record have in common: what they say about an API response. */
export interface ResponseRecord {
  /** The provider's id of the response: the same on each of its lines and in every copy. */
  responseId: string | null;
  /**
   * If the agent names a response, or says what it used, only after its messages: the messages of one response share a
   * group, any text that no other response of the transcript has, and a usage record of the same group says the rest.
   */
  group?: string | undefined;
  requestId: string | null;
  /** The line's own id. */
  uuid: string | null;
  timestampMs: number | undefined;
  agentId: string | null;
  model: string | null;
  /** Whether the agent made the response up itself: it is no API response, whatever usage it carries. */
  isSynthetic: boolean;
  stopReason: string | null;
  /** Undefined if the line has none. Of several for one response, the largest count of each class is final. */
  usage: Usage | undefined;
  /** In the order of the calls; later records of the response repeat them. */
  advisors: readonly AdvisorUsage[];
  /** What the agent says that the response cost, in US dollars. */
  reportedCostUsd: number | null;
  gitBranch: string | null;
  agentVersion: string | null;
  /** The line says that it was copied from another session. */
  isMarkedCopy: boolean;
  blocks: readonly BlockContent[];
}

/** A line that is a message or, for an assistant's, part of one: those with the same response id are one message. */
export interface MessageRecord extends ResponseRecord {
  kind: 'message';
  type: MessageType;
  parentUuid: string | null;
  /** The tool use of the sub-agent that speaks or is spoken to; null for the agent itself. */
  parentToolUseId: string | null;
  /** ISO 8601 in UTC with milliseconds, or null. */
  timestamp: string | null;
  isSidechain: boolean;
  role: string | null;
  metadata: JsonObject;
  /** What a person typed, 1,000 characters at most, then `...`; undefined if nobody typed this line. */
  promptText: string | undefined;
}

/** The usage of a response whose messages stand before it (those of its `group`), elsewhere or nowhere. */
export interface UsageRecord extends ResponseRecord {
  kind: 'usage';
  usage: Usage;
  isSubagent: boolean;
}

/** Something that happened in the session beside responses and tool calls. */
export interface EventRecord {
  kind: 'event';
  event: Pick<SessionEvent, 'kind' | 'name' | 'details'>;
  /** The line's id, the same in every copy of it. */
  uuid: string | null;
  timestampMs: number | undefined;
  isSubagent: boolean;
  /** Tells repetitions within the transcript; default: the line's uuid or place. */
  identity?: string | undefined;
}

/** What a line says about its session. Readers leave out what they have said before and is unchanged. */
export interface SessionRecord {
  kind: 'session';
  /** Kept from the first record that has them. */
  first?: Partial<Record<SessionConstant, string>>;
  /** Kept from the last record that has them. */
  last?: Partial<Record<SessionVariable, string>>;
  title?: { source: 'custom' | 'generated' | 'summary'; text: string };
  reportedTotals?: ReportedTotals;
  pullRequest?: PullRequestLink;
  /** Responses so far whose input is in no figure. The last record that says it holds. */
  outputOnlyCount?: number;
}

export type SessionConstant =
  | 'sessionId'
  | 'cwd'
  | 'version'
  | 'gitBranch'
  | 'repository'
  | 'commitHash'
  | 'entrypoint'
  | 'agentId'
  | 'forkedFromSessionId';
export type SessionVariable = 'permissionMode' | 'agentName';

/** A line of a type that the reader does not know. */
interface UnknownRecord {
  kind: 'unknown';
  type: string;
  /** The type with what tells lines of it apart, e.g. `system/status`. */
  name: string;
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

/** A response begins to come in pieces, or the text of one of its blocks grows. */
export interface PieceRecord {
  kind: 'piece';
  responseId: string | null;
  parentToolUseId: string | null;
  piece: { blockIndex: number; text: string } | undefined;
}

/** The agent ended a turn. What the line says about usage and cost is in records of its own. */
export interface TurnEndRecord {
  kind: 'turn-end';
  success: boolean;
  /** The agent's word for how it ended, e.g. `error_max_turns`. */
  subtype: string | null;
  /** What failed, e.g. `error_max_turns` or `API error 401`; null if the line has none. */
  errorCode: string | null;
  /** The answer, or the error's text. */
  text: string | null;
  stopReason: string | null;
  durationMs: number | null;
  /** As the line says: often the main loop of this turn alone. */
  usage: Usage | undefined;
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
  /** Names the request that an answer on the agent's stdin goes to, or null. */
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
  /** The plan, or why the agent asks or was denied; or null. */
  message: string | null;
}

export type Prompt = QuestionPrompt | ConfirmationPrompt;

/** The agent asks something of the user. Several lines may say it of one tool use. */
export interface PromptRecord {
  kind: 'prompt';
  prompt: Prompt;
}

/** What else a line says to people who watch: a state, a plan, a passing error. */
export interface NoticeRecord {
  kind: 'notice';
  /** E.g. `thinking`, `todo_list`, `system/status`. */
  name: string;
  /** May be empty. */
  text: string;
  isError: boolean;
}

/** What matters only while the agent runs: nothing of it is stored. Given only if the context asks for it. */
export type LiveRecord = RunRecord | PieceRecord | TurnEndRecord | PromptRecord | NoticeRecord;

/** What a line says, in the words that all agents share. */
export type TranscriptRecord = MessageRecord | UsageRecord | EventRecord | SessionRecord | UnknownRecord | LiveRecord;
