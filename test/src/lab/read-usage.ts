import type { UsageByModel } from './compare.ts';
import { runRecount } from './recount.ts';

interface UsageAnswer {
  rows: {
    model: string | null;
    own: { tokens_in: number; tokens_out: number; cache_read: number; cache_write: number };
  }[];
}

/** The counts of `recount usage` in a program's home, by model. */
export async function readUsage(environment: Record<string, string>): Promise<UsageByModel> {
  const answer = JSON.parse(
    await runRecount(['usage', '--json', '--no-cache', '--group-by', 'model'], environment),
  ) as UsageAnswer;
  return new Map(
    answer.rows.map(({ model, own }) => [
      model ?? 'no model',
      { input: own.tokens_in, cacheRead: own.cache_read, cacheWrite: own.cache_write, output: own.tokens_out },
    ]),
  );
}
