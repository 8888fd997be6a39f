import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ParseResult, parseTranscript } from '../index.ts';
import type { JsonValue } from '../lines/json.ts';
import { COST_UNITS_PER_USD } from '../records/rows.ts';
import {
  anyJson,
  anyMessage,
  anyMetadata,
  anyText,
  emptyLine,
  faultyLine,
  messageLine,
  metadataLine,
} from '../testing/any-lines.ts';
import { toReusedChunks } from '../testing/chunked-inputs.ts';
import { expectSame } from '../testing/expect-same.ts';
import { assistantLine, toJsonl, toUsageFields } from '../testing/transcript-lines.ts';

function expectSoundRows(result: ParseResult): void {
  const { messages, contentBlocks, apiResponses, toolCalls, events, stats } = result;
  for (const keys of [
    apiResponses.map(({ response_key }) => response_key),
    toolCalls.map(({ call_key }) => call_key),
    events.map(({ event_key }) => event_key),
  ]) {
    expect(keys).toEqual([...new Set(keys)]);
  }
  const owners = [...apiResponses, ...toolCalls].flatMap(({ message_id }) => message_id ?? []);
  expect(owners.every((owner) => messages.some(({ id }) => id === owner))).toBe(true);
  expect(messages.map(({ ordinal }) => ordinal)).toEqual(messages.map((_, index) => index));
  const messageIds = messages.map(({ id }) => id);
  expect(messageIds).toEqual([...new Set(messageIds)].sort());
  const blockIds = contentBlocks.map(({ id }) => id);
  expect(blockIds).toEqual([...new Set(blockIds)].sort());
  for (const message of messages) {
    const blocks = contentBlocks.filter(({ message_id }) => message_id === message.id);
    expect(blocks.map(({ block_order }) => block_order)).toEqual(blocks.map((_, index) => index));
    const has = (...types: string[]) => blocks.some(({ block_type }) => types.includes(block_type));
    expect(message).toMatchObject({
      has_text: has('text'),
      has_thinking: has('thinking', 'redacted_thinking'),
      has_tool_use: has('tool_use'),
      has_tool_result: has('tool_result'),
    });
  }
  expect(contentBlocks.every(({ message_id }) => messageIds.includes(message_id))).toBe(true);

  const sum = (values: (number | null)[]) => values.reduce<number>((total, value) => total + (value ?? 0), 0);
  const toolUses = contentBlocks.filter(({ block_type }) => block_type === 'tool_use');
  const isUnpriced = apiResponses.length > 0 && apiResponses.every(({ cost_usd }) => cost_usd === null);
  const isUnknown =
    apiResponses.length === 0 &&
    messages.some(({ message_type, tokens_in }) => message_type === 'assistant' && tokens_in === null);
  const ifKnown = (total: number) => (isUnknown ? null : total);
  const costUnits = apiResponses.map(({ cost_usd }) => BigInt(Math.round((cost_usd ?? 0) * COST_UNITS_PER_USD)));
  expect(stats).toMatchObject({
    total_messages: messages.length,
    user_messages: messages.filter(({ message_type }) => message_type === 'user').length,
    assistant_messages: messages.filter(({ message_type }) => message_type === 'assistant').length,
    tool_use_count: toolUses.length,
    subagent_count: toolUses.filter(({ tool_name }) => tool_name === 'Task' || tool_name === 'Agent').length,
    thinking_blocks: contentBlocks.filter(({ block_type }) => /^(redacted_)?thinking$/.test(block_type)).length,
    tokens_in: ifKnown(sum(apiResponses.map(({ tokens_in }) => tokens_in))),
    tokens_out: ifKnown(sum(apiResponses.map(({ tokens_out }) => tokens_out))),
    cache_read: ifKnown(sum(apiResponses.map(({ cache_read }) => cache_read))),
    cache_write: ifKnown(sum(apiResponses.map(({ cache_write }) => cache_write))),
    cost_estimate_usd:
      isUnpriced || isUnknown
        ? null
        : Number(costUnits.reduce((total, units) => total + units, 0n)) / COST_UNITS_PER_USD,
    unpriced_count: apiResponses.filter(({ price_basis }) => price_basis === 'unpriced').length,
    api_response_count: apiResponses.length,
    prompt_count: events.filter(({ kind }) => kind === 'prompt').length,
  });
  expectStorable(result as unknown as JsonValue);
}

