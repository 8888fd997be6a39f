import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  hasEdit,
  hasError,
  type Message,
  type MessageList,
  type Outline,
  outlineSchema,
  type SessionList,
  type Turn,
  toContextTokens,
  toConversation,
} from '@recount/contract';
import { readOutlineMessages } from '@recount/db';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestApi, type TestApi } from '../testing/test-api.ts';
import { toLine } from '../testing/transcript-lines.ts';

const SAMPLES = join(import.meta.dirname, '../../../../samples/claude-projects');
/** Calls without a result, results without a call, blank texts, generated texts. */
const ODD = 'odd-session';
const SPACES = ' \n\t\u00a0\u2003\ufeff';

let api: TestApi;

async function read<T>(path: string): Promise<T> {
  const response = await api.fetch(path);
  expect(response.status, path).toBe(200);
  return (await response.json()) as T;
}

async function listMessages(sessionId: string): Promise<Message[]> {
  const messages: Message[] = [];
  let cursor = '';
  do {
    const page = await read<MessageList>(`/v1/sessions/${sessionId}/messages?limit=500${cursor}`);
    messages.push(...page.messages);
    cursor = page.next_cursor === null ? '' : `&cursor=${page.next_cursor}`;
  } while (cursor !== '');
  return messages;
}

beforeAll(async () => {
  api = await createTestApi();
  for (const name of await readdir(SAMPLES, { recursive: true })) {
    if (name.endsWith('.jsonl')) await api.upload(await readFile(join(SAMPLES, name)), { path: join(SAMPLES, name) });
  }
  let index = 0;
  const user = (content: unknown) => toLine(ODD, index++, { type: 'user', message: { role: 'user', content } });
  const result = (id: string, is_error = false) => ({
    type: 'tool_result',
    tool_use_id: id,
    content: 'found it',
    is_error,
  });
  const answer = (id: string, content: unknown) =>
    toLine(ODD, index++, {
      type: 'assistant',
      message: {
        id,
        role: 'assistant',
        model: 'claude-sonnet-4-5',
        content,
        usage: { input_tokens: 3, output_tokens: 1 },
      },
    });
  const call = (id: string, name = 'Bash') => ({ type: 'tool_use', id, name, input: { command: 'Größe "x"' } });
  const lines = [
    user([result('before')]),
    user(`${SPACES}<command-name>/clear</command-name>`),
    user(SPACES),
    user('Fix it'),
    answer('a', [{ type: 'thinking', thinking: SPACES }, call('one'), call('two', 'Edit')]),
    user([result('one', true)]),
    answer('b', [{ type: 'text', text: 'Between' }]),
    user([result('two'), { type: 'text', text: 'and hurry' }]),
    user([result('two')]),
    answer('c', [call('never')]),
  ];
  await api.upload(lines.join(''), { session_id: ODD, path: `/p/${ODD}.jsonl` });
  await api.work();
});
afterAll(() => api.close());

