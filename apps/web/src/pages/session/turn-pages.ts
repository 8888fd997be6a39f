import type { Outline, OutlineTurn } from '@recount/contract';

/** Messages that are loaded together, from consecutive turns, with the results between them. */
export interface TurnPage {
  index: number;
  /** Undefined means from the beginning. */
  fromMessageId: string | undefined;
  messageCount: number;
}

export const TURNS_PER_PAGE = 40;
/** Turns loaded before they become visible. */
const AHEAD_TURNS = 20;

const toPageStart = (turns: readonly OutlineTurn[], page: number): OutlineTurn | undefined =>
  turns[page * TURNS_PER_PAGE];

function toPage({ turns, message_count: messageCount }: Outline, index: number): TurnPage {
  const start = index === 0 ? undefined : toPageStart(turns, index);
  const end = toPageStart(turns, index + 1)?.ordinal ?? messageCount;
  return { index, fromMessageId: start?.id, messageCount: end - (start?.ordinal ?? 0) };
}

/** The page whose messages include the one with this ordinal. */
function findPage(turns: readonly OutlineTurn[], ordinal: number): number {
  let low = 0;
  let high = Math.max(0, Math.ceil(turns.length / TURNS_PER_PAGE) - 1);
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((toPageStart(turns, middle)?.ordinal ?? 0) <= ordinal) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Pages needed for one turn, its own, and those with the results of its calls. */
export function toPagesOfTurn(turns: readonly OutlineTurn[], index: number): number[] {
  const results = (turns[index]?.result_ordinals ?? []).map((ordinal) => findPage(turns, ordinal));
  return [...new Set([Math.floor(index / TURNS_PER_PAGE), ...results])];
}

/** Pages with the turns from `first` to `last` and some around them, in order. */
export function toWantedPages(outline: Outline, first: number, last: number): TurnPage[] {
  const { turns } = outline;
  const wanted = new Set<number>();
  const end = Math.min(turns.length - 1, last + AHEAD_TURNS);
  for (let index = Math.max(0, first - AHEAD_TURNS); index <= end; index++) {
    for (const page of toPagesOfTurn(turns, index)) wanted.add(page);
  }
  return [...wanted].sort((a, b) => a - b).map((index) => toPage(outline, index));
}