function expectStorable(value: JsonValue): void {
  if (typeof value === 'string') {
    if (!value.isWellFormed() || value.includes('\0')) expect.fail(`not storable: ${JSON.stringify(value)}`);
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, child] of Object.entries(value)) {
      expectStorable(key);
      expectStorable(child);
    }
  }
}

const sumOf = (values: number[]) => values.reduce((total, value) => total + value, 0);

/** Records that made a message; later lines of the same response have no separate row. */
const messageRecordCount = ({ messages }: ParseResult) =>
  sumOf(messages.map(({ metadata }) => (metadata.line_count as number | undefined) ?? 1));

describe('any bytes', () => {
  it('parse without throwing, the same in chunks of any size, and account for every line', async () => {
    const bytes = fc.array(
      fc.oneof(
        fc.uint8Array({ maxLength: 20 }),
        fc
          .constantFrom('\n', '\r\n', '\uFEFF', '{"type":"user"}', '"\\u0000"', '{"type":"user","message":"é')
          .map((text) => Buffer.from(text)),
      ),
      { maxLength: 20 },
    );
    await fc.assert(
      fc.asyncProperty(bytes, fc.integer({ min: 1, max: 30 }), async (parts, size) => {
        const input = Buffer.concat(parts);
        const result = await parseTranscript('s', input, { maxLineBytes: 60 });
        expectSame(await parseTranscript('s', toReusedChunks(input, size), { maxLineBytes: 60 }), result);
        expectSoundRows(result);

        const lines = input.toString('latin1').split('\n');
        if (lines.at(-1) === '') lines.pop();
        expect(result.metadata).toMatchObject({ lineCount: lines.length, byteLength: input.length });
        const accounted = new Set([
          ...result.messages.map(({ line_number }) => line_number),
          ...result.errors.map(({ lineNumber }) => lineNumber),
        ]);
        for (const [index, line] of lines.entries()) {
          const isEmpty = Buffer.from(line, 'latin1').toString().trim() === '' && line.length <= 60;
          expect(accounted.has(index + 1)).toBe(!isEmpty);
        }
      }),
    );
  });
});

describe('any lines', () => {
  it('are all accounted for, as messages, metadata, errors and empty lines', async () => {
    const line = fc.oneof(
      messageLine.map((text) => ({ kind: 'message' as const, text })),
      metadataLine.map((text) => ({ kind: 'metadata' as const, text })),
      emptyLine.map((text) => ({ kind: 'empty' as const, text })),
      faultyLine.map((text) => ({ kind: 'error' as const, text })),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(line, { maxLength: 15 }), async (lines) => {
        const result = await parseTranscript('s', toJsonl(...lines.map(({ text }) => text)));
        const count = (kind: string) => lines.filter((candidate) => candidate.kind === kind).length;
        expect(result.metadata.lineCount).toBe(lines.length);
        expect(messageRecordCount(result)).toBe(count('message'));
        const unknownCount = lines.filter(({ text }) => text.includes('new-type')).length;
        const unknown = result.notices.find(({ error }) => error === 'Unknown line type: new-type');
        expect(unknown?.count ?? 0).toBe(unknownCount);
        expect(result.errors.map(({ lineNumber }) => lineNumber)).toEqual(
          lines.flatMap(({ kind, text }, index) => (kind === 'error' && !text.includes('new-type') ? [index + 1] : [])),
        );
        const { progress = 0, mode = 0, 'pr-link': links = 0 } = result.metadata.lineTypes;
        expect(progress + mode + links).toBe(count('metadata'));
        expectSoundRows(result);
      }),
    );
  });

  it('never throw if they are JSON, whatever they contain', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(anyJson, anyMessage, anyMetadata), { maxLength: 8 }), async (values) => {
        const input = toJsonl(...values.map((value) => JSON.stringify(value)));
        const result = await parseTranscript('s', input, { maxInlineContentBytes: 32 });
        expect(result.metadata.lineCount).toBe(values.length);
        expect(result.errors.map(({ code }) => code)).not.toContain('invalid_json');
        expectSoundRows(result);
        for (const { content_text, thinking_text, result_text, tool_input } of result.contentBlocks) {
          for (const text of [content_text, thinking_text, result_text]) {
            expect(Buffer.byteLength(text ?? '')).toBeLessThanOrEqual(32);
          }
          if (typeof tool_input === 'string') expect(Buffer.byteLength(tool_input)).toBeLessThanOrEqual(32);
          else expect(Buffer.byteLength(JSON.stringify(tool_input))).toBeLessThanOrEqual(32);
        }
      }),
    );
  });
});

