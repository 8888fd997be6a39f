import { setImmediate } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import type { TranscriptInput } from './input-chunks.ts';
import type { ParseOptions } from './parse-options.ts';
import { parseTranscript } from './parse-transcript.ts';
import { BATCH_BYTES, BATCH_ROWS, streamTranscript, type TranscriptBatch } from './stream-transcript.ts';
import { toPieces, toReusedChunks } from './testing/chunked-inputs.ts';
import { expectSame } from './testing/expect-same.ts';
import { assistantLine, toJsonl, toUsageFields, userLine } from './testing/transcript-lines.ts';
import type { TranscriptSummary } from './transcript-parser.ts';

async function collect(input: TranscriptInput, options: ParseOptions = {}) {
  const stream = streamTranscript('s', input, options);
  // Copies, as a writer to a database makes them: rows must be right when they are handed over.
  const batches: TranscriptBatch[] = [];
  for (;;) {
    const next = await stream.next();
    if (next.done) return { batches, summary: next.value satisfies TranscriptSummary };
    batches.push(structuredClone(next.value));
  }
}

/** Rows as a table would hold them after every batch. */
function toTable(batches: readonly TranscriptBatch[]) {
  const messages = new Map<string, TranscriptBatch['messages'][number]>();
  for (const batch of batches) {
    for (const message of batch.messages) {
      expect(messages.has(message.id)).toBe(false);
      messages.set(message.id, message);
    }
    for (const message of batch.updatedMessages) {
      expect(messages.has(message.id)).toBe(true);
      messages.set(message.id, message);
    }
  }
  return [...messages.values()];
}

/** 2,500 lines, of which every tenth response comes back much later, with its final usage and another block. */
const longTranscript = Buffer.from(
  toJsonl(
    ...Array.from({ length: 2500 }, (_, index) => {
      const isLate = index > 1250 && index % 10 === 0;
      return assistantLine(
        isLate ? `m${index - 1250}` : `m${index}`,
        [{ type: isLate ? 'tool_use' : 'text', text: 'x', name: 'Task' }],
        { usage: toUsageFields(3, isLate ? 90 : 1), stop_reason: isLate ? 'tool_use' : null },
      );
    }),
    '// not JSON',
  ),
);

describe('streamTranscript', () => {
  it.each([100, 5000, 64 * 1024, 10_000_000])(
    'gives the rows of parseTranscript in chunks of %d bytes',
    async (size) => {
      const whole = await parseTranscript('s', longTranscript);
      const { batches, summary } = await collect(toReusedChunks(longTranscript, size));
      expect(batches.length).toBeGreaterThan(1);
      expectSame(toTable(batches), whole.messages);
      expectSame(
        batches.flatMap((batch) => batch.contentBlocks),
        whole.contentBlocks,
      );
      for (const rows of ['apiResponses', 'toolCalls', 'events'] as const) {
        expectSame<unknown>(
          batches.flatMap((batch): unknown[] => batch[rows]),
          whole[rows],
        );
      }
      expect(batches.flatMap((batch) => batch.issues)).toEqual(
        whole.errors.map((error) => ({ ...error, severity: 'error' })),
      );
      const { stats, metadata } = whole;
      expect(summary).toMatchObject({ stats, metadata });
    },
  );

  it('hands over the late lines of a message that has left as an update, once a batch', async () => {
    const { batches } = await collect(toReusedChunks(longTranscript, 100));
    const updates = batches.flatMap((batch) => batch.updatedMessages);
    expect(updates.length).toBeGreaterThan(100);
    // Each has one late line, so each leaves once.
    expect(new Set(updates.map(({ id }) => id)).size).toBe(updates.length);
    for (const message of updates) {
      expect(message).toMatchObject({ tokens_out: 90, has_tool_use: true, stop_reason: 'tool_use' });
    }
    for (const { messages, updatedMessages } of batches) {
      const ids = [...messages, ...updatedMessages].map(({ id }) => id);
      expect(new Set(ids).size).toBe(ids.length);
    }
  });

  it('hands over a message that grows before it has left as it is then, not as an update', async () => {
    const lines = [assistantLine('m1', 'a'), assistantLine('m1', 'b'), userLine('c'), assistantLine('m1', 'd')];
    const { batches } = await collect(toJsonl(...lines));
    expect(batches).toMatchObject([{ messages: [{ metadata: { line_count: 3 } }, {}], updatedMessages: [] }]);
  });

  it('hands over a batch of updates alone', async () => {
    const lines = Array.from({ length: BATCH_ROWS }, (_, index) => assistantLine(`m${index}`, null));
    const late = lines.map((line) => ({ ...line, requestId: 'late' }));
    const { batches } = await collect(toReusedChunks(Buffer.from(toJsonl(...lines, ...late)), 1000));
    const [first, ...rest] = batches;
    expect(first?.messages.length).toBeGreaterThanOrEqual(BATCH_ROWS - 20);
    expect(rest.flatMap((batch) => batch.updatedMessages)).not.toHaveLength(0);
    expect(toTable(batches).every((message) => message.request_id === 'late')).toBe(true);
  });

  it('bounds a batch by rows', async () => {
    const { batches } = await collect(toReusedChunks(longTranscript, 1000));
    for (const batch of batches) {
      expect(sumOf(Object.values(batch).map((rows) => rows.length))).toBeLessThan(BATCH_ROWS + 50);
    }
    // All its responses are open to the end.
    expect(sumOf(batches.slice(-2).map(({ apiResponses }) => apiResponses.length))).toBeGreaterThan(BATCH_ROWS);
  });

  it('bounds a batch by the bytes of its lines', async () => {
    const line = Buffer.from(toJsonl(userLine('x'.repeat(100_000))));
    const { batches } = await collect(toPiecesOf(line, 100));
    expect(batches.length).toBeGreaterThanOrEqual(Math.floor((line.length * 100) / (BATCH_BYTES + line.length)));
    for (const { messages } of batches)
      expect(messages.length * line.length).toBeLessThan(BATCH_BYTES + line.length * 2);
  });

  it('yields nothing for nothing', async () => {
    expect(await collect('')).toMatchObject({ batches: [], summary: { stats: { total_messages: 0 } } });
    expect(await collect('\n\n')).toMatchObject({
      batches: [],
      summary: { metadata: { lineCount: 2, byteLength: 2 } },
    });
  });

  it('closes the source where the consumer leaves or fails', async () => {
    const onReturn = vi.fn(async () => ({ done: true as const, value: undefined }));
    const source = {
      [Symbol.asyncIterator]: () => ({
        next: async () => ({ done: false as const, value: longTranscript }),
        return: onReturn,
      }),
    };
    for await (const _batch of streamTranscript('s', source)) break;
    expect(onReturn).toHaveBeenCalledTimes(1);
    const failure = new Error('disk full');
    const fail = async () => {
      for await (const _batch of streamTranscript('s', source)) throw failure;
    };
    await expect(fail()).rejects.toBe(failure);
    expect(onReturn).toHaveBeenCalledTimes(2);
  });
});