describe('GET /v1/sessions/{session_id}/outline', () => {
  it('groups messages into turns as the conversation does', async () => {
    const { sessions } = await read<SessionList>('/v1/sessions?limit=500');
    expect(sessions.length).toBeGreaterThan(5);
    for (const { session_id: sessionId } of sessions) {
      const outline = outlineSchema.parse(await read(`/v1/sessions/${sessionId}/outline`));
      const messages = await listMessages(sessionId);
      const expected = toConversation(messages).map((turn) => ({
        id: turn.message.id,
        ordinal: turn.message.ordinal,
        kind: turn.kind,
        is_error: hasError(turn),
        is_edit: hasEdit(turn),
        context_tokens: toContextTokens(turn.message),
        cost_usd: turn.message.cost_usd,
      }));
      expect(
        outline.turns.map(({ result_ordinals: _, title: _title, ...turn }) => turn),
        sessionId,
      ).toEqual(expected);
      const isPrompt = ({ kind }: { kind: string }) => kind === 'prompt';
      expect(outline.turns.every((turn) => turn.title === null || isPrompt(turn))).toBe(true);
      expect(outline.turns.filter(isPrompt).map(({ title }) => title?.slice(0, 8))).toEqual(
        toConversation(messages).filter(isPrompt).map(toBeginning),
      );
      expect(outline).toMatchObject({ message_count: messages.length, is_cut: false });
    }
  });

  it('says where the results of calls are, and what failed', async () => {
    const { turns } = await read<Outline>(`/v1/sessions/${ODD}/outline`);
    expect(
      turns.map(({ ordinal, kind, is_error, is_edit, result_ordinals }) => [
        ordinal,
        kind,
        is_error,
        is_edit,
        result_ordinals,
      ]),
    ).toEqual([
      [0, 'context', false, false, []],
      [1, 'context', false, false, []],
      [3, 'prompt', false, false, []],
      [4, 'answer', true, true, [5, 7]],
      [6, 'answer', false, false, []],
      [7, 'prompt', false, false, []],
      [8, 'context', false, false, []],
      [9, 'answer', false, false, []],
    ]);
  });

  it.each([
    ['BETWEEN', [6]],
    ['größe', [4, 9]],
    ['found it', [0, 4, 8]],
    ['100%_', []],
  ])('finds the turns that contain %s', async (contains, ordinals) => {
    const { turns } = await read<Outline>(`/v1/sessions/${ODD}/outline?contains=${encodeURIComponent(contains)}`);
    expect(turns.map(({ ordinal }) => ordinal)).toEqual(ordinals);
  });

  it('holds a thousand parts of a message, reads no more at a time than fit into memory, and finds results by long ids', async () => {
    const WIDE = 'wide-session';
    const id = (index: number): string => `${'i'.repeat(200)}${index}`;
    const parts = Array.from({ length: 1100 }, (_, index) => ({ type: 'text', text: `${index} ${'x'.repeat(500)}` }));
    const calls = [1, 2].map((index) => ({ type: 'tool_use', id: id(index), name: 'Bash', input: {} }));
    const results = [2, 1].map((index) => ({ type: 'tool_result', tool_use_id: id(index), content: 'done' }));
    const lines = [
      toLine(WIDE, 0, { type: 'assistant', message: { id: 'a', role: 'assistant', content: calls } }),
      ...results.map((result, index) => toLine(WIDE, 1 + index, { type: 'user', message: { content: [result] } })),
      ...Array.from({ length: 12 }, (_, index) =>
        toLine(WIDE, 3 + index, { type: 'user', message: { content: parts } }),
      ),
    ];
    await api.upload(lines.join(''), { session_id: WIDE, path: `/p/${WIDE}.jsonl` });
    await api.work();

    const outline = await read<Outline>(`/v1/sessions/${WIDE}/outline`);
    expect(outline).toMatchObject({ message_count: 15, is_cut: true });
    expect(outline.turns.map(({ ordinal }) => ordinal)).toEqual([
      0,
      ...Array.from({ length: 12 }, (_, index) => 3 + index),
    ]);
    expect(outline.turns[0]?.result_ordinals).toEqual([2, 1]);
    const { rows } = await api.database.pool.query<{ workspaceId: string; rowSetId: string }>(
      `SELECT workspace_id AS "workspaceId", row_set_id AS "rowSetId" FROM recount.transcripts WHERE session_id = $1`,
      [WIDE],
    );
    const page = await readOutlineMessages(api.database.database, rows[0] as (typeof rows)[0], { limit: 250 });
    expect(page.isLast).toBe(false);
    const blocks = page.messages.flatMap((message) => message.content_blocks);
    expect(blocks.length).toBeLessThanOrEqual(10_000);
    // The first parts of a prompt may hold its title.
    expect(blocks.filter(({ content_text }) => (content_text?.length ?? 0) > 40)).toHaveLength(
      8 * (page.messages.length - 3),
    );
  });

  it('points to the messages of its turns', async () => {
    const { turns } = await read<Outline>(`/v1/sessions/${ODD}/outline`);
    const from = turns[4]?.id ?? '';
    const page = await read<MessageList>(`/v1/sessions/${ODD}/messages?from_message_id=${from}&limit=2`);
    expect(page.messages.map(({ ordinal }) => ordinal)).toEqual([6, 7]);
    const next = await read<MessageList>(
      `/v1/sessions/${ODD}/messages?from_message_id=${from}&limit=2&cursor=${page.next_cursor}`,
    );
    expect(next.messages.map(({ ordinal }) => ordinal)).toEqual([8, 9]);
  });
});

/** The beginning of a prompt's title, found without the rules for titles: these prompts are plain sentences. */
const toBeginning = ({ steps }: Turn): string | undefined => {
  const texts = steps.flatMap((step) => (step.kind === 'text' ? [step.block.content_text?.trim() ?? ''] : []));
  return texts.find((text) => text !== '')?.slice(0, 8);
};
