import type { OverrideRates, PriceOverride } from './price-overrides.ts';

export const MAX_PRICE_OVERRIDES = 1_000;
const MAX_OVERRIDE_MODEL_CHARACTERS = 256;
/** Far above any price; keeps costs of real requests exact integers in units of 1e-10 dollars. */
export const MAX_PRICE_USD = 10_000;
export const MAX_PRICE_OVERRIDE_ISSUES = 100;

/** The fault and its place, as in `[2].longContext.inputUsdPerMillion`. An empty path means the whole value. */
export interface PriceIssue {
  path: string;
  message: string;
}

type ParsedOverrides = { overrides: PriceOverride[] } | { issues: PriceIssue[] };
type Report = (path: string, message: string) => void;
type Fields = Record<string, unknown>;

const REQUIRED_RATES = ['inputUsdPerMillion', 'outputUsdPerMillion'] as const;
const CACHE_RATES = ['cacheReadUsdPerMillion', 'cacheWrite5mUsdPerMillion', 'cacheWrite1hUsdPerMillion'] as const;
const OVERRIDE_FIELDS = [
  'model',
  'startsAt',
  'webSearchUsdPerThousand',
  'longContext',
  ...REQUIRED_RATES,
  ...CACHE_RATES,
];
const LONG_CONTEXT_FIELDS = ['thresholdTokens', ...REQUIRED_RATES, ...CACHE_RATES];
const ISO_DATE_TIME =
  /^(\d{4}-\d{2}-\d{2})(?:T(?:[01]\d|2[0-3]):\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2}))?$/;

/**
 * Checks an array of overrides from a file or a request. All or nothing. If there is an issue, none is accepted. Dates
 * are converted to UTC. Issues beyond `MAX_PRICE_OVERRIDE_ISSUES` are left out.
 */
export function parsePriceOverrides(value: unknown): ParsedOverrides {
  const issues: PriceIssue[] = [];
  const report: Report = (path, message) => {
    if (issues.length < MAX_PRICE_OVERRIDE_ISSUES) issues.push({ path, message });
  };
  if (!Array.isArray(value)) return { issues: [{ path: '', message: 'must be an array of overrides' }] };
  if (value.length > MAX_PRICE_OVERRIDES) {
    return { issues: [{ path: '', message: `must hold at most ${MAX_PRICE_OVERRIDES} overrides` }] };
  }
  const overrides = value.map((entry: unknown, index) => parseOverride(entry, `[${index}]`, report));
  reportDuplicates(overrides, report);
  return issues.length > 0 ? { issues } : { overrides: overrides.filter((override) => override !== undefined) };
}

function parseOverride(value: unknown, path: string, report: Report): PriceOverride | undefined {
  const fields = readFields(value, path, OVERRIDE_FIELDS, report);
  if (fields === undefined) return undefined;
  const model = readModel(fields.model, `${path}.model`, report);
  const startsAt = readStart(fields.startsAt, `${path}.startsAt`, report);
  const rates = readRates(fields, path, report);
  const webSearchUsdPerThousand = readUsd(fields, 'webSearchUsdPerThousand', path, report);
  const longContext = readLongContext(fields.longContext, `${path}.longContext`, report);
  if (model === undefined || rates === undefined) return undefined;
  return {
    model,
    ...rates,
    ...(startsAt === undefined ? {} : { startsAt }),
    ...(webSearchUsdPerThousand === undefined ? {} : { webSearchUsdPerThousand }),
    ...(longContext === undefined ? {} : { longContext }),
  };
}

function readFields(value: unknown, path: string, known: readonly string[], report: Report): Fields | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    report(path, 'must be an object');
    return undefined;
  }
  for (const field of Object.keys(value)) {
    if (!known.includes(field))
      report(`${path}.${field.slice(0, 64)}`, `is unknown; the fields are ${known.join(', ')}`);
  }
  return { ...value };
}

function readModel(value: unknown, path: string, report: Report): string | undefined {
  if (typeof value !== 'string' || value === '' || value !== value.trim()) {
    report(path, 'must be a model name without spaces around it');
  } else if (value.length > MAX_OVERRIDE_MODEL_CHARACTERS) {
    report(path, `must have at most ${MAX_OVERRIDE_MODEL_CHARACTERS} characters`);
  } else if (/\p{C}/u.test(value)) {
    report(path, 'must not have control characters');
  } else if (value.slice(0, -1).includes('*')) {
    report(path, 'may have one *, at its end');
  } else {
    return value;
  }
  return undefined;
}

function readStart(value: unknown, path: string, report: Report): string | undefined {
  if (value === undefined) return undefined;
  const day = typeof value === 'string' ? ISO_DATE_TIME.exec(value)?.[1] : undefined;
  // A day that does not exist in its month rolls over to the next month instead of being invalid.
  if (day !== undefined && isValidTime(day) && new Date(day).toISOString().startsWith(day)) {
    const time = String(value);
    if (isValidTime(time)) return new Date(time).toISOString();
  }
  report(path, 'must be an ISO 8601 date, or date and time with its zone');
  return undefined;
}

function isValidTime(text: string): boolean {
  return !Number.isNaN(Date.parse(text));
}

function readRates(fields: Fields, path: string, report: Report): OverrideRates | undefined {
  for (const field of REQUIRED_RATES) {
    if (fields[field] === undefined) report(`${path}.${field}`, 'is missing');
  }
  const inputUsdPerMillion = readUsd(fields, 'inputUsdPerMillion', path, report);
  const outputUsdPerMillion = readUsd(fields, 'outputUsdPerMillion', path, report);
  const cacheRates: Partial<Record<(typeof CACHE_RATES)[number], number>> = {};
  for (const field of CACHE_RATES) {
    const usd = readUsd(fields, field, path, report);
    if (usd !== undefined) cacheRates[field] = usd;
  }
  if (inputUsdPerMillion === undefined || outputUsdPerMillion === undefined) return undefined;
  return { inputUsdPerMillion, outputUsdPerMillion, ...cacheRates };
}

function readUsd(fields: Fields, field: string, path: string, report: Report): number | undefined {
  const value = fields[field];
  if (value === undefined) return undefined;
  if (typeof value === 'number' && value >= 0 && value <= MAX_PRICE_USD) return value;
  report(`${path}.${field}`, `must be a number of US dollars from 0 to ${MAX_PRICE_USD}`);
  return undefined;
}

function readLongContext(value: unknown, path: string, report: Report): PriceOverride['longContext'] {
  if (value === undefined) return undefined;
  const fields = readFields(value, path, LONG_CONTEXT_FIELDS, report);
  if (fields === undefined) return undefined;
  const rates = readRates(fields, path, report);
  const { thresholdTokens } = fields;
  if (typeof thresholdTokens !== 'number' || !Number.isSafeInteger(thresholdTokens) || thresholdTokens < 1) {
    report(`${path}.thresholdTokens`, 'must be a whole number of tokens, at least 1');
    return undefined;
  }
  return rates === undefined ? undefined : { ...rates, thresholdTokens };
}

function reportDuplicates(overrides: readonly (PriceOverride | undefined)[], report: Report): void {
  const seen = new Map<string, number>();
  for (const [index, override] of overrides.entries()) {
    if (override === undefined) continue;
    const key = `${override.model.toLowerCase()} ${override.startsAt ?? ''}`;
    const first = seen.get(key);
    if (first === undefined) seen.set(key, index);
    else report(`[${index}]`, `has the model and start of [${first}]`);
  }
}
