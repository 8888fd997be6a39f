import type { ParsedContentBlock, ToolCall } from '@recount/core';
import { describe, expect, it } from 'vitest';
import { createGrowthCollector, MAX_TOUCHED_BUCKETS } from './growth-collector.ts';

const BUCKET_MS = 15 * 60_000;

const toBatch = (ids: readonly (string | null)[], callKeys: readonly string[] = []) => ({
  contentBlocks: ids.map((id) => ({ tool_use_id: null, tool_result_id: id }) as ParsedContentBlock),
  toolCalls: callKeys.map((call_key) => ({ call_key }) as ToolCall),
});

describe('createGrowthCollector', () => {
  it('collects the 15-minute buckets of messages, each once', () => {
    const collector = createGrowthCollector();
    for (const timeMs of [1, BUCKET_MS - 1, BUCKET_MS]) collector.addMessageTime(timeMs);
    expect(collector.toGrowth()).toEqual({ messageBuckets: [0, BUCKET_MS], toolIdsOfTexts: [] });
  });

  it('collects the tool calls that new texts name, without those that are new themselves', () => {
    const collector = createGrowthCollector();
    collector.addBatch(toBatch(['old', null, 'new']));
    collector.addBatch(toBatch([], ['new']));
    expect(collector.toGrowth()).toEqual({ messageBuckets: [], toolIdsOfTexts: ['old'] });
  });

  it('gives up on what exceeds its limits, and bounds its memory', () => {
    const collector = createGrowthCollector();
    for (let index = 0; index <= MAX_TOUCHED_BUCKETS; index++) collector.addMessageTime(index * BUCKET_MS);
    collector.addBatch(toBatch(Array.from({ length: 10_001 }, (_, index) => `call ${index}`)));
    expect(collector.toGrowth()).toEqual({ messageBuckets: undefined, toolIdsOfTexts: undefined });
  });
});
