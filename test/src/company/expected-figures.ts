import { LARGE, type Spent, toEmail, toPeriodStart, toRepository, toTeam } from './made-company.ts';

/** Dollars for a million tokens. */
export interface Rates {
  input: number;
  output: number;
}

export type Prices = Readonly<Record<string, Rates>>;

/** A count of what was sent, with no SQL and nothing of recount. */
export interface Figures {
  /** In units of 1e-10 dollars, which are whole numbers. */
  units: number;
  tokens: number;
  sessions: number;
}

const UNITS_PER_TOKEN = 10_000;

const toUnits = ({ model, tokensIn, tokensOut }: Spent, prices: Prices): number => {
  const { input = 0, output = 0 } = prices[model] ?? {};
  return Math.round(tokensIn * input * UNITS_PER_TOKEN) + Math.round(tokensOut * output * UNITS_PER_TOKEN);
};

export const toUsd = (units: number): number => units / 1e10;

export function countFigures(spent: readonly Spent[], prices: Prices): Figures {
  let [units, tokens] = [0, 0];
  for (const each of spent) {
    units += toUnits(each, prices);
    tokens += each.tokensIn + each.tokensOut;
  }
  return { units, tokens, sessions: new Set(spent.map(({ session }) => session)).size };
}

/** Names that reports group what was spent by. */
export const toNames = (
  spent: Spent,
  firstDay: string,
): Record<'person' | 'team' | 'repository' | 'model', string> => ({
  person: toEmail(spent.person),
  team: toTeam(spent.person, spent.day, firstDay),
  repository: toRepository(spent.person),
  model: spent.model,
});

export function selectSpent(spent: readonly Spent[], filters: MadeFilters, firstDay: string): Spent[] {
  const wanted = Object.entries(filters);
  return spent.filter((each) => {
    const names: Record<string, string> = toNames(each, firstDay);
    return wanted.every(([name, value]) => names[name] === value);
  });
}

export interface ExpectedCrossing {
  start: string;
  threshold: number;
  isLate: boolean;
}

/** A budget whose every choice is made. */
export interface MadeBudget {
  name: string;
  period: 'day' | 'week' | 'month';
  unit: 'usd' | 'tokens';
  amount: number;
  thresholds: number[];
  filters: MadeFilters;
}

/** Each has one value, a whole name. */
export type MadeFilters = Partial<Record<'person' | 'team' | 'repository' | 'model', string>>;

interface Moment {
  spent: readonly Spent[];
  prices: Prices;
  today: string;
  firstDay: string;
}

/** The warnings that are due on a day. `known` has those before, and gets what is new. */
export function expectCrossings(
  { period, unit, amount, thresholds, filters }: MadeBudget,
  { spent, prices, today, firstDay }: Moment,
  known: Set<string>,
): ExpectedCrossing[] {
  const found: ExpectedCrossing[] = [];
  const byPeriod = Map.groupBy(selectSpent(spent, filters, firstDay), ({ day }) => toPeriodStart(period, day));
  for (const [start, ofPeriod] of byPeriod) {
    const { units, tokens } = countFigures(ofPeriod, prices);
    const figure = unit === 'usd' ? toUsd(units) : tokens;
    for (const threshold of thresholds) {
      const key = `${start} ${threshold}`;
      // Dollars in binary may be off by their last bit.
      if (figure < (amount * threshold) / 100 - 1e-9 || known.has(key)) continue;
      known.add(key);
      found.push({ start, threshold, isLate: start < toPeriodStart(period, today) });
    }
  }
  return found.sort((a, b) => (a.start === b.start ? a.threshold - b.threshold : a.start < b.start ? -1 : 1));
}

/** Keeps the highest threshold of each period, because only that one is told. */
export const selectTold = (crossings: readonly ExpectedCrossing[]): ExpectedCrossing[] =>
  crossings.filter(
    (one) => !crossings.some(({ start, threshold }) => start === one.start && threshold > one.threshold),
  );

export const FIRST_PRICES: Prices = { [LARGE]: { input: 5, output: 25 }, 'made-small': { input: 1, output: 5 } };
export const LATER_PRICES: Prices = { ...FIRST_PRICES, [LARGE]: { input: 7.5, output: 37.5 } };
