import { setImmediate } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { toPieces, toReusedChunks } from '../testing/chunked-inputs.ts';
import { expectSame } from '../testing/expect-same.ts';
import { assistantLine, toJsonl, toUsageFields, userLine } from '../testing/transcript-lines.ts';
import type { TranscriptInput } from './input-chunks.ts';
import type { ParseOptions } from './parse-options.ts';
import { parseTranscript } from './parse-transcript.ts';
import { BATCH_BYTES, BATCH_ROWS, streamTranscript, type TranscriptBatch } from './stream-transcript.ts';

async function collect(input: TranscriptInput, options: ParseOptions = {}) {
  // Copied immediately, as a database writer does. Rows must be right when they are emitted.
  const batches: TranscriptBatch[] = [];
  for await (const batch of streamTranscript('s', input, options)) batches.push(structuredClone(batch));
  expect(batches.filter(({ summary }) => summary !== undefined)).toEqual(batches.slice(-1));
  return { batches, summary: batches.at(-1)?.summary };
}

const messagesOf = (batches: readonly TranscriptBatch[]) => batches.flatMap(({ messages }) => messages);

/** 2,500 lines; every tenth response continues much later, with its final usage and another block. */
const longTranscript = Buffer.from(
  toJsonl(
    ...Array.from({ length: 2500 }, (_, index) => {
      const isLate = index > 1250 && index % 10 === 0;
      return assistantLine(
        isLate ? `m${index - 1250}` : `m${index}`,
        [{ type: isLate ? 'tool_use' : 'text', text: 'x', id: `t${index}`, name: 'Task', input: {} }],
        { usage: toUsageFields(3, isLate ? 90 : 1), stop_reason: isLate ? 'tool_use' : null },
      );
    }),
    '// not JSON',
  ),
);

describe('streamTranscript', () => {
  it.each([100, 5000, 64 * 1024, 10_000_000])(
    'yields the rows of parseTranscript in chunks of %d bytes',
    async (size) => {
      const whole = await parseTranscript('s', longTranscript);
      const { batches, summary } = await collect(toReusedChunks(longTranscript, size));
      expect(batches.length).toBeGreaterThan(1);
      expectSame(messagesOf(batches), whole.messages);
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

  it('emits each message once, with its late lines', async () => {
    const { batches } = await collect(toReusedChunks(longTranscript, 100), { maxOpenMessages: 1300 });
    const messages = messagesOf(batches);
    expect(messages.map(({ ordinal }) => ordinal)).toEqual(messages.map((_, index) => index));
    const grown = messages.filter(({ metadata }) => metadata.line_count === 2);
    expect(grown).toHaveLength(124);
    for (const message of grown) {
      expect(message).toMatchObject({ tokens_out: 90, has_tool_use: true, stop_reason: 'tool_use' });
    }
    expect(batches.findIndex((batch) => batch.messages.length > 0)).toBeLessThan(batches.length - 2);
  });

  it('bounds a batch by rows', async () => {
    const { batches } = await collect(toReusedChunks(longTranscript, 1000));
    for (const { summary: _summary, checkpoint: _checkpoint, ...rows } of batches) {
      expect(sumOf(Object.values(rows).map(({ length }) => length))).toBeLessThan(BATCH_ROWS + 50);
    }
  });

  it('bounds a batch by the bytes of its lines', async () => {
    const line = Buffer.from(toJsonl(userLine('x'.repeat(100_000))));
    const { batches } = await collect(toPiecesOf(line, 100));
    expect(batches.length).toBeGreaterThanOrEqual(Math.floor((line.length * 100) / (BATCH_BYTES + line.length)));
    for (const { contentBlocks } of batches)
      expect(contentBlocks.length * line.length).toBeLessThan(BATCH_BYTES + line.length * 2);
  });

  it('yields only a summary for an empty input', async () => {
    expect(await collect('')).toMatchObject({
      batches: [{ messages: [], issues: [] }],
      summary: { stats: { total_messages: 0 } },
    });
    expect(await collect('\n\n')).toMatchObject({
      batches: [{ messages: [], issues: [] }],
      summary: { metadata: { lineCount: 2, byteLength: 2 } },
    });
  });

  it('closes the source when the consumer leaves or fails', async () => {
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
  it('yields what was read, with a matching summary, and does not report the unfinished line', async () => {
    const controller = new AbortController();
    async function* source(): AsyncGenerator<Uint8Array> {
      yield Buffer.from(toJsonl(userLine('one'), userLine('two')));
      yield Buffer.from('{"type":"user","mess');
      controller.abort();
      yield Buffer.from('never read');
    }
    const { batches, summary } = await collect(source(), { signal: controller.signal });
    expect(messagesOf(batches).map(({ ordinal }) => ordinal)).toEqual([0, 1]);
    expect(batches.flatMap((batch) => batch.issues)).toEqual([]);
    expect(summary).toMatchObject({ stats: { total_messages: 2 }, metadata: { lineCount: 2 } });
  });

  it('yields the open responses and calls, and counts them', async () => {
    const controller = new AbortController();
    async function* source(): AsyncGenerator<Uint8Array> {
      const content = [{ type: 'tool_use', id: 't1', name: 'Read' }];
      yield Buffer.from(toJsonl(assistantLine('m1', content, { usage: toUsageFields(5, 20) })));
      controller.abort();
    }
    const { batches, summary } = await collect(source(), { signal: controller.signal });
    expect(batches.flatMap((batch) => batch.apiResponses)).toMatchObject([{ tokens_out: 20 }]);
    expect(batches.flatMap((batch) => batch.toolCalls)).toMatchObject([{ is_error: null }]);
    expect(summary?.stats).toMatchObject({ tokens_out: 20, api_response_count: 1 });
  });

  it('between two batches ends the stream at the next', async () => {
    const controller = new AbortController();
    const stream = streamTranscript('s', toPiecesOf(longTranscript, 50), { signal: controller.signal });
    const { value } = await stream.next();
    controller.abort();
    const rest: number[] = [];
    for await (const batch of stream) rest.push(batch.contentBlocks.length);
    expect((value as TranscriptBatch).contentBlocks.length).toBeGreaterThan(0);
    expect(rest.reduce((sum, count) => sum + count, 0)).toBeLessThan(2000);
  });

  it('changes nothing after the end', async () => {
    const controller = new AbortController();
    const result = await parseTranscript('s', longTranscript, { signal: controller.signal });
    controller.abort();
    await setImmediate();
    expectSame(result, await parseTranscript('s', longTranscript));
  });

  it('takes effect soon from onLineError', async () => {
    const controller = new AbortController();
    const input = `bad\n${toJsonl(userLine('x'.repeat(1000))).repeat(2000)}`;
    const { messages, errors } = await parseTranscript('s', input, {
      signal: controller.signal,
      onLineError: () => controller.abort(),
    });
    expect(errors).toHaveLength(1);
    expect(messages.length).toBeLessThan(300);
  });

  it('passes on the failure of a source that fails first', async () => {
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
