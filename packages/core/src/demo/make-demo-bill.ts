import type { BillRow } from '../bills/bill.ts';
import { findBillVendor } from '../bills/billed-usage.ts';
import { readBill } from '../bills/read-bill.ts';

/** The cost of a response of the demo, at list prices. */
export interface DemoCost {
  agent: string | null;
  /** Null if the transcript does not say. */
  model: string | null;
  /** Milliseconds since 1970. */
  atMs: number;
  /** 0 without a price. */
  costUsd: number;
}

/** A program of the invented company that no transcript is of. */
const SUPPORT_BOT = { model: 'claude-haiku-4-5', dayUsd: 0.35 };
const WEB_SEARCH_USD = 0.12;
const CREDIT_USD = -5;
/** On every seventh day someone uses a machine that sends no transcripts, for a third of what the others use. */
const MISSING = { everyDays: 7, share: 1 / 3 };

const toDay = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/**
 * Anthropic's bill for these costs, of whole days in UTC, as its cost report has it. It differs from the transcripts as
 * bills do: by another program, searches, a credit, and a machine without transcripts.
 */
export function makeDemoBill(nowMs: number, costs: readonly DemoCost[]): BillRow[] {
  const today = toDay(nowMs);
  const billed = costs.filter(
    ({ agent, model, atMs }) => findBillVendor(agent, model) === 'anthropic' && toDay(atMs) < today,
  );
  // The first day may be cut.
  const days = [...Map.groupBy(billed, ({ atMs }) => toDay(atMs))].sort().slice(1);
  const data = days.map(([day, ofDay], index) => {
    const share = index % MISSING.everyDays === 0 ? 1 + MISSING.share : 1;
    const models = [...Map.groupBy(ofDay, ({ model }) => model)].map(([model, responses]) =>
      toTokens(model, responses.reduce((sum, { costUsd }) => sum + costUsd, 0) * share),
    );
    const others = [
      toTokens(SUPPORT_BOT.model, SUPPORT_BOT.dayUsd),
      toItem('web_search', 'Web Search', WEB_SEARCH_USD),
    ];
    const credits = index === 0 ? [toItem('credit', 'Promotional credit', CREDIT_USD)] : [];
    return { starting_at: `${day}T00:00:00Z`, results: [...models, ...others, ...credits] };
  });
  return readBill('anthropic', JSON.stringify({ data }));
}

/** Amounts are in cents. */
const toItem = (type: string, description: string, usd: number) => ({
  ...{ amount: String(usd * 100), currency: 'USD', cost_type: type, description },
});

const toTokens = (model: string | null, usd: number) => ({ ...toItem('tokens', `${model} Usage`, usd), model });
