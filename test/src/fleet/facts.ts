/** Tokens of one API response, by price class. */
export interface PlannedUsage {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite5m: number;
  cacheWrite1h: number;
  webSearches: number;
}

/** In units of 1e-10 US dollars. */
export interface CostUnits {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  webSearch: number;
}

/** One API response of the fleet, however many transcripts hold a copy. Times in milliseconds since 1970. */
export interface ResponseFact {
  key: string;
  model: string | null;
  atMs: number;
  /** Session that is credited. */
  sessionId: string;
  /** All sessions that hold a copy. */
  holders: Set<string>;
  isSubagent: boolean;
  /** Of the sub-agent, if its lines name one. */
  agentId: string | null;
  branch: string;
  version: string;
  usage: PlannedUsage;
  /** Null for a model without a price. */
  costs: CostUnits | null;
  basis: 'list' | 'default' | 'unpriced';
  /** The estimate from the content if the output count is a placeholder; else null. */
  estimatedOutput: number | null;
}

export interface ToolCallFact {
  key: string;
  sessionId: string;
  model: string | null;
  atMs: number;
  isSubagent: boolean;
  name: string;
  mcpServer: string | null;
  program: string | null;
  filePath: string | null;
  subagentType: string | null;
  /** Session of the sub-agent that the call started. */
  subagentSessionId: string | null;
  skill: string | null;
  /** Null without a result, like the four below. */
  durationMs: number | null;
  isError: boolean | null;
  isDenied: boolean;
  inputBytes: number;
  outputBytes: number | null;
}

export type EventKind = 'prompt' | 'compaction' | 'api_error' | 'api_retry' | 'pull_request' | 'slash_command';

export interface EventFact {
  kind: EventKind;
  sessionId: string;
  atMs: number;
  isSubagent: boolean;
  name: string | null;
  details: Record<string, number | string>;
}

export interface MessageFact {
  atMs: number;
  isUser: boolean;
  model: string | null;
  isSubagent: boolean;
}

/** One session according to its longest transcript; figures include what it holds as a copy. */
export interface SessionFact {
  id: string;
  parentId: string | null;
  project: string;
  branch: string;
  version: string;
  /** Over all lines. */
  firstMs: number;
  lastMs: number;
  messages: MessageFact[];
  toolUseCount: number;
  promptCount: number;
  turnCount: number;
  responses: ResponseFact[];
  /** The agent's own cost of the session; null if it states none. */
  reportedUnits: number | null;
}

/** The facts that a generated fleet of transcripts contains. */
export interface FleetFacts {
  responses: ResponseFact[];
  toolCalls: ToolCallFact[];
  events: EventFact[];
  sessions: SessionFact[];
}

/** A file to be uploaded, under the path that it would have had. */
export interface FleetFile {
  path: string;
  text: string;
}

export interface Fleet {
  files: FleetFile[];
  facts: FleetFacts;
}

export function sumUnits(costs: CostUnits | null): number {
  return costs === null ? 0 : costs.input + costs.output + costs.cacheRead + costs.cacheWrite + costs.webSearch;
}
