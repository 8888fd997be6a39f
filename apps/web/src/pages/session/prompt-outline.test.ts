import type { OutlineTurn } from '@recount/contract';
import { expect, it } from 'vitest';
import { listPrompts } from './prompt-outline.tsx';

const toTurn = (kind: OutlineTurn['kind'], fields: Partial<OutlineTurn> = {}): OutlineTurn => ({
  ...{ id: 'm', ordinal: 0, title: null, is_error: false, is_edit: false, result_ordinals: [] },
  ...{ context_tokens: null, cost_usd: null, kind },
  ...fields,
});
const answer = (cost: number | null) => toTurn('answer', { context_tokens: 10, cost_usd: cost });

it('sums the cost of the answers to each prompt, and says none where a price is missing', () => {
  const turns = [
    answer(9),
    toTurn('prompt', { title: 'First' }),
    answer(1),
    toTurn('system'),
    answer(2),
    toTurn('prompt', { title: 'Second' }),
    answer(1),
    answer(null),
    toTurn('prompt', { title: 'Third' }),
    toTurn('answer'),
  ];
  expect(listPrompts(turns)).toEqual([
    { index: 1, title: 'First', costUsd: 3 },
    { index: 5, title: 'Second', costUsd: null },
    { index: 8, title: 'Third', costUsd: null },
  ]);
});
