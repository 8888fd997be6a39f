/** A session of the demo, as it happened, before an agent writes it down. Times in milliseconds since 1970. */
export interface DemoSession {
  agent: DemoAgent;
  /** A UUID. */
  sessionId: string;
  person: string;
  machine: string;
  /** The person's home folder. */
  home: string;
  cwd: string;
  branch: string;
  /** The remote that git would name. */
  remote: string;
  model: string;
  title: string;
  startMs: number;
  turns: readonly DemoTurn[];
  pullRequest?: { number: number; repository: string };
  /** Id of a sub-agent. Its lines have the session id of the session that started it. */
  agentId?: string;
}

export type DemoAgent = 'claude-code' | 'codex' | 'copilot' | 'pi' | 'qwen';

export interface DemoTurn {
  atMs: number;
  prompt: string;
  responses: readonly DemoResponse[];
}

/** One response of the API. */
export interface DemoResponse {
  atMs: number;
  /** Unique in the demo. */
  id: string;
  usage: DemoUsage;
  /** Empty if the response only calls tools. */
  text: string;
  call?: DemoCall;
  /** In its place, a call that only Claude Code makes here. */
  claudeCall?: DemoClaudeCall;
}

/** Tokens; no class contains another. */
export interface DemoUsage {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
}

export interface DemoCall {
  id: string;
  action:
    | { kind: 'run'; command: string }
    | { kind: 'read'; path: string }
    | { kind: 'edit'; path: string; before: string; after: string }
    | { kind: 'search'; pattern: string };
  output: string;
  isError: boolean;
  endMs: number;
}

/** A call of a tool of an MCP server, or of a sub-agent. */
export interface DemoClaudeCall {
  id: string;
  name: string;
  input: object;
  output: string;
  isError: boolean;
  endMs: number;
  subagent?: DemoSubagent;
}

/** The part of a sub-agent's session that differs from the session that started it. */
export interface DemoSubagent extends Pick<DemoSession, 'model' | 'startMs' | 'turns'> {
  agentId: string;
  type: string;
}