describe('an abort of the stream', () => {
  it('gives what was read, with a summary that fits it, and leaves the unfinished line unreported', async () => {
    const controller = new AbortController();
    async function* source(): AsyncGenerator<Uint8Array> {
      yield Buffer.from(toJsonl(userLine('one'), userLine('two')));
      yield Buffer.from('{"type":"user","mess');
      controller.abort();
      yield Buffer.from('never read');
    }
    const { batches, summary } = await collect(source(), { signal: controller.signal });
    expect(toTable(batches).map(({ ordinal }) => ordinal)).toEqual([0, 1]);
    expect(batches.flatMap((batch) => batch.issues)).toEqual([]);
    expect(summary).toMatchObject({ stats: { total_messages: 2 }, metadata: { lineCount: 2 } });
  });

  it('gives the responses and calls that were open, and counts them', async () => {
    const controller = new AbortController();
    async function* source(): AsyncGenerator<Uint8Array> {
      const content = [{ type: 'tool_use', id: 't1', name: 'Read' }];
      yield Buffer.from(toJsonl(assistantLine('m1', content, { usage: toUsageFields(5, 20) })));
      controller.abort();
    }
    const { batches, summary } = await collect(source(), { signal: controller.signal });
    expect(batches.flatMap((batch) => batch.apiResponses)).toMatchObject([{ tokens_out: 20 }]);
    expect(batches.flatMap((batch) => batch.toolCalls)).toMatchObject([{ is_error: null }]);
    expect(summary.stats).toMatchObject({ tokens_out: 20, api_response_count: 1 });
  });

  it('between two batches ends the stream at the next', async () => {
    const controller = new AbortController();
    const stream = streamTranscript('s', toPiecesOf(longTranscript, 50), { signal: controller.signal });
    const { value } = await stream.next();
    controller.abort();
    const rest: number[] = [];
    for await (const batch of stream) rest.push(batch.messages.length);
    expect((value as TranscriptBatch).messages.length).toBeGreaterThan(0);
    expect(rest.reduce((sum, count) => sum + count, 0)).toBeLessThan(2000);
  });

  it('after the end changes nothing', async () => {
    const controller = new AbortController();
    const result = await parseTranscript('s', longTranscript, { signal: controller.signal });
    controller.abort();
    await setImmediate();
    expectSame(result, await parseTranscript('s', longTranscript));
  });

  it('from onLineError stops soon', async () => {
    const controller = new AbortController();
    const input = `bad\n${toJsonl(userLine('x'.repeat(1000))).repeat(2000)}`;
    const { messages, errors } = await parseTranscript('s', input, {
      signal: controller.signal,
      onLineError: () => controller.abort(),
    });
    expect(errors).toHaveLength(1);
    expect(messages.length).toBeLessThan(300);
  });

  it('lets the failure of a source that fails first pass through', async () => {
    const failure = new Error('reset by peer');
    async function* source(): AsyncGenerator<Uint8Array> {
      yield Buffer.from(toJsonl(userLine('one')));
      throw failure;
    }
    const { signal } = new AbortController();
    await expect(parseTranscript('s', source(), { signal })).rejects.toBe(failure);
  });
});

const sumOf = (values: number[]) => values.reduce((sum, value) => sum + value, 0);

async function* toPiecesOf(line: Uint8Array, times: number): AsyncGenerator<Uint8Array> {
  for (let index = 0; index < times; index++) yield* toPieces(line, line.length);
}
