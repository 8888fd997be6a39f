type Fields = Record<string, unknown>;

/** Long enough to count as globally unique, like the API's ids. */
export const toFirstMessageId = (sessionId: string): string => `msg_01FirstResponseOfStream${sessionId}`;

const toUsage = (input: number, output: number): Fields => ({
  input_tokens: input,
  output_tokens: output,
  cache_read_input_tokens: 1000,
  cache_creation_input_tokens: 10,
});

const toAnswer = (id: string, block: Fields, output: number): Fields => ({
  type: 'assistant',
  parent_tool_use_id: null,
  message: { id, role: 'assistant', model: 'claude-sonnet-4-5', content: [block], usage: toUsage(5, output) },
});

/**
 * A run of `claude -p` with partial messages and replayed prompts. It has a tool, a sub-agent, and two checkpoints.
 * Tokens are input 5 + 5 + 5, output 120 + 30 + 40.
 */
export function toStreamLines(sessionId: string): string[] {
  const firstId = toFirstMessageId(sessionId);
  const secondId = `msg_01SecondResponseOfStream${sessionId}`;
  const subagentId = `msg_01SubagentResponseOfStream${sessionId}`;
  const lines: Fields[] = [
    {
      type: 'system',
      subtype: 'init',
      cwd: '/home/ada/app',
      tools: ['Read', 'Task'],
      model: 'claude-sonnet-4-5',
      permissionMode: 'default',
      claude_code_version: '2.1.0',
    },
    { type: 'user', parent_tool_use_id: null, message: { role: 'user', content: 'prüfe die Zähler 👩‍👩‍👧' } },
    {
      type: 'stream_event',
      parent_tool_use_id: null,
      event: {
        type: 'message_start',
        message: { id: firstId, model: 'claude-sonnet-4-5', usage: toUsage(5, 1) },
      },
    },
    {
      type: 'stream_event',
      parent_tool_use_id: null,
      event: { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Ich ' } },
    },
    {
      type: 'stream_event',
      parent_tool_use_id: null,
      event: { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'sehe nach.' } },
    },
    toAnswer(firstId, { type: 'text', text: 'Ich sehe nach.' }, 1),
    toAnswer(firstId, { type: 'tool_use', id: 'toolu_1', name: 'Read', input: { file_path: '/a.ts' } }, 1),
    {
      type: 'stream_event',
      parent_tool_use_id: null,
      event: { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: toUsage(5, 120) },
    },
    {
      type: 'user',
      parent_tool_use_id: null,
      message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'line 1' }] },
    },
    { ...toAnswer(subagentId, { type: 'text', text: 'from below' }, 30), parent_tool_use_id: 'toolu_2' },
    { type: 'user', parent_tool_use_id: null, message: { role: 'user', content: 'und weiter' } },
    toAnswer(secondId, { type: 'text', text: 'Fertig 🎉' }, 40),
    {
      type: 'result',
      subtype: 'success',
      is_error: false,
      duration_ms: 1200,
      num_turns: 2,
      result: 'Fertig 🎉',
      stop_reason: 'end_turn',
      total_cost_usd: 0.0123,
      usage: toUsage(5, 40),
      permission_denials: [],
    },
  ];
  return lines.map((line, index) => {
    const uuid = `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;
    return `${JSON.stringify({ ...line, session_id: sessionId, uuid })}\n`;
  });
}

export const CHECKPOINTS = ['00000000-0000-4000-8000-000000000001', '00000000-0000-4000-8000-000000000010'];

export const LIVE_TOKENS = { tokens_in: 15, tokens_out: 190, cache_read: 3000, cache_write: 30 };

/** Output of `codex exec --json`. */
export function toCodexLines(threadId: string): string[] {
  const lines: Fields[] = [
    { type: 'thread.started', thread_id: threadId },
    { type: 'turn.started' },
    { type: 'item.completed', item: { id: 'item_1', type: 'agent_message', text: 'done' } },
    { type: 'turn.completed', usage: { input_tokens: 100, cached_input_tokens: 60, output_tokens: 20 } },
  ];
  return lines.map((line) => `${JSON.stringify(line)}\n`);
}
