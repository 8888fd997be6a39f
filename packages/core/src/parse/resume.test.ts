import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  isTranscriptIssue,
  type ParseOptions,
  type ParseResult,
  ResumeError,
  streamTranscript,
  type TranscriptBatch,
} from '../index.ts';
import type { JsonObject } from '../lines/json.ts';
import { toReusedChunks } from '../testing/chunked-inputs.ts';
import { expectSame } from '../testing/expect-same.ts';
import { sessionLine } from '../testing/session-lines.ts';
import { assistantLine, toJsonl, toUsageFields, userLine } from '../testing/transcript-lines.ts';
import { parseTranscript } from './parse-transcript.ts';

/** The stored state of a transcript (its rows, and the checkpoint with the rows that will be emitted again). */
interface Stored {
  result: ParseResult;
  activeMs: number | null;
  byteLength: number;
  checkpoint:
    | { bytes: Uint8Array; messageCount: number; responseCount: number; callCount: number; eventCount: number }
    | undefined;
}

/**
 * Parses `input`, continuing from `stored` if it has a checkpoint; returns the rows that a store would have afterwards.
 */
async function parseGrown(
  stored: Stored | undefined,
  input: Buffer,
  options: ParseOptions,
): Promise<{ stored: Stored; isResumed: boolean }> {
  const from = stored?.checkpoint;
  if (stored !== undefined && from !== undefined) {
    const { result, byteLength } = stored;
    const kept = {
      ...result,
      messages: result.messages.slice(0, from.messageCount),
      apiResponses: result.apiResponses.slice(0, from.responseCount),
      toolCalls: result.toolCalls.slice(0, from.callCount),
      events: result.events.slice(0, from.eventCount),
    };
    const tail = toReusedChunks(input.subarray(byteLength), 7);
    try {
      return { stored: await collect(kept, tail, { ...options, resumeFrom: from.bytes }), isResumed: true };
    } catch (error) {
      if (!(error instanceof ResumeError)) throw error;
    }
  }
  const nothing = await parseTranscript('s', Buffer.alloc(0), options);
  return { stored: await collect(nothing, toReusedChunks(input, 64 * 1024), options), isResumed: false };
}

async function collect(kept: ParseResult, input: AsyncIterable<Uint8Array>, options: ParseOptions): Promise<Stored> {
  // Issues of the whole transcript are reported again at its end.
  const warnings = kept.warnings.filter(({ code }) => !isTranscriptIssue(code));
  const result: ParseResult = structuredClone({ ...kept, warnings, notices: [] });
  let checkpoint: Stored['checkpoint'];
  const add = (batch: TranscriptBatch): void => {
    result.messages.push(...batch.messages);
    result.contentBlocks.push(...batch.contentBlocks);
    if (batch.checkpoint !== undefined) {
      const { messages, apiResponses, toolCalls, events } = result;
      const counts = {
        messageCount: messages.length,
        responseCount: apiResponses.length,
        callCount: toolCalls.length,
        eventCount: events.length,
      };
      checkpoint = { bytes: batch.checkpoint, ...counts };
    }
    result.apiResponses.push(...batch.apiResponses);
    result.toolCalls.push(...batch.toolCalls);
    result.events.push(...batch.events);
    const listOf = { error: result.errors, warning: result.warnings, notice: result.notices };
    for (const { severity, ...issue } of batch.issues) listOf[severity].push(issue);
  };
  let summary: TranscriptBatch['summary'];
  for await (const batch of streamTranscript('s', input, { ...options, makeCheckpoint: true })) {
    add(structuredClone(batch));
    summary = structuredClone(batch.summary);
  }
  if (summary === undefined) throw new Error('The last batch has no summary');
  const { stats, metadata, activeMs } = summary;
  return { result: { ...result, stats, metadata }, activeMs, byteLength: metadata.byteLength, checkpoint };
}

/** Sorted, so that the order does not depend on when a row could be emitted. */
function sorted({ apiResponses, toolCalls, ...rest }: ParseResult): ParseResult {
  const byText = <T>(rows: T[]) =>
    rows.map((row) => [JSON.stringify(row), row] as const).sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    ...rest,
    apiResponses: byText(apiResponses).map(([, row]) => row),
    toolCalls: byText(toolCalls).map(([, row]) => row),
  };
}

async function expectFullParse(stored: Stored, input: Buffer, options: ParseOptions): Promise<void> {
  expectSame(sorted(stored.result), sorted(await parseTranscript('s', input, options)));
  const whole = await parseGrown(undefined, input, options);
  expect(stored.activeMs).toBe(whole.stored.activeMs);
}

const at = (second: number): JsonObject => ({
  timestamp: new Date(Date.UTC(2025, 5, 1) + second * 1000).toISOString(),
});

/**
 * The rows of `first` followed by `second`, parsed as one growing transcript, and whether the second parse continued
 * the first.
 */
async function grow(first: JsonObject[], second: JsonObject[], options: ParseOptions) {
  const { stored } = await parseGrown(undefined, Buffer.from(toJsonl(...first)), options);
  const input = Buffer.from(toJsonl(...first, ...second));
  const grown = await parseGrown(stored, input, options);
  await expectFullParse(grown.stored, input, options);
  return { isResumed: grown.isResumed, result: grown.stored.result };
}

