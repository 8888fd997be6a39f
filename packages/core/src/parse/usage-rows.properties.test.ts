import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ParseResult, parseTranscript } from '../index.ts';
import type { JsonObject } from '../lines/json.ts';
import { toReusedChunks } from '../testing/chunked-inputs.ts';
import { expectSame } from '../testing/expect-same.ts';
import {
  assistantLine,
  progressLine,
  resultLine,
  toJsonl,
  toUsageFields,
  userLine,
} from '../testing/transcript-lines.ts';

const messageId = (index: number) => `msg_${String(index).padStart(24, '0')}`;
const toolId = (index: number) => `toolu_${String(index).padStart(20, '0')}`;
const at = (second: number) => ({ timestamp: new Date(Date.UTC(2026, 0, 1) + second * 1000).toISOString() });

const index = fc.nat(4);
const tokens = fc.nat(1e6);
const usage = fc
  .tuple(tokens, fc.nat(12), tokens, tokens)
  .map(([input, output, read, write]) => toUsageFields(input, output, read, write));

/** Lines of a few responses and tools, so that they often share ids. */
const line: fc.Arbitrary<JsonObject> = fc.oneof(
  fc
    .tuple(index, usage, index, fc.boolean())
    .map(([id, lineUsage, tool, isSidechain]) =>
      assistantLine(
        messageId(id),
        [{ type: 'tool_use', id: toolId(tool), name: tool === 0 ? 'WebSearch' : 'Read', input: { a: 'é' } }],
        { usage: lineUsage, model: 'claude-x' },
        { isSidechain, uuid: `a${id}`, ...at(id) },
      ),
    ),
  fc.tuple(index, usage).map(([id, lineUsage]) => progressLine(messageId(id), 'text', { usage: lineUsage })),
  fc
    .tuple(index, fc.boolean())
    .map(([tool, isError]) =>
      resultLine(toolId(tool), 'é', { ...at(tool + 9), toolUseResult: { searchCount: 1 } }, isError),
    ),
  fc.nat(3).map((id) => userLine('go', { uuid: `u${id}` })),
  fc.constantFrom<JsonObject>(
    { type: 'pr-link', prUrl: 'https://x/1' },
    { type: 'system', subtype: 'compact_boundary' },
  ),
);
const lines = fc.array(line, { maxLength: 40 });

const figures = ({ apiResponses }: ParseResult) =>
  new Map(
    apiResponses.map((row) => [
      row.response_key,
      [row.source, row.tokens_in, row.tokens_out, row.cache_read, row.cache_write, row.cost_usd],
    ]),
  );

describe('responses, tool calls and events', () => {
  it('are the same in chunks of any size, and each occurs once', async () => {
    await fc.assert(
      fc.asyncProperty(lines, async (records) => {
        const bytes = Buffer.from(toJsonl(...records));
        const result = await parseTranscript('s', bytes);
        for (const size of [1, 7, 64 * 1024])
          expectSame(await parseTranscript('s', toReusedChunks(bytes, size)), result);
        const { apiResponses, toolCalls, events, stats } = result;
        for (const keys of [
          apiResponses.map(({ response_key }) => response_key),
          toolCalls.map(({ call_key }) => call_key),
          events.map(({ event_key }) => event_key),
        ]) {
          expect(new Set(keys).size).toBe(keys.length);
        }
        const told = records.flatMap(({ type, message, data }) =>
          type === 'progress'
            ? [(data as { message: JsonObject }).message.message]
            : type === 'assistant'
              ? [message]
              : [],
        ) as { id: string; usage: { output_tokens: number } }[];
        expect(new Set(apiResponses.map(({ provider_message_id }) => provider_message_id))).toEqual(
          new Set(told.map(({ id }) => id)),
        );
        expect(stats.tokens_out).toBe(apiResponses.reduce((sum, { tokens_out }) => sum + tokens_out, 0));
        expect(stats.api_response_count).toBe(apiResponses.length);
      }),
    );
  });

  it('have the same figures whatever the order of the lines, and however often each is repeated', async () => {
    const disordered = lines.chain((records) =>
      fc.tuple(fc.constant(records), fc.shuffledSubarray([...records, ...records], { minLength: records.length * 2 })),
    );
    await fc.assert(
      fc.asyncProperty(disordered, async ([records, shuffled]) => {
        const one = await parseTranscript('s', toJsonl(...records));
        const other = await parseTranscript('s', toJsonl(...shuffled));
        expect(figures(other)).toEqual(figures(one));
        const { turn_count: _, user_messages: _u, total_messages: _t, tool_use_count: _c, ...stats } = one.stats;
        const { web_search_count: _w, ...comparable } = stats;
        expect(other.stats).toMatchObject(comparable);
      }),
    );
  });

  it('match every tool use with its result, however they are interleaved', async () => {
    const plan = fc.array(fc.tuple(fc.boolean(), fc.boolean()), { minLength: 1, maxLength: 8 }).chain((calls) => {
      const records = calls.flatMap(([hasUse, hasResult], tool) => [
        ...(hasUse
          ? [assistantLine(messageId(tool), [{ type: 'tool_use', id: toolId(tool), name: 'Read' }], {}, at(5))]
          : []),
        ...(hasResult ? [resultLine(toolId(tool), 'x'.repeat(tool), at(5 + tool))] : []),
      ]);
      return fc.tuple(fc.constant(calls), fc.shuffledSubarray(records, { minLength: records.length }));
    });
    await fc.assert(
      fc.asyncProperty(plan, async ([calls, records]) => {
        const { toolCalls } = await parseTranscript('s', toJsonl(...records));
        expect(
          new Map(toolCalls.map(({ call_key, duration_ms, output_bytes }) => [call_key, [duration_ms, output_bytes]])),
        ).toEqual(
          new Map(
            calls.flatMap(([hasUse, hasResult], tool) =>
              hasUse ? [[toolId(tool), hasResult ? [tool * 1000, tool] : [null, null]] as const] : [],
            ),
          ),
        );
        expect(toolCalls).toHaveLength(calls.filter(([hasUse]) => hasUse).length);
      }),
    );
  });
});
