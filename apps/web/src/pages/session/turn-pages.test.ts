import type { Outline, OutlineTurn } from '@recount/contract';
import { describe, expect, it } from 'vitest';
import { TURNS_PER_PAGE, toPagesOfTurn, toWantedPages } from './turn-pages.ts';

/** Every other message is the result of the turn before it; the last result of turn 3 comes late. */
function toOutline(turnCount: number): Outline {
  const turns = Array.from({ length: turnCount }, (_, index) => ({
    id: `id-${index}`,
    ordinal: index * 2,
    result_ordinals: index === 3 ? [7, 501] : [index * 2 + 1],
  }));
  return { message_count: turnCount * 2, turns: turns as unknown as OutlineTurn[] } as Outline;
}

describe('toWantedPages', () => {
  it('cover every message once, with the results after the last turn', () => {
    const outline = toOutline(TURNS_PER_PAGE * 2 + 5);
    const pages = toWantedPages(outline, 0, outline.turns.length);
    expect(pages).toEqual([
      { index: 0, fromMessageId: undefined, messageCount: TURNS_PER_PAGE * 2 },
      { index: 1, fromMessageId: `id-${TURNS_PER_PAGE}`, messageCount: TURNS_PER_PAGE * 2 },
      { index: 2, fromMessageId: `id-${TURNS_PER_PAGE * 2}`, messageCount: 10 },
    ]);
  });

  it('are few for very many turns, and include late results', () => {
    const outline = toOutline(50_000);
    expect(toWantedPages(outline, 20_000, 20_010).map(({ index }) => index)).toEqual([499, 500]);
    expect(toWantedPages(outline, 0, 5).map(({ index }) => index)).toEqual([0, Math.floor(250 / TURNS_PER_PAGE)]);
    expect(toPagesOfTurn(outline.turns, 3)).toEqual([0, Math.floor(250 / TURNS_PER_PAGE)]);
    expect(toPagesOfTurn(outline.turns, 49_999)).toEqual([49_999 / TURNS_PER_PAGE].map(Math.floor));
  });

  it('are none if there are no turns', () => {
    expect(toWantedPages({ message_count: 0, turns: [] } as unknown as Outline, 0, 0)).toEqual([]);
  });
});
