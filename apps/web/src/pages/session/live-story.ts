import type { ContentBlock, LiveEvent } from '@recount/contract';
import type { ToolStep } from '@recount/contract/conversation';

/** Something that a running agent said or did. */
export type LiveItem = { id: string; streamId: string } & (
  | { kind: 'prompt' | 'answer' | 'thinking' | 'notice'; text: string; isPartial?: boolean }
  | { kind: 'tool'; step: ToolStep; timestamp: string }
);

/** The reports of streams so far, newest last. */
export interface LiveStory {
  items: readonly LiveItem[];
  /** Number of earlier items that were dropped. The transcript will have them when the run has ended. */
  droppedCount: number;
  /** The agent's current activity, in its own words; empty if it does not say. */
  status: string;
  endedStreamIds: readonly string[];
}

export const EMPTY_STORY: LiveStory = { items: [], droppedCount: 0, status: '', endedStreamIds: [] };

const MAX_ITEMS = 300;

/** Adds an event to the story. Pure. */
export function addToStory(story: LiveStory, event: LiveEvent): LiveStory {
  const { streamId, timestamp } = event.data;
  const id = `live ${event.id}`;
  const add = (item: LiveItem): LiveStory => {
    // The whole text replaces its pieces.
    const kept = item.kind === 'answer' ? story.items.filter((each) => !isPieceOf(each, streamId)) : story.items;
    const items = [...kept, item];
    const excess = Math.max(0, items.length - MAX_ITEMS);
    return { ...story, items: items.slice(excess), droppedCount: story.droppedCount + excess, status: '' };
  };
  switch (event.event) {
    case 'stream:chunk': {
      const { content, isPartial } = event.data;
      if (!isPartial) return add({ id, streamId, kind: 'answer', text: content });
      const before = story.items.find((item) => isPieceOf(item, streamId));
      const text = before !== undefined && 'text' in before ? before.text + content : content;
      return add({ id: before?.id ?? id, streamId, kind: 'answer', text, isPartial });
    }
    case 'stream:tool': {
      const { toolUse, toolResult } = event.data;
      if (toolUse !== undefined) {
        const { name, input, summary } = toolUse;
        const use = toBlock(id, {
          block_type: 'tool_use',
          tool_name: name,
          tool_use_id: toolUse.id,
          tool_input: input ?? summary,
        });
        return add({ id, streamId, kind: 'tool', step: { kind: 'tool', use }, timestamp });
      }
      return toolResult === undefined ? story : addResult(story, id, toolResult);
    }
    case 'stream:progress': {
      const { name, text, isError } = event.data;
      if (text.trim() === '') return { ...story, status: name };
      if (name === 'user') return add({ id, streamId, kind: 'prompt', text });
      if (name === 'thinking') return add({ id, streamId, kind: 'thinking', text });
      return isError ? add({ id, streamId, kind: 'notice', text }) : { ...story, status: text };
    }
    case 'stream:prompt':
      return add({ id, streamId, kind: 'notice', text: `The agent asks: ${JSON.stringify(event.data.prompt)}` });
    case 'stream:result':
      return event.data.error === null ? story : add({ id, streamId, kind: 'notice', text: event.data.error });
    case 'stream:end':
      return { ...story, status: '', endedStreamIds: [...story.endedStreamIds, streamId] };
    case 'stream:init':
    case 'stream:warning':
      return story;
  }
}

const isPieceOf = (item: LiveItem, streamId: string): boolean =>
  item.kind === 'answer' && item.isPartial === true && item.streamId === streamId;

function addResult(
  story: LiveStory,
  id: string,
  { toolUseId, output, isError, error }: { toolUseId: string; output: string; isError: boolean; error: string | null },
): LiveStory {
  const result = toBlock(id, {
    block_type: 'tool_result',
    tool_result_id: toolUseId,
    result_text: error ?? output,
    is_error: isError,
  });
  const items = story.items.map((item) =>
    item.kind === 'tool' && item.step.use.tool_use_id === toolUseId
      ? { ...item, step: { ...item.step, result } }
      : item,
  );
  return { ...story, items };
}

/** Like the block that will be stored, except for its place. */
const toBlock = (id: string, fields: Partial<ContentBlock>): ContentBlock => ({
  id,
  block_order: 0,
  block_type: 'text',
  content_text: null,
  thinking_text: null,
  tool_name: null,
  tool_kind: null,
  tool_use_id: null,
  tool_input: null,
  tool_result_id: null,
  is_error: null,
  result_text: null,
  metadata: {},
  line_number: 1,
  byte_offset: 0,
  byte_length: 0,
  ...fields,
});
