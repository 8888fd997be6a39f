/** Tokens of a rollout as Codex counts them. Cached ones are part of the input, reasoning is part of the output. */
export interface CodexCount {
  input: number;
  cached: number;
  output: number;
  reasoning: number;
}

const FIELDS = {
  input: 'input_tokens',
  cached: 'cached_input_tokens',
  output: 'output_tokens',
  reasoning: 'reasoning_output_tokens',
} as const;
const NAMES = Object.keys(FIELDS) as (keyof CodexCount)[];

/**
 * A rollout's usage from the format's description alone. Each `token_count` states the thread's total so far and the
 * last response's tokens; one that repeats the total adds nothing; if the total grew by more than the last response,
 * another response was interrupted before it was counted.
 */
export function countRollout(text: string): { used: CodexCount; lastTotal: CodexCount | undefined } {
  const used: CodexCount = { input: 0, cached: 0, output: 0, reasoning: 0 };
  let lastTotal: CodexCount | undefined;
  for (const line of text.split('\n')) {
    const payload = line.trim() === '' ? undefined : JSON.parse(line).payload;
    if (payload?.type !== 'token_count') continue;
    const total = toCount(payload.info?.total_token_usage);
    const last = toCount(payload.info?.last_token_usage);
    if (total === undefined || last === undefined) continue;
    const before = lastTotal;
    lastTotal = total;
    if (before !== undefined && NAMES.every((name) => total[name] === before[name])) continue;
    const isMore = before !== undefined && NAMES.every((name) => total[name] - before[name] >= last[name]);
    for (const name of NAMES) used[name] += isMore ? total[name] - before[name] : last[name];
  }
  return { used, lastTotal };
}

function toCount(usage: Record<string, number> | null | undefined): CodexCount | undefined {
  if (typeof usage !== 'object' || usage === null) return undefined;
  const read = (name: keyof CodexCount): number => usage[FIELDS[name]] ?? 0;
  return { input: read('input'), cached: read('cached'), output: read('output'), reasoning: read('reasoning') };
}
