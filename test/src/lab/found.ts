/** Tokens of a response, by the classes that add up. */
export interface FoundResponse {
  sessionId: string;
  model: string | null;
  input: number;
  cacheRead: number;
  cacheWrite: number;
  output: number;
  /** Parts of the two above; 0 if the transcript does not state them. */
  cacheWrite1h: number;
  reasoning: number;
  serviceTier: string | null;
  speed: string | null;
}

export interface FoundCall {
  id: string | null;
  name: string;
  /** Text of its result; null without one. */
  result: string | null;
}

export interface FoundIssue {
  code: string;
  severity: string;
  message: string;
}

export interface FoundSession {
  id: string;
  agent: string;
  /** Texts of the user's messages, without those that the agent added. */
  prompts: string[];
  /** Texts of the assistant's messages. */
  answers: string[];
  calls: FoundCall[];
  promptCount: number;
  issues: FoundIssue[];
}

/** The result of recount for a program's files. */
export interface Found {
  sessions: FoundSession[];
  /** Each response once, however many sessions hold it. */
  responses: FoundResponse[];
}

/** Fields of a content block, as `parse` and the database name them. */
export interface BlockFields {
  message_type: string;
  /** Metadata of the message: `isMeta` marks what the agent added to the conversation by itself. */
  message_metadata: Record<string, unknown> | null;
  content_text: string | null;
  tool_name: string | null;
  tool_use_id: string | null;
  tool_result_id: string | null;
  result_text: string | null;
}

/** The session that these content blocks, in their order, are of. */
export function toFoundSession(
  { id, agent, promptCount }: Pick<FoundSession, 'id' | 'agent' | 'promptCount'>,
  blocks: readonly BlockFields[],
  issues: readonly FoundIssue[],
): FoundSession {
  const texts = (type: string): string[] =>
    blocks.flatMap(({ message_type, message_metadata, content_text }) =>
      message_type === type && message_metadata?.isMeta !== true && content_text !== null ? [content_text] : [],
    );
  const results = new Map<string, string | null>();
  for (const block of blocks) {
    if (block.tool_result_id !== null) results.set(block.tool_result_id, block.result_text ?? '');
  }
  const calls = blocks.flatMap(({ tool_name: name, tool_use_id: callId }): FoundCall[] =>
    name === null ? [] : [{ id: callId, name, result: results.get(callId ?? '') ?? null }],
  );
  return { id, agent, promptCount, prompts: texts('user'), answers: texts('assistant'), calls, issues: [...issues] };
}
