import { createHash } from 'node:crypto';
import type { MatchLogic, ModelInfo } from '@pydantic/genai-prices';
import { isSpelledOut, type ListedModel, toRatePeriods } from './list-prices.ts';
import { LITE_LLM_FIELDS, type LiteLlmEntry, listLiteLlmEntries, toLiteLlmBands } from './lite-llm.ts';
import { parseModelName } from './model-name.ts';
import { MAX_PRICE_USD, type PriceIssue } from './parse-price-overrides.ts';
import type { RateBand, RatePeriod } from './rates.ts';
import { addLongContextBand } from './vendor-rules.ts';

/** Size of a price file, in bytes; LiteLLM's has about 2 MB. */
export const MAX_PRICE_FILE_BYTES = 32 * 1024 * 1024;
/** Faults of a price file that are named; further ones are only counted. */
const MAX_PRICE_FILE_ISSUES = 100;

/** Prices that a user supplied, which precede the built-in list. */
export interface PriceFile {
  format: 'genai-prices' | 'litellm';
  /** The file's path or URL. */
  source: string;
  /** The day of its date, ISO 8601; null if unknown. */
  date: string | null;
  /** Part of the version of a price table. Equal for the same content and date. */
  version: string;
  /** Number of models with a price for text tokens. */
  modelCount: number;
  /** Entries that are left out because they are not valid; at most `MAX_PRICE_FILE_ISSUES`, and how many there are. */
  issues: PriceIssue[];
  issueCount: number;
  /**
   * The price of a model, as a transcript names it; undefined if the file has none. `builtIn` has the built-in list's.
   */
  find(model: string, builtIn: ListedModel | undefined): Pick<ListedModel, 'model' | 'periods'> | undefined;
}

type FileModel = Pick<ModelInfo, 'id' | 'match' | 'prices'>;
type ParsedFile = { file: PriceFile } | { refused: string };
type Found = Pick<ListedModel, 'model' | 'periods'>;
type Lookup = { modelCount: number; find: PriceFile['find'] };
type Report = (path: string, message: string) => void;

/**
 * Reads a price file in the format of genai-prices (`data.json`) or of LiteLLM (`model_prices_and_context_window.json`).
 * Refuses one of another format as a whole. `date`: ISO 8601, if known.
 */
export function parsePriceFile(text: string, { source, date }: { source: string; date: string | null }): ParsedFile {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    return { refused: 'it is not JSON' };
  }
  const issues: PriceIssue[] = [];
  let issueCount = 0;
  const report: Report = (path, message) => {
    issueCount += 1;
    if (issues.length < MAX_PRICE_FILE_ISSUES) issues.push({ path: path.slice(0, 200), message });
  };
  const day = date?.slice(0, 10) ?? null;
  const format = Array.isArray(content) ? 'genai-prices' : 'litellm';
  const lookup = Array.isArray(content) ? readProviders(content, report) : readLiteLlm(content, day, report);
  if (lookup === undefined) {
    return { refused: 'it is neither a price list of genai-prices (data.json) nor one of LiteLLM' };
  }
  if (lookup.modelCount === 0) return { refused: `none of its prices is valid: ${toText(issues[0])}` };
  const digest = createHash('sha256')
    .update(`${day ?? ''}\n`)
    .update(text)
    .digest('hex');
  const version = `${format}-${day ?? 'undated'}-${digest.slice(0, 12)}`;
  return { file: { format, source, date: day, version, issues, issueCount, ...lookup } };
}

const toText = (issue: PriceIssue | undefined): string =>
  issue === undefined ? 'it has no model that is billed by tokens' : `${issue.path} ${issue.message}`;

