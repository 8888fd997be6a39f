import { identifyTranscript, parseTranscript } from '@recount/core';
import { type DemoCost, generateDemo } from '@recount/core/demo';
import { createListPrices } from '@recount/prices';

const DAY_MS = 86_400_000;
/** Longer than a month, so that the budget of one is known. */
const MAX_AGE_MS = 32 * DAY_MS;

/** The costs of the last 32 days of the demo that ends at `nowMs`, in milliseconds since 1970. */
export async function readDemoCosts(nowMs: number): Promise<DemoCost[]> {
  const prices = createListPrices();
  const costs: DemoCost[] = [];
  for (const { path, text, startMs } of generateDemo(nowMs)) {
    // Sessions end within a day.
    if (startMs < nowMs - MAX_AGE_MS - DAY_MS) continue;
    const bytes = Buffer.from(text);
    const { agent, format, sessionId } = identifyTranscript({ path, head: bytes });
    const { apiResponses } = await parseTranscript(sessionId ?? '', bytes, { format, prices });
    for (const { timestamp, model, cost_usd: cost } of apiResponses) {
      costs.push({ agent: agent ?? null, model, atMs: Date.parse(timestamp ?? ''), costUsd: Number(cost) });
    }
  }
  return costs.filter(({ atMs }) => atMs >= nowMs - MAX_AGE_MS);
}