describe('a transcript that grew', () => {
  it('continues from the checkpoint if nothing before it changes', async () => {
    const first = [userLine('Hello', at(0)), assistantLine('m1', 'Hi', { usage: toUsageFields(1, 2) }, at(1))];
    const later = assistantLine('m1', 'more', { usage: toUsageFields(1, 20) }, at(2));
    const { isResumed, result } = await grow(first, [later], {});
    expect(isResumed).toBe(true);
    expect(result.messages[1]).toMatchObject({ tokens_out: 20, metadata: { line_count: 2 } });
    expect(await grow(first, [later], { maxMessagesInCheckpoint: 0 })).toMatchObject({ isResumed: false });
  });

  it('has no checkpoint while a search is open in a response that the checkpoint would not include', async () => {
    const use = { type: 'tool_use', id: 'toolu_1', name: 'WebSearch', input: { query: 'x' } };
    const first = [assistantLine('m1', [use], { usage: toUsageFields(1, 2), model: 'claude-x' }, at(1))];
    const found = {
      ...userLine([{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'x' }]),
      toolUseResult: { searchCount: 3 },
    };
    const { result } = await grow(first, [found], { maxMessagesInCheckpoint: 0 });
    expect(result.apiResponses).toMatchObject([{ web_search_requests: 3 }]);
    expect(await grow(first, [found], {})).toMatchObject({ isResumed: true });
  });

  it('has no checkpoint while a block is open that later lines complete', async () => {
    const toLine = (type: string, payload: JsonObject): JsonObject => ({
      timestamp: 1_772_694_900,
      message: { type, payload },
    });
    const call = toLine('ToolCall', { id: 'a', function: { name: 'Task', arguments: '{"a"' } });
    const rest = [toLine('ToolCallPart', { arguments_part: ':1}' }), toLine('TurnEnd', {})];
    const { isResumed, result } = await grow([call], rest, { format: 'kimi-wire' });
    expect(isResumed).toBe(false);
    expect(result.contentBlocks.map((block) => block.tool_input)).toEqual([{ a: 1 }]);
    expect(await grow([call, ...rest], rest.slice(1), { format: 'kimi-wire' })).toMatchObject({ isResumed: true });
  });

  it('treats a line as late if a full parse would, and is parsed again if it would not', async () => {
    const response = (id: string, second: number) => assistantLine(id, 'x', { usage: toUsageFields(1, 2) }, at(second));
    const options = { maxOpenMessages: 2, maxMessagesInCheckpoint: 1 };
    const first = [response('m1', 1), response('m2', 2)];
    expect(await grow(first, [response('m2', 3)], options)).toMatchObject({ isResumed: true });
    expect(await grow(first, [response('m1', 3)], options)).toMatchObject({ isResumed: false });
    const { isResumed, result } = await grow(first, [response('m3', 3), response('m1', 4)], options);
    expect([isResumed, result.errors.map(({ code }) => code)]).toEqual([true, ['late_line']]);
  });

  it('is parsed again if options differ, or the checkpoint is unreadable', async () => {
    const { stored } = await parseGrown(undefined, Buffer.from(toJsonl(userLine('x'))), {});
    const bytes = stored.checkpoint?.bytes ?? new Uint8Array();
    const resume = (resumeFrom: Uint8Array, options: ParseOptions) =>
      parseTranscript('s', '', { ...options, resumeFrom });
    await expect(resume(bytes, {})).resolves.toMatchObject({ stats: { total_messages: 1 } });
    await expect(resume(bytes, { maxLineBytes: 7 })).rejects.toThrow(ResumeError);
    await expect(resume(bytes, { arrivals: [] })).rejects.toThrow(ResumeError);
    await expect(resume(bytes.subarray(0, bytes.length - 9), {})).rejects.toThrow(ResumeError);
    await expect(resume(new Uint8Array(), {})).rejects.toThrow(ResumeError);
  });

  it('gives the rows of a full parse, wherever it was cut and whatever was added', async () => {
    let resumedCount = 0;
    let anewCount = 0;
    const lines = fc.array(sessionLine, { maxLength: 25 });
    const cuts = fc.array(fc.record({ line: fc.nat(25), byte: fc.constantFrom(0, 0, 0, 0, 1, 9) }), { maxLength: 4 });
    const options = fc.record({
      maxMessagesInCheckpoint: fc.constantFrom(0, 1, 3, 100),
      maxOpenMessages: fc.constantFrom(2, 4, 8, 2000),
      maxOpenToolCalls: fc.constantFrom(1, 10_000),
      maxLineBytes: fc.constantFrom(300, 5_000_000),
    });
    await fc.assert(
      fc.asyncProperty(lines, cuts, options, fc.boolean(), async (texts, places, chosen, isTerminated) => {
        const input = Buffer.from(texts.join('\n') + (isTerminated ? '\n' : ''));
        const offsets = places.map(({ line, byte }) =>
          Math.min(input.length, Buffer.byteLength(texts.slice(0, line).join('\n')) + (line > 0 ? 1 : 0) + byte),
        );
        let stored: Stored | undefined;
        for (const end of [...offsets.sort((a, b) => a - b), input.length]) {
          const grown = await parseGrown(stored, input.subarray(0, end), chosen);
          if (grown.isResumed) resumedCount++;
          else if (stored !== undefined) anewCount++;
          stored = grown.stored;
        }
        await expectFullParse(stored as Stored, input, chosen);
      }),
    );
    expect(resumedCount).toBeGreaterThan(0);
    expect(anewCount).toBeGreaterThan(0);
  });
});
