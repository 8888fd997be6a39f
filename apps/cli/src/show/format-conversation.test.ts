import type { ContentBlock, Message, Session } from '@recount/contract';
import { describe, expect, it } from 'vitest';
import { formatConversation } from './format-conversation.ts';
import type { LoadedSession } from './read-session.ts';

const block = (fields: Partial<ContentBlock>) => ({
  block_type: 'text',
  tool_use_id: null,
  tool_result_id: null,
  tool_name: null,
  tool_kind: null,
  metadata: {},
  line_number: 1,
  ...fields,
});
const message = (
  message_type: string,
  line_number: number,
  blocks: Partial<ContentBlock>[],
  fields: Partial<Message> = {},
) => ({
  message_type,
  line_number,
  model: message_type === 'assistant' ? 'claude-opus-5' : null,
  timestamp: `2026-03-02T10:00:${String(line_number).padStart(2, '0')}.000Z`,
  cost_usd: message_type === 'assistant' ? 0.25 : null,
  tokens_out: null,
  metadata: {},
  is_sidechain: false,
  content_blocks: blocks.map((each) => block({ line_number, ...each })),
  ...fields,
});
const session = {
  session_id: 'aaaa',
  agent: 'claude-code',
  agent_id: null,
  title: 'Fix\u001B[31m it',
  project: '/app',
  git_branch: 'main',
  models: ['claude-opus-5'],
  first_timestamp: '2026-03-02T10:00:00.000Z',
  last_timestamp: '2026-03-02T11:00:00.000Z',
  duration_ms: 3_600_000,
  total_messages: 4,
  tokens_in: 1,
  tokens_out: 2,
  cache_read: 3,
  cache_write: 4,
  cost_estimate_usd: 1.5,
  tool_error_count: 1,
  api_error_count: 0,
} as unknown as Session;
const child = {
  ...session,
  session_id: 'aaaa:x',
  agent_id: 'x1',
  initial_prompt: 'Look around',
  title: 'Explore',
} as Session;
const loaded = {
  session,
  is_cut: false,
  messages: [
    message('user', 1, [{ content_text: 'Please fix it' }]),
    message('assistant', 2, [
      {
        block_type: 'tool_use',
        tool_name: 'Bash',
        tool_kind: 'shell',
        tool_use_id: 'a',
        tool_input: { command: 'npm test' },
      },
      {
        block_type: 'tool_use',
        tool_name: 'Edit',
        tool_kind: 'edit',
        tool_use_id: 'b',
        tool_input: { file_path: '/app/a.ts', old_string: 'same\nold\nend', new_string: 'same\nnew\nend' },
      },
      {
        block_type: 'tool_use',
        tool_name: 'Task',
        tool_kind: 'agent',
        tool_use_id: 'c',
        tool_input: { prompt: 'Look around' },
      },
    ]),
    message('user', 3, [
      {
        block_type: 'tool_result',
        tool_result_id: 'a',
        is_error: true,
        result_text: Array.from({ length: 20 }, (_, i) => `line ${i}`).join('\n'),
      },
    ]),
    message('user', 4, [
      { block_type: 'tool_result', tool_result_id: 'b', is_error: false, result_text: 'The file was edited' },
    ]),
    message('assistant', 5, [{ content_text: 'It ```is``` done.' }]),
  ],
  subagents: [
    {
      session: child,
      is_cut: false,
      subagents: [],
      messages: [message('assistant', 1, [{ content_text: 'I looked.' }])],
    },
  ],
} as unknown as LoadedSession;
const options = { timeZone: 'UTC', width: 80, hasWholeTools: false };
const show = (changes = {}): string =>
  formatConversation(loaded, { ...options, ...changes })
    .map(({ text }) => text)
    .join('\n');

describe('formatConversation', () => {
  it('begins a turn with its words, not with empty lines', () => {
    const messages = [message('assistant', 5, [{ content_text: '\n \n\n  It is done.\n\n' }])];
    const lines = formatConversation({ ...loaded, messages, subagents: [] } as unknown as LoadedSession, options);
    expect(lines.slice(-3).map(({ text }) => text)).toEqual([expect.stringMatching(/line 5$/), '  It is done.', '']);
  });

  it('leaves out the line of the place where a session has none', () => {
    const nowhere = { ...loaded, session: { ...loaded.session, project: null, git_branch: null } };
    const [, names, time] = formatConversation(nowhere as LoadedSession, options).map(({ text }) => text);
    expect([names, time]).toEqual(['aaaa  claude-code  claude-opus-5', '2026-03-02 10:00Z to 11:00Z (1 h 0 min)']);
  });

  it('shows prompts, answers, calls with results, diffs, and sub-agents where they were started', () => {
    expect(show()).toMatchInlineSnapshot(`
      "Fix[31m it
      aaaa  claude-code  claude-opus-5
      /app (main)
      2026-03-02 10:00Z to 11:00Z (1 h 0 min)
      4 messages, 10 tokens, $1.50, 1 error

      You  10:00Z  line 1
        Please fix it

      claude-opus-5  10:00Z  $0.2500  line 2
        ✗ Bash  npm test
          line 0
          line 1
          line 2
          line 3
          line 4
          line 5
          … 14 more lines
        ● Edit  a.ts
          - old
          + new
        ● Task  Look around

          Sub-agent x1  $1.50
          claude-opus-5  10:00Z  $0.2500  line 1
            I looked.

      claude-opus-5  10:00Z  $0.2500  line 5
        It \`\`\`is\`\`\` done.
      "
    `);
    const styles = formatConversation(loaded, options).filter(({ style }) => style === 'red');
    expect(styles.map(({ text }) => text.trim())).toContain('✗ Bash  npm test');
  });

  it('shows tools whole', () => {
    const text = show({ hasWholeTools: true });
    expect(text).toContain('line 19');
    expect(text).toContain('The file was edited');
  });

  it('shows what is around a line', () => {
    const many = {
      ...loaded,
      subagents: [],
      messages: Array.from({ length: 40 }, (_, i) =>
        message('assistant', i + 1, [{ content_text: `answer ${i + 1}` }]),
      ),
    };
    const text = formatConversation(many as unknown as LoadedSession, { ...options, line: 20 })
      .map((line) => line.text)
      .join('\n');
    expect(text).toContain('… 17 earlier turns');
    expect(text).toMatch(/answer 18[\s\S]*answer 20[\s\S]*answer 28/);
    expect(text).toContain('… 12 later turns');
    expect(text).not.toContain('answer 29');
  });

  it('fits the width', () => {
    for (const { text } of formatConversation(loaded, { ...options, width: 40 }).slice(4)) {
      expect(text.length).toBeLessThanOrEqual(46);
    }
  });
});