function readProviders(content: readonly unknown[], report: Report): Lookup | undefined {
  const isFormat = content.some((provider) => isObject(provider) && Array.isArray(provider.models));
  if (!isFormat) return undefined;
  const sellers = new Map<string, FileModel[]>();
  let modelCount = 0;
  for (const [index, provider] of content.entries()) {
    if (!isObject(provider) || typeof provider.id !== 'string' || !Array.isArray(provider.models)) {
      report(`[${index}]`, 'must be a provider with an id and models');
      continue;
    }
    const models = provider.models.flatMap((model: unknown, number) =>
      readModel(model, `[${index}].models[${number}]`, report),
    );
    modelCount += models.filter(({ prices }) => toRatePeriods(prices) !== undefined).length;
    sellers.set(provider.id, models);
  }
  return {
    modelCount,
    find(model) {
      const name = parseModelName(model);
      const [, prefix = '', rest = ''] = /^([^/]+)\/(.+)$/.exec(model.toLowerCase()) ?? [];
      const wanted = name ?? { seller: prefix, name: rest, baseName: rest };
      const found = sellers
        .get(wanted.seller)
        ?.find(({ match }) => isMatching(match, wanted.name) && isSpelledOut(match, wanted));
      const periods = found && toRatePeriods(found.prices);
      return found && periods && { model: found.id, periods: addLongContextBand(found.id, periods) };
    },
  };
}

function readModel(model: unknown, path: string, report: Report): FileModel[] {
  if (!isObject(model) || typeof model.id !== 'string') {
    report(path, 'must be a model with an id');
    return [];
  }
  const place = `${path} (${model.id.slice(0, 60)})`;
  const { id, match, prices } = model;
  const hasPrices = isPrices(prices, `${place}.prices`, report);
  if (!isMatch(match)) {
    report(place, 'must say which names it matches');
    return [];
  }
  return hasPrices ? [{ id, match, prices: prices as FileModel['prices'] }] : [];
}

const MAX_MATCH_DEPTH = 8;
const MATCHES: Readonly<Record<string, (name: string, text: string) => boolean>> = {
  equals: (name, text) => name === text,
  starts_with: (name, text) => name.startsWith(text),
  ends_with: (name, text) => name.endsWith(text),
  contains: (name, text) => name.includes(text),
  // Names that only a pattern matches are not spelled out. A pattern of the file is never run.
  regex: () => true,
};

function isMatching(match: MatchLogic, name: string): boolean {
  if ('or' in match) return match.or.some((part) => isMatching(part, name));
  if ('and' in match) return match.and.every((part) => isMatching(part, name));
  return Object.entries(match).every(([kind, text]) => MATCHES[kind]?.(name, text.toLowerCase()) ?? false);
}

function isMatch(match: unknown, depth = 0): match is MatchLogic {
  if (!isObject(match) || depth > MAX_MATCH_DEPTH) return false;
  const entries = Object.entries(match);
  return (
    entries.length === 1 &&
    entries.every(([kind, value]) =>
      kind === 'or' || kind === 'and'
        ? Array.isArray(value) && value.every((part) => isMatch(part, depth + 1))
        : MATCHES[kind] !== undefined && typeof value === 'string',
    )
  );
}

function isPrices(prices: unknown, path: string, report: Report): boolean {
  if (!Array.isArray(prices)) return isPrice(prices, path, report);
  if (prices.length === 0) report(path, 'must not be empty');
  const valid = prices.map((dated: unknown, index) => {
    const place = `${path}[${index}]`;
    const constraint = isObject(dated) ? dated.constraint : undefined;
    if (constraint !== undefined && !isObject(constraint)) {
      report(`${place}.constraint`, 'must be an object');
      return false;
    }
    const start = constraint?.start_date;
    if (start !== undefined && !(typeof start === 'string' && !Number.isNaN(Date.parse(start)))) {
      report(`${place}.constraint.start_date`, 'must be a date');
      return false;
    }
    return isPrice(isObject(dated) ? dated.prices : undefined, `${place}.prices`, report);
  });
  return valid.length > 0 && valid.every(Boolean);
}

function isPrice(price: unknown, path: string, report: Report): boolean {
  if (!isObject(price)) {
    report(path, 'must be an object of prices');
    return false;
  }
  const faults = Object.entries(price).filter(([, value]) => value !== undefined && !isUsd(value) && !isTiered(value));
  for (const [field] of faults)
    report(`${path}.${field}`, `must be dollars from 0 to ${MAX_PRICE_USD}, or a base with tiers`);
  return faults.length === 0;
}

