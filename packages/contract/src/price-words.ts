/** The terms that a response's price depends on, besides its model. */
interface PriceTerms {
  model: string | null;
  service_tier: string | null;
  speed: string | null;
  has_web_search?: boolean;
}

const USUAL = new Set(['', 'standard', 'default', 'auto']);
const isUsual = (name: string | null): boolean => name === null || USUAL.has(name.trim().toLowerCase());

/** Names what has no price, such as `gpt-5.5 at tier warp` or `claude-sonnet-5-5 at speed fast`. */
export function toUnpricedName({ model, service_tier: tier, speed, has_web_search: hasSearch }: PriceTerms): string {
  const name = model ?? 'no model';
  const terms = [
    isUsual(tier) ? '' : ` at tier ${tier?.slice(0, 40)}`,
    isUsual(speed) ? '' : ` at speed ${speed?.slice(0, 40)}`,
  ].join('');
  return terms === '' && hasSearch === true ? `${name} with web searches` : name + terms;
}

/** Price lists that date from longer ago are pointed out. */
const MAX_PRICE_AGE_DAYS = 60;
const DAY_MS = 86_400_000;

/** A remark on a price list that dates from more than 60 days ago; undefined if it is newer. `date`: ISO 8601. */
export function describeOldPrices(date: string, nowMs: number): string | undefined {
  const days = Math.floor((nowMs - Date.parse(date)) / DAY_MS);
  return days > MAX_PRICE_AGE_DAYS ? `The price list is ${days} days old (of ${date.slice(0, 10)}).` : undefined;
}
