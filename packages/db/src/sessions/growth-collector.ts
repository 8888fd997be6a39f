import type { GrowthCollector } from '../transcripts/transcript-rows.ts';

const BUCKET_MS = 15 * 60_000;

/** Above this, all roll-ups of the session are rebuilt. */
export const MAX_TOUCHED_BUCKETS = 200;

/** Above this, all findings of the session are rebuilt. */
const MAX_TOOL_IDS = 10_000;

/**
 * Collects what `findTouchedRows` must know about the rows that a growing transcript adds (the 15-minute buckets of its
 * messages, and the tool calls whose texts may be among its content blocks).
 */
export function createGrowthCollector(): GrowthCollector {
  const buckets = new Set<number>();
  const named = new Set<string>();
  const written = new Set<string>();
  const hasTooManyIds = () => named.size > MAX_TOOL_IDS || written.size > MAX_TOOL_IDS;
  return {
    addMessageTime(timeMs) {
      if (buckets.size <= MAX_TOUCHED_BUCKETS) buckets.add(Math.floor(timeMs / BUCKET_MS) * BUCKET_MS);
    },
    addBatch({ contentBlocks, toolCalls }) {
      if (hasTooManyIds()) return;
      for (const { tool_use_id, tool_result_id } of contentBlocks) {
        if (tool_use_id !== null) named.add(tool_use_id);
        if (tool_result_id !== null) named.add(tool_result_id);
      }
      // A key with the response in front is of an id that calls of other responses may have as well.
      for (const { call_key } of toolCalls) written.add(call_key);
    },
    toGrowth: () => ({
      messageBuckets: buckets.size > MAX_TOUCHED_BUCKETS ? undefined : [...buckets],
      toolIdsOfTexts: hasTooManyIds() ? undefined : [...named].filter((id) => !written.has(id)),
    }),
  };
}
