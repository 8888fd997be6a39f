import type { GrowthCollector } from '../transcripts/transcript-rows.ts';

const QUARTER_MS = 15 * 60_000;

/** Above this, all roll-ups of the session are rebuilt. */
export const MAX_TOUCHED_QUARTERS = 200;

/** Above this, all findings of the session are rebuilt. */
const MAX_TOOL_IDS = 10_000;

/**
 * Collects what `findTouchedRows` must know about the rows that a growing transcript adds: the 15-minute buckets of its
 * messages, and the tool calls whose texts may be among its content blocks.
 */
export function createGrowthCollector(): GrowthCollector {
  const quarters = new Set<number>();
  const named = new Set<string>();
  const written = new Set<string>();
  const hasTooManyIds = () => named.size > MAX_TOOL_IDS || written.size > MAX_TOOL_IDS;
  return {
    addMessageTime(timeMs) {
      if (quarters.size <= MAX_TOUCHED_QUARTERS) quarters.add(Math.floor(timeMs / QUARTER_MS) * QUARTER_MS);
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
      messageQuarters: quarters.size > MAX_TOUCHED_QUARTERS ? undefined : [...quarters],
      toolIdsOfTexts: hasTooManyIds() ? undefined : [...named].filter((id) => !written.has(id)),
    }),
  };
}
