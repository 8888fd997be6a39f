import { expect, it } from 'vitest';
import { withTotals } from './live-totals.ts';

const session = {
  ...{ stream_count: 2, tokens_in: 10, tokens_out: 1, cache_read: 0, cache_write: 0 },
  ...{ cost_usd: 0.25, model: null },
};
const stream = { tokens_in: 1, tokens_out: 2, cache_read: 3, cache_write: 4, cost_usd: 0.5, model: 'claude-opus-4-8' };
const ofStream = { tokensCover: 'stream' } as const;

it('adds a stream to the figures of its session', () => {
  expect(withTotals(session, stream, ofStream)).toEqual({
    ...{ stream_count: 3, tokens_in: 11, tokens_out: 3, cache_read: 3, cache_write: 4 },
    ...{ cost_usd: 0.75, model: 'claude-opus-4-8' },
  });
});

it('keeps the first model, and the cost that is known', () => {
  const named = { ...session, model: 'first' };
  expect(withTotals(named, { ...stream, cost_usd: null }, ofStream)).toMatchObject({ cost_usd: 0.25, model: 'first' });
  expect(withTotals({ ...named, cost_usd: null }, stream, ofStream)).toMatchObject({ cost_usd: 0.5 });
  const unknown = { ...stream, cost_usd: null };
  expect(withTotals({ ...session, cost_usd: null }, unknown, ofStream)).toMatchObject({ cost_usd: null });
});

it('takes the larger total if a stream states that of its whole session', () => {
  expect(withTotals(session, stream, { tokensCover: 'session' }, [stream])).toMatchObject({
    ...{ stream_count: 2, tokens_in: 10, tokens_out: 2, cache_read: 3, cache_write: 4 },
  });
});

it('subtracts the streams that it replaces', () => {
  const part = { ...stream, tokens_in: 4, tokens_out: 1, cache_read: 0, cache_write: 0, cost_usd: 0.125 };
  expect(withTotals(session, stream, ofStream, [part])).toMatchObject({
    ...{ stream_count: 2, tokens_in: 7, tokens_out: 2, cache_read: 3, cache_write: 4, cost_usd: 0.625 },
  });
});