describe('rows', () => {
  it('point exactly at their line', async () => {
    const line = fc.record({ text: anyText, isGap: fc.boolean(), end: fc.constantFrom('\n', '\r\n', '\n\n') });
    await fc.assert(
      fc.asyncProperty(fc.array(line, { maxLength: 10 }), async (lines) => {
        const records = lines.map(({ text, isGap, end }, index) => {
          const id = isGap ? null : `m${index % 3}`;
          return (
            JSON.stringify(assistantLine(id, [{ type: 'text', text: `${index}${text}` }], {}, { uuid: `u${index}` })) +
            end
          );
        });
        const input = Buffer.from(records.join(''));
        const { messages, contentBlocks } = await parseTranscript('s', input);
        const lineOf = (row: { byte_offset: number; byte_length: number }) =>
          JSON.parse(input.subarray(row.byte_offset, row.byte_offset + row.byte_length).toString());
        for (const message of messages) {
          expect(lineOf(message).uuid).toBe(message.uuid);
          const before = input.subarray(0, message.byte_offset).toString('latin1').split('\n');
          expect(message.line_number).toBe(before.length);
          expect(before.at(-1)).toBe('');
        }
        for (const block of contentBlocks) {
          const [source] = lineOf(block).message.content;
          expect(block.content_text).toBe(source.text.toWellFormed().replaceAll('\0', '\uFFFD'));
        }
        expect(contentBlocks).toHaveLength(lines.length);
      }),
    );
  });

  it('have the same usage however the lines of several responses are interleaved', async () => {
    const usage = fc.tuple(fc.nat(1e6), fc.nat(1e6), fc.nat(1e6), fc.nat(1e6));
    const responses = fc.array(fc.array(usage, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 5 });
    const interleaved = responses.chain((groups) => {
      const order = groups.flatMap((group, index) => group.map(() => index));
      return fc.tuple(
        fc.constant(groups),
        fc
          .shuffledSubarray(
            order.map((_, position) => position),
            { minLength: order.length },
          )
          .map((positions) => positions.map((position) => order[position] ?? 0)),
      );
    });
    await fc.assert(
      fc.asyncProperty(interleaved, async ([groups, order]) => {
        const used = groups.map(() => 0);
        const lines = order.map((group) => {
          const position = used[group] ?? 0;
          used[group] = position + 1;
          const tokens = groups[group]?.[position] ?? [0, 0, 0, 0];
          return assistantLine(`m${group}`, 'x', { usage: toUsageFields(...tokens) });
        });
        const result = await parseTranscript('s', toJsonl(...lines));
        expectSoundRows(result);
        const figures = Object.fromEntries(
          result.messages.map(({ provider_message_id, tokens_in, tokens_out, cache_read, cache_write }) => [
            provider_message_id,
            [tokens_in, tokens_out, cache_read, cache_write],
          ]),
        );
        expect(figures).toEqual(
          Object.fromEntries(
            groups.map((group, index) => [
              `m${index}`,
              [0, 1, 2, 3].map((field) => Math.max(...group.map((tokens) => tokens[field] ?? 0))),
            ]),
          ),
        );
      }),
    );
  });
});
