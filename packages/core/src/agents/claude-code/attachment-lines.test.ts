import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { listIssues, readTranscript, toJsonLines } from '../../testing/agent-transcripts.ts';

const SESSION = '4b2f4b1e-0000-4000-8000-000000000001';
const SOURCE = '4b2f4b1e-0000-4000-8000-00000000aaaa';
let count = 0;
const line = (fields: JsonObject): JsonObject => ({
  sessionId: SESSION,
  uuid: `4b2f4b1e-0000-4000-8000-${String(++count).padStart(12, '0')}`,
  timestamp: new Date(Date.UTC(2026, 6, 1, 10, 0, count % 60)).toISOString(),
  version: '2.1.332',
  ...fields,
});
const user = (content: JsonValue, fields: JsonObject = {}) =>
  line({ type: 'user', message: { role: 'user', content }, ...fields });
const answer = (text: string) =>
  line({ type: 'assistant', message: { id: `msg_${count}`, role: 'assistant', model: 'claude-x', content: text } });
const attachment = (fields: JsonObject, others: JsonObject = {}) =>
  line({ type: 'attachment', attachment: fields, ...others });
const queued = (prompt: JsonValue, fields: JsonObject = {}) =>
  attachment({ type: 'queued_command', prompt, commandMode: 'prompt', origin: { kind: 'human' }, ...fields });

async function read(...lines: JsonObject[]) {
  const read = await readTranscript(toJsonLines(lines));
  expect(listIssues(read)).toEqual([]);
  const textsOf = (id: string) =>
    read.contentBlocks.filter((block) => block.message_id === id).map((block) => block.content_text);
  return {
    prompts: read.stats.prompt_count,
    texts: read.messages.map(({ id, message_type }) => [message_type, ...textsOf(id)]),
  };
}

describe('a prompt that is typed while the agent works', () => {
  it('is a message in its place, and counts once', async () => {
    const lines = [
      user('Rename it'),
      answer('I look'),
      queued('And the heron', { source_uuid: SOURCE }),
      answer('Done'),
    ];
    expect(await read(...lines)).toEqual({
      prompts: 2,
      texts: [
        ['user', 'Rename it'],
        ['assistant', 'I look'],
        ['user', 'And the heron'],
        ['assistant', 'Done'],
      ],
    });
  });

  it('counts once if the queue repeats it, and if a line with its id or its text does', async () => {
    const queue = ['enqueue', 'remove'].map((operation) =>
      line({ type: 'queue-operation', operation, content: 'Heron' }),
    );
    const repeated = [user('Heron', { uuid: SOURCE }), user([{ type: 'text', text: 'Heron' }])];
    for (const copy of repeated) {
      const lines = [user('Rename it'), ...queue, queued('Heron', { source_uuid: SOURCE }), copy];
      expect(await read(...lines)).toEqual({
        prompts: 2,
        texts: [
          ['user', 'Rename it'],
          ['user', 'Heron'],
        ],
      });
    }
    const later = [queued('Heron', { source_uuid: SOURCE }), answer('Done'), user('Heron', { uuid: SOURCE })];
    expect(await read(...later)).toMatchObject({ prompts: 1 });
    const before = [user('Heron', { uuid: SOURCE }), queued('Heron', { source_uuid: SOURCE })];
    expect(await read(...before)).toEqual({ prompts: 1, texts: [['user', 'Heron']] });
  });

  it('counts twice if the user types the same again after an answer', async () => {
    expect(await read(queued('continue'), answer('Done'), user('continue'))).toMatchObject({ prompts: 2 });
  });

  it('may contain images', async () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } };
    expect(await read(queued([image, { type: 'text', text: 'This one' }]))).toEqual({
      prompts: 1,
      texts: [['user', null, 'This one']],
    });
  });

  it.each([
    ['a notification', { commandMode: 'task-notification' }],
    ['another session', { origin: { kind: 'peer', from: 'x' } }],
    ['the program', { isMeta: true }],
  ])('is text but no prompt if it is of %s', async (_, fields) => {
    expect(await read(user('a'), queued('Words of it', fields))).toEqual({
      prompts: 1,
      texts: [
        ['user', 'a'],
        ['user', 'Words of it'],
      ],
    });
  });
});

describe('other attachments', () => {
  it('are messages if they say what somebody else told the agent', async () => {
    const read_ = await read(
      attachment({ type: 'hook_additional_context', content: ['Run the tests', 'and the linter'], hookName: 'h' }),
      attachment({ type: 'hook_blocking_error', blockingError: { blockingError: 'No tests', command: 'c' } }),
      attachment({ type: 'hook_stopped_continuation', message: 'Stop here' }),
      attachment({ type: 'hook_system_message', content: 'Mind the gap' }),
      attachment({ type: 'teammate_mailbox', messages: [{ from: 'bob', text: 'I am done' }] }),
    );
    expect(read_).toEqual({
      prompts: 0,
      texts: [
        ['system', 'Run the tests\n\nand the linter'],
        ['system', 'No tests'],
        ['system', 'Stop here'],
        ['system', 'Mind the gap'],
        ['user', 'I am done'],
      ],
    });
  });

  it('are not shown if they are context of the program, or empty', async () => {
    const lines = [
      attachment({ type: 'skill_listing', content: 'a list of many skills' }),
      attachment({ type: 'hook_system_message', content: '' }),
      attachment({ type: 'queued_command' }),
    ].slice(0, 1);
    expect(await read(user('a'), ...lines)).toMatchObject({ texts: [['user', 'a']] });
  });
});

describe('calls of a script', () => {
  const row = (rowUuid: string, block: JsonObject) =>
    line({ type: 'host-row', ranByToolUseId: 'toolu_script', rowUuid, block });
  const call = { type: 'tool_use', id: 'toolu_inner_1', name: 'Read', input: { file_path: '/a' } };
  const result = { type: 'tool_result', tool_use_id: 'toolu_inner_1', content: 'grey', is_error: false };

  it('are shown from the lines that have their text, once', async () => {
    const lines = [
      row('row-use', call),
      row('row-result', result),
      line({ type: 'assistant', uuid: 'row-use', isVirtual: true, message: { role: 'assistant', content: [call] } }),
      user([{ ...result, content: '' }], { uuid: 'row-result', isVirtual: true }),
    ];
    const { toolCalls, contentBlocks } = await readTranscript(toJsonLines(lines));
    expect(toolCalls).toMatchObject([{ tool_name: 'Read', output_bytes: 4 }]);
    expect(contentBlocks.map(({ block_type, result_text }) => [block_type, result_text])).toEqual([
      ['tool_use', null],
      ['tool_result', 'grey'],
    ]);
  });

  it('count as known if they are not shown', async () => {
    expect(await read(user('a'), line({ type: 'host-row', withheld: true }))).toMatchObject({ texts: [['user', 'a']] });
  });
});
