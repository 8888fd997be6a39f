import { expect, it } from 'vitest';
import type { JsonObject } from '../../lines/json.ts';
import { parserFor } from '../../live/parser-for.ts';
import { parseTranscript } from '../../parse/parse-transcript.ts';
import { toJsonl } from '../../testing/transcript-lines.ts';

const stream: JsonObject[] = [
  { type: 'message', role: 'user', content: 'list the files' },
  { type: 'message', role: 'system', content: 'be brief' },
  { type: 'message', role: 'assistant', content: [{ type: 'text', text: 'I will' }] },
  { type: 'tool_use', tool_name: 'Bash', tool_id: 'tool_1', tool_input: { command: 'ls -l' } },
  { type: 'tool_result', tool_use_id: 'tool_1', output: { files: 2 } },
  { type: 'tool_use', tool_name: 'Read', tool_id: 'tool_3', tool_input: { file_path: '/etc/shadow' } },
  { type: 'tool_result', tool_use_id: 'tool_3', content: '', is_error: true, error: 'Permission denied' },
];

it('stores lines of a flat stream as messages, blocks and tool calls', async () => {
  const { messages, contentBlocks, toolCalls, errors, stats } = await parseTranscript('s', toJsonl(...stream));
  expect(errors).toEqual([]);
  expect(messages.map(({ message_type, role }) => [message_type, role])).toEqual([
    ['user', 'user'],
    ['system', 'system'],
    ['assistant', 'assistant'],
    ['assistant', 'assistant'],
    ['user', 'user'],
    ['assistant', 'assistant'],
    ['user', 'user'],
  ]);
  expect(
    contentBlocks.map(({ block_type, content_text, result_text }) => [block_type, content_text ?? result_text]),
  ).toEqual([
    ['text', 'list the files'],
    ['text', 'be brief'],
    ['text', 'I will'],
    ['tool_use', null],
    ['tool_result', null],
    ['tool_use', null],
    ['tool_result', 'Permission denied'],
  ]);
  expect(contentBlocks[4]?.metadata.content).toEqual({ files: 2 });
  expect(
    toolCalls.map(({ tool_name, program, file_path, is_error }) => [tool_name, program, file_path, is_error]),
  ).toEqual([
    ['Bash', 'ls', null, false],
    ['Read', null, '/etc/shadow', true],
  ]);
  expect(stats.initial_prompt).toBe('list the files');
});

it('shows lines of a flat stream as they are stored', () => {
  const parser = parserFor('claude', { now: () => 0 });
  const events = [...(parser?.push(toJsonl(...stream)) ?? []), ...(parser?.finish() ?? [])];
  const shown = events.flatMap((event) => {
    if (event.type === 'text' || event.type === 'progress') return [`${event.type} ${event.text}`];
    if (event.type === 'tool-start') return [`start ${event.toolName} ${event.toolInput}`];
    return event.type === 'tool-end' ? [`end ${event.toolName} ${event.toolError ?? event.toolOutput}`] : [];
  });
  expect(shown).toEqual([
    'progress list the files',
    'progress be brief',
    'text I will',
    'start Bash ls -l',
    'end Bash {"files":2}',
    'start Read /etc/shadow',
    'end Read Permission denied',
  ]);
});
