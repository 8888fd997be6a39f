import { type JsonObject, type ParseResult, parseTranscript } from '@recount/core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ListedMessage, listMessages } from '../messages/list-messages.ts';
import { createTestPool, TEST_WORKSPACE } from '../testing/create-test-pool.ts';
import { ingestTranscript } from '../testing/ingest-transcript.ts';
import { readSamples } from '../testing/read-samples.ts';
import { listIssues } from './list-issues.ts';
import { findTranscript } from './read-transcripts.ts';

let pool: Awaited<ReturnType<typeof createTestPool>>;
beforeAll(async () => {
  pool = await createTestPool();
});
afterAll(() => pool.close());

/** Rows as a reader gets them, page by page. */
async function readRows(transcriptId: string, limit: number) {
  const rows: Pick<ListedMessage, 'message' | 'blocks'>[] = [];
  for (;;) {
    const afterId = rows.at(-1)?.message.id;
    const page = await listMessages(pool.database, TEST_WORKSPACE, transcriptId, { afterId, limit });
    rows.push(...page.map(({ message, blocks }) => ({ message, blocks })));
    if (page.length < limit) return rows;
  }
}

/** The expected content of the database after a parse. */
function toExpectedRows({ messages, contentBlocks }: ParseResult, transcriptId: string) {
  const key = { workspace_id: TEST_WORKSPACE, row_set_id: transcriptId };
  const blocksByMessage = Map.groupBy(contentBlocks, ({ message_id }) => message_id);
  return messages.map((message) => ({
    message: { ...key, ...message },
    blocks: (blocksByMessage.get(message.id) ?? []).map((block) => ({ ...key, ...block })),
  }));
}

it('stores every sample as the parser reads it, whatever the size of the pages', async () => {
  for (const [index, sample] of (await readSamples()).entries()) {
    const transcriptId = `sample-${index}`;
    await ingestTranscript(pool, { workspaceId: TEST_WORKSPACE, transcriptId }, sample);
    const row = await findTranscript(pool.database, TEST_WORKSPACE, transcriptId);
    const parsed = await parseTranscript(row?.session_id ?? '', sample.bytes);
    const expected = toExpectedRows(parsed, transcriptId);
    expect(expected.length).toBeGreaterThan(5);
    expect(await readRows(transcriptId, 1000)).toEqual(expected);
    expect(await readRows(transcriptId, 7)).toEqual(expected);
    expect(row).toMatchObject({ ...parsed.stats, status: 'ingested', project: parsed.metadata.cwd });
    expect(await listIssues(pool.database, TEST_WORKSPACE, transcriptId, { limit: 10 })).toHaveLength(
      (row?.error_count ?? 0) + (row?.warning_count ?? 0),
    );
  }
});

const envelope = (index: number): JsonObject => ({
  uuid: `u${index}`,
  timestamp: new Date(Date.UTC(2026, 0, 1) + index).toISOString(),
});
const answer = (index: number, content: JsonObject, message: JsonObject = {}): JsonObject => ({
  type: 'assistant',
  ...envelope(index),
  message: { id: 'msg_1', role: 'assistant', content: [content], ...message },
});
const prompts = (from: number, count: number): JsonObject[] =>
  Array.from({ length: count }, (_, index) => ({
    type: 'user',
    ...envelope(from + index),
    message: { role: 'user', content: `prompt ${from + index}` },
  }));

it('adds lines that come batches later to their message', async () => {
  const lines = [
    answer(0, { type: 'thinking', thinking: '' }, { usage: { input_tokens: 3, output_tokens: 1 } }),
    ...prompts(1, 950),
    answer(
      951,
      { type: 'tool_use', id: 't1', name: 'Bash', input: '12' },
      { model: 'claude-sonnet-5', usage: { input_tokens: 3, output_tokens: 400 } },
    ),
    ...prompts(952, 950),
    answer(1902, { type: 'text', text: 'done' }, { stop_reason: 'end_turn', usage: { output_tokens: 500 } }),
    ...prompts(1903, 2000),
  ];
  const bytes = Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  const path = 'late-lines.jsonl';
  await ingestTranscript(pool, { workspaceId: TEST_WORKSPACE, transcriptId: 'late' }, { path, bytes });
  const stored = await readRows('late', 1000);
  expect(stored).toEqual(toExpectedRows(await parseTranscript('late-lines', bytes), 'late'));
  expect(stored[0]?.message).toMatchObject({
    model: 'claude-sonnet-5',
    stop_reason: 'end_turn',
    tokens_in: 3,
    tokens_out: 500,
    cost_usd: (3 * 3 + 500 * 15) / 1e6,
    has_text: true,
    has_thinking: true,
    has_tool_use: true,
    metadata: { line_count: 3 },
  });
  expect(stored[0]?.blocks.map(({ tool_input }) => tool_input)).toEqual([null, '12', null]);
});
