import { describeOldPrices, toUnpricedName } from '../price-words.ts';
import type { ReportCaveats } from './report-schemas.ts';

/** A known inaccuracy of a report's figures, in words. */
export interface Caveat {
  label: string;
  /** A sentence. The names follow it, if there are any. */
  text: string;
  names: readonly UnpricedName[];
}

interface UnpricedName {
  name: string;
  /** Set if the model has no price at all. */
  model?: string;
}

interface Formats {
  count(value: number): string;
  tokens(value: number): string;
  money(value: number): string;
}

/** All known inaccuracies of a report's figures. Views decide the form of numbers, and how many names they show. */
export function describeCaveats(caveats: ReportCaveats, { count, tokens, money }: Formats, nowMs: number): Caveat[] {
  const { unfinalised, unpriced, sessions, disagreements } = caveats;
  const { default_priced_responses: defaultPriced, without_timestamp: untimed } = caveats;
  const found: Caveat[] = [];
  const add = (label: string, text: string, names: readonly UnpricedName[] = []) => found.push({ label, text, names });
  /** E.g. `1 response has` or `1,200 responses have`. */
  const subject = (value: number, noun: string, one: string, several: string): string =>
    value === 1 ? `1 ${noun} ${one}` : `${count(value)} ${noun}s ${several}`;
  const responses = (value: number): string => subject(value, 'response', 'has', 'have');
  if (unfinalised.responses > 0) {
    const [counted, estimated] = [tokens(unfinalised.tokens_out), tokens(unfinalised.estimated_tokens_out)];
    const what = `incomplete output counts, in total ${counted} tokens; actual output is about ${estimated}`;
    // Older servers do not compute it.
    const cost = unfinalised.estimated_cost_usd ?? 0;
    const extra = cost > 0 ? `≈ ${money(cost)} more, ` : '';
    add('Unfinalised', `${responses(unfinalised.responses)} ${what} (${extra}estimate, not included).`);
  }
  if (unpriced.responses > 0) {
    const names = listUnpricedNames(unpriced);
    const what = `no price and ${unpriced.responses === 1 ? 'is' : 'are'} not included in any cost`;
    const text = `${responses(unpriced.responses)} ${what} (${tokens(unpriced.tokens)} tokens)`;
    add('Unpriced', names.length === 0 ? `${text}, without the name of a model.` : `${text}:`, names);
  }
  // Older servers do not say it.
  const oldPrices = caveats.price_date === undefined ? undefined : describeOldPrices(caveats.price_date, nowMs);
  if (oldPrices !== undefined) add('Old prices', oldPrices);
  if (defaultPriced > 0) {
    const who = subject(defaultPriced, 'response', 'names no model and is', 'name no model and are');
    add('Default price', `${who} priced at the default rates.`);
  }
  if (untimed > 0) add('No time', `${responses(untimed)} no timestamp, so no time range includes them.`);
  if (sessions.without_usage > 0) {
    const who = subject(sessions.without_usage, 'session', 'has', 'have');
    add('No usage', `${who} no usage in the transcripts, so sums exclude their tokens and cost.`);
  }
  if (sessions.output_only > 0) {
    const who = subject(sessions.output_only, 'session', 'has', 'have');
    add('Too low', `${who} an interrupted run that reported only output, so the sums lack its input.`);
  }
  if (disagreements.responses > 0) {
    const [lowest, highest] = [money(disagreements.lowest_cost_usd), money(disagreements.highest_cost_usd)];
    const effect =
      lowest === highest
        ? `The cost is ${lowest} by each of them`
        : `The cost is between ${lowest} and ${highest}, and counts as ${money(disagreements.cost_usd)}`;
    add('Disagreeing copies', `${responses(disagreements.responses)} copies that disagree. ${effect}.`);
  }
  return found;
}

/** Models without a price, then the tiers and speeds of others that have none. */
const listUnpricedNames = ({ models, terms = [] }: ReportCaveats['unpriced']): UnpricedName[] => [
  ...models.map((model) => ({ name: model, model })),
  ...terms.map((each) => ({ name: toUnpricedName(each) })),
];
