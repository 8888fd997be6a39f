import type { OutlineTurn } from '@recount/contract';
import type { Step, Turn } from '@recount/contract/conversation';
import { type RefObject, useEffect, useMemo } from 'react';
import type { Expansion } from '../../transcript/expansion.ts';
import { type ConversationKey, useOutline } from './use-outline.ts';
import { useTextMarks } from './use-text-marks.ts';

interface Searched {
  conversation: ConversationKey;
  turns: readonly OutlineTurn[];
  /** Index of the turn that the user went to. */
  selected: number;
  /** Undefined while the turn is not loaded. */
  findLoaded: (index: number) => Turn | undefined;
  expansion: Expansion;
  list: RefObject<HTMLElement | null>;
  barHeightPx: number;
  release: () => void;
}

/**
 * Indexes of the turns that contain the text; undefined while there is no search, or its result is unknown. Marks the
 * text, and expands what contains it in the turn that the user went to.
 */
export function useFind(text: string, searched: Searched): readonly number[] | undefined {
  const { conversation, turns, selected, findLoaded, expansion, list, barHeightPx, release } = searched;
  const wanted = text.trim();
  const { data, isPlaceholderData } = useOutline(conversation, wanted);
  const found = useMemo(() => {
    if (wanted === '' || data === undefined || isPlaceholderData) return undefined;
    const ids = new Set(data.turns.map(({ id }) => id));
    return turns.flatMap(({ id }, index) => (ids.has(id) ? [index] : []));
  }, [turns, wanted, data, isPlaceholderData]);
  const hit = found?.includes(selected) ? findLoaded(selected) : undefined;
  const folded = wanted.toLowerCase();
  useEffect(() => {
    if (hit === undefined || folded === '') return;
    for (const name of toHitParts(hit, folded)) expansion.set(name, true);
  }, [hit, folded, expansion]);
  useTextMarks(list, folded, { messageId: hit?.message.id, topPx: barHeightPx, onScroll: release });
  return found;
}

/** Names of the parts (of `Fold` and `LongText`) that contain the text. */
export function toHitParts({ kind, message, steps }: Turn, wanted: string): string[] {
  const hits = steps.filter((step) => toText(step).includes(wanted));
  return [...(kind === 'context' && hits.length > 0 ? [message.id] : []), ...hits.flatMap(toPartNames)];
}

/** Everything that a step shows, in lower case. Of cut inputs and results, only the loaded part is searched. */
function toText(step: Step): string {
  const blocks = step.kind === 'tool' ? [step.use, step.result] : [step.block];
  return blocks
    .flatMap((block) => [block?.content_text, block?.thinking_text, block?.result_text, toValues(block?.tool_input)])
    .join('\n')
    .toLowerCase();
}

/** The strings of a tool's input, as they are shown, without JSON's escapes. */
const toValues = (input: unknown): string =>
  typeof input === 'string'
    ? input
    : typeof input === 'object' && input !== null
      ? Object.values(input).map(toValues).join('\n')
      : '';

function toPartNames(step: Step): string[] {
  if (step.kind !== 'tool') return [step.block.id, `${step.block.id} rest`];
  const { use, result } = step;
  return [use.id, `${use.id} prompt rest`, ...(result === undefined ? [] : [`${result.id} result rest`])];
}