const isUsd = (value: unknown): boolean => typeof value === 'number' && value >= 0 && value <= MAX_PRICE_USD;

const isTiered = (value: unknown): boolean =>
  isObject(value) &&
  isUsd(value.base) &&
  Array.isArray(value.tiers) &&
  value.tiers.every((tier) => isObject(tier) && Number.isSafeInteger(tier.start) && isUsd(tier.price));

/** The providers whose entries count: the makers, and hosts that sell open-weight models. */
const LITE_LLM_SELLERS: Readonly<Record<string, string>> = {
  anthropic: 'anthropic',
  openai: 'openai',
  gemini: 'google',
  xai: 'x-ai',
  moonshot: 'moonshotai',
  zai: 'zai',
  openrouter: 'openrouter',
  groq: 'groq',
  cerebras: 'cerebras',
  fireworks_ai: 'fireworks',
};

function readLiteLlm(content: unknown, day: string | null, report: Report): Lookup | undefined {
  const entries = listLiteLlmEntries(content);
  if (entries.length === 0) return undefined;
  const named = new Map<string, Found>();
  let modelCount = 0;
  for (const [model, entry] of entries) {
    if (!isLiteLlmPrice(model, entry, report)) continue;
    modelCount += 1;
    const name = parseModelName(model);
    const found = { model, periods: [{ startsAt: null, bands: toLiteLlmBands(entry) }] };
    if (name === undefined) named.set(model.toLowerCase(), found);
    else if (LITE_LLM_SELLERS[String(entry.litellm_provider)] === name.seller) {
      const key = `${name.seller}\n${name.name}`;
      if (!named.has(key)) named.set(key, found);
    }
  }
  return {
    modelCount,
    find(model, builtIn) {
      const name = parseModelName(model);
      const found =
        name === undefined
          ? named.get(model.toLowerCase())
          : (named.get(`${name.seller}\n${name.name}`) ?? named.get(`${name.seller}\n${name.baseName}`));
      return found && { model: builtIn?.model ?? found.model, periods: addHistory(found.periods, builtIn, day) };
    },
  };
}

function isLiteLlmPrice(model: string, entry: LiteLlmEntry, report: Report): boolean {
  const fields = Object.keys(entry).filter((field) =>
    Object.values(LITE_LLM_FIELDS).some((name) => field === name || field.startsWith(`${name}_above_`)),
  );
  const faults = fields.filter((field) => {
    const value = entry[field];
    return value !== null && !(typeof value === 'number' && value >= 0 && value * 1e6 <= MAX_PRICE_USD);
  });
  for (const field of faults) {
    report(`${model.slice(0, 80)}.${field}`, `must be dollars for one token, from 0 to ${MAX_PRICE_USD / 1e6}`);
  }
  return faults.length === 0;
}

/**
 * LiteLLM's file says only what is charged now. It replaces the period of the built-in list that had begun on the file's
 * day; earlier and later ones stay, and so does the price of searches if the file has none.
 */
function addHistory(now: RatePeriod[], builtIn: ListedModel | undefined, day: string | null): RatePeriod[] {
  const periods = builtIn?.periods ?? [];
  const endOfDayMs = day === null ? Number.POSITIVE_INFINITY : Date.parse(day) + 24 * 3_600_000;
  const current = periods.findLast(({ startsAt }) => startsAt === null || Date.parse(startsAt) < endOfDayMs);
  if (current === undefined) return now;
  const searches = current.bands[0]?.rates.webSearchUsdPerThousand ?? null;
  return periods.flatMap((period) =>
    period === current
      ? now.map(({ bands }) => ({ startsAt: period.startsAt, bands: keepSearches(bands, searches) }))
      : period,
  );
}

const keepSearches = (bands: readonly RateBand[], usd: number | null): RateBand[] =>
  bands.map(({ overInputTokens, rates }) => ({
    overInputTokens,
    rates: { ...rates, webSearchUsdPerThousand: rates.webSearchUsdPerThousand ?? usd },
  }));

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
