import { describe, expect, it } from 'vitest';
import { toUsage } from '../agents/anthropic-api/usage.ts';
import { toUsageFields } from '../testing/transcript-lines.ts';
import { createTokenAccumulator } from './stream-summary.ts';

describe('createTokenAccumulator', () => {
  const usage = (output: number) => toUsage(toUsageFields(10, output), () => {});

  it('counts a response once, at the maximum over its lines, and each line without an id', () => {
    const tokens = createTokenAccumulator();
    for (const [id, output] of [
      ['a', 1],
      ['b', 5],
      ['a', 40],
      ['a', 7],
      [null, 2],
      [null, 2],
    ] as const) {
      tokens.add(id, usage(output));
    }
    expect(tokens.total).toMatchObject({ tokens_in: 40, tokens_out: 49 });
    expect([tokens.add('b', usage(1)), tokens.add('c', usage(1))]).toEqual([false, true]);
  });
});
