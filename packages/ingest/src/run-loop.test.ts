import type { DatabasePool } from '@recount/db';
import { expect, it } from 'vitest';
import { runLoop } from './run-loop.ts';

// Without a lock, a loop asks nothing of the database.
const database = {} as DatabasePool;

it('reports why a round and a part of a round failed, and continues with the next', async () => {
  const end = new AbortController();
  const reasons: string[] = [];
  const rounds: string[] = [];
  const onFailure = (reason: string): void => void reasons.push(reason);
  await runLoop({ database, onFailure }, { signal: end.signal, intervalMs: 0 }, async (attempt) => {
    await attempt(async () => {
      throw new Error('part');
    });
    rounds.push('continued');
    if (rounds.length === 2) end.abort();
    throw new Error('round');
  });
  expect(rounds).toEqual(['continued', 'continued']);
  expect(reasons).toEqual(['Error: part', 'Error: round', 'Error: part']);
});

it('does nothing if it is aborted before it begins', async () => {
  const signal = AbortSignal.abort();
  const onFailure = (): void => expect.unreachable();
  await runLoop({ database, onFailure }, { signal, intervalMs: 0 }, async () => expect.unreachable());
});
