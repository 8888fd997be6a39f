import { expect, it } from 'vitest';
import { billImportSchema } from './bills.ts';

const toImport = (day: string) => ({
  vendor: 'anthropic',
  rows: [
    {
      ...{ day, kind: 'cost', model: null, lineItem: null, serviceTier: null, amountUsd: 1, identity: day },
      ...{ inputTokens: null, outputTokens: null, cacheReadTokens: null, cacheWriteTokens: null },
    },
  ],
});

it.each([
  ['0000-01-01', false],
  ['1999-12-31', false],
  ['2000-01-01', true],
  ['2199-12-31', true],
  ['2200-01-01', false],
  ['9999-12-31', false],
])('a line of a bill on %s is accepted: %s', (day, isAccepted) => {
  expect(billImportSchema.safeParse(toImport(day)).success).toBe(isAccepted);
});
