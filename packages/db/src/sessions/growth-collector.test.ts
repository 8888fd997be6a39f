import type { ParsedContentBlock, ToolCall } from '@recount/core';
import { describe, expect, it } from 'vitest';
import { createGrowthCollector, MAX_TOUCHED_QUARTERS } from './growth-collector.ts';

const QUARTER_MS = 15 * 60_000;

const toBatch = (ids: readonly (string | null)[], callKeys: readonly string[] = []) => ({
  contentBlocks: ids.map((id) => ({ tool_use_id: null, tool_result_id: id }) as ParsedContentBlock),
  toolCalls: callKeys.map((call_key) => ({ call_key }) as ToolCall),
});

describe('createGrowthCollector', () => {
  it('collects the 15-minute buckets of messages, each once', () => {
    const collector = createGrowthCollector();
    for (const timeMs of [1, QUARTER_MS - 1, QUARTER_MS]) collector.addMessageTime(timeMs);
    expect(collector.toGrowth()).toEqual({ messageQuarters: [0, QUARTER_MS], toolIdsOfTexts: [] });
  });

  it('collects the tool calls that new texts name, without those that are new themselves', () => {
    const collector = createGrowthCollector();
    collector.addBatch(toBatch(['old', null, 'new']));
    collector.addBatch(toBatch([], ['new']));
    expect(collector.toGrowth()).toEqual({ messageQuarters: [], toolIdsOfTexts: ['old'] });
  });

  it('gives up on what exceeds its limits, and bounds its memory', () => {
    const collector = createGrowthCollector();
    for (let index = 0; index <= MAX_TOUCHED_QUARTERS; index++) collector.addMessageTime(index * QUARTER_MS);
    collector.addBatch(toBatch(Array.from({ length: 10_001 }, (_, index) => `call ${index}`)));
    expect(collector.toGrowth()).toEqual({ messageQuarters: undefined, toolIdsOfTexts: undefined });
  });
});
