import type { ParsedContentBlock, ToolCall } from '@recount/core';

/** Of more, it is not known which calls they are of. */
const MAX_TOOL_IDS = 10_000;

interface ToolIdSet {
  /** Takes the ids that content blocks name, and those of the tool calls that are written with them. */
  add(batch: { contentBlocks: readonly ParsedContentBlock[]; toolCalls: readonly ToolCall[] }): void;
  /** The ids of blocks that may be of other calls than those that were written. Undefined if there were more than 10,000. */
  toOthers(): string[] | undefined;
}

/** Which tool calls the texts of new content blocks may be of. */
export function createToolIdSet(): ToolIdSet {
  const named = new Set<string>();
  const written = new Set<string>();
  return {
    add({ contentBlocks, toolCalls }) {
      if (named.size > MAX_TOOL_IDS || written.size > MAX_TOOL_IDS) return;
      for (const { tool_use_id, tool_result_id } of contentBlocks) {
        if (tool_use_id !== null) named.add(tool_use_id);
        if (tool_result_id !== null) named.add(tool_result_id);
      }
      // A key with the response in front is of an id that calls of other responses may have as well.
      for (const { call_key } of toolCalls) written.add(call_key);
    },
    toOthers() {
      if (named.size > MAX_TOOL_IDS || written.size > MAX_TOOL_IDS) return undefined;
      return [...named].filter((id) => !written.has(id));
    },
  };
}
