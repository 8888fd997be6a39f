import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { readIdentifier, readObject, readPart, readText } from '../../records/fields.ts';
import type { BilledRequest } from '../../records/records.ts';
import type { BilledApart, RequestTokens } from '../../records/rows.ts';
import { isSumOf, toRequestTokens, type Usage } from '../../records/usage.ts';
import { toUsage } from './usage.ts';

/** The API interrupts loops over its tools after 10 by default. Bounds what a response takes in memory. */
const MAX_ITERATIONS = 128;

/** The classes that iterations are compared by, with the top level, as positions in RequestTokens. */
const COMPARED = [0, 1, 2, 3];
const CACHE_WRITE = 3;
const CACHE_WRITE_5M = 4;
const CACHE_WRITE_1H = 5;

export interface IterationReports {
  onInvalid: (field: string) => void;
  /** Called for an iteration of a type that recount does not know. */
  onUnknown: (type: string) => void;
  /** Called with two figures of the same tokens that differ for no known reason. */
  onMismatch: (figures: string) => void;
}

/** The figures of `usage.iterations` beyond a response's top-level figures. */
interface Iterations {
  /** The requests that the top-level figures add up, if they are more than one. */
  requests: readonly RequestTokens[] | undefined;
  billedRequests: BilledRequest[];
}

interface Iteration {
  type: string;
  model: string | null;
  usage: Usage;
}

/**
 * Reads `usage.iterations`, which are the requests that the API made for a response. `top` is the usage without them.
 *
 * The top-level figures are the sum of the last iterations of type `message` and `fallback_message`, which are the
 * figures of the attempt that answered. Earlier attempts, each of one model, are billed at that model if they have
 * output. Iterations of type `compaction` and `advisor_message` are not in the top-level figures (types and comments of
 * @anthropic-ai/sdk, November 2026).
 *
 * An iteration of an unknown type counts as part of the answer if the figures only add up with it, and otherwise as a
 * request without a price.
 */
export function readIterations(source: JsonObject, top: Usage, reports: IterationReports): Iterations {
  const { iterations } = source;
  if (iterations !== undefined && iterations !== null && !Array.isArray(iterations)) reports.onInvalid('iterations');
  if (!Array.isArray(iterations) || iterations.length === 0) return { requests: undefined, billedRequests: [] };
  if (iterations.length > MAX_ITERATIONS) reports.onUnknown(`more than ${MAX_ITERATIONS}`);
  const all = iterations.slice(0, MAX_ITERATIONS).flatMap((element): Iteration[] => {
    const iteration = readObject(element);
    if (iteration === undefined) {
      reports.onInvalid('iterations');
      return [];
    }
    const model = readIdentifier(iteration.model, () => undefined);
    return [{ type: readText(iteration.type) ?? 'none', model, usage: toUsage(iteration, reports.onInvalid) }];
  });
  const unknown = all.filter(({ type }) => !Object.hasOwn(PLACES, type));
  for (const { type } of unknown) reports.onUnknown(type);

  const isStated = (index: number): boolean => typeof source[FIELDS[index] ?? ''] === 'number';
  const sampled = all.filter(({ type }) => PLACES[type] === 'answer');
  const toAnswer = (from: readonly Iteration[]): Iteration[] | undefined => findAnswer(from, top, isStated);
  const answer = toAnswer(sampled);
  const withUnknown = answer === undefined && unknown.length > 0 ? toAnswer(all.filter(isSampledOrUnknown)) : undefined;
  const isExplained = answer !== undefined || withUnknown !== undefined;
  if (!isExplained && sampled.length > 0) reports.onMismatch(toComparison(toAttempts(sampled).at(-1) ?? [], top));

  const count = (answer ?? toAttempts(sampled).at(-1) ?? []).length;
  const earlier = withUnknown === undefined ? sampled.slice(0, sampled.length - count) : [];
  const billedRequests = [
    ...toBilled('advisor', pick(all, 'advisor'), top),
    ...toBilled('fallback', toAttempts(earlier).filter(hasOutput).map(toSum), top),
    ...toBilled('compaction', pick(all, 'compaction'), top),
    ...(withUnknown === undefined ? toBilled('unknown', unknown.filter(hasTokens), top) : []),
  ];
  return { requests: toRequests(answer ?? withUnknown ?? [], top), billedRequests };
}

/**
 * Reads `pausedResponses` of a message (the parts of an answer that the API paused at a limit and resumed). Their usage
 * is not in the message's (Claude Code 2.1.332 adds it).
 */
export function readPausedResponses(
  value: JsonValue | undefined,
  onInvalid: IterationReports['onInvalid'],
): BilledRequest[] {
  if (value !== undefined && value !== null && !Array.isArray(value)) onInvalid('pausedResponses');
  if (!Array.isArray(value)) return [];
  return value.slice(0, MAX_ITERATIONS).flatMap((element, index): BilledRequest[] => {
    const usage = readPart(readObject(element), 'usage', onInvalid);
    if (usage === undefined) return [];
    return [{ source: 'paused', position: index + 1, model: null, usage: toUsage(usage, onInvalid) }];
  });
}

/** The place of an iteration's tokens, either in the top-level figures of the answer, or separate from them. */
const PLACES: Readonly<Record<string, 'answer' | 'advisor' | 'compaction'>> = {
  message: 'answer',
  fallback_message: 'answer',
  advisor_message: 'advisor',
  compaction: 'compaction',
};

/** The API's fields in the order of RequestTokens. */
const FIELDS = ['input_tokens', 'output_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'];

const isSampledOrUnknown = ({ type }: Iteration): boolean => PLACES[type] === 'answer' || !Object.hasOwn(PLACES, type);

const pick = (all: readonly Iteration[], place: BilledApart): Iteration[] =>
  all.filter(({ type }) => PLACES[type] === place);

function toAttempts(iterations: readonly Iteration[]): Iteration[][] {
  const attempts: Iteration[][] = [];
  let isEnded = true;
  let model: string | null = null;
  for (const iteration of iterations) {
    const isOther = iteration.model !== null && model !== null && iteration.model !== model;
    if (isEnded || isOther) attempts.push([]);
    attempts.at(-1)?.push(iteration);
    model = iteration.model ?? (isEnded ? null : model);
    isEnded = iteration.type === 'fallback_message';
  }
  return attempts;
}

const hasOutput = (attempt: readonly Iteration[]): boolean => attempt.some(({ usage }) => usage.outputTokens > 0);

const hasTokens = ({ usage }: Iteration): boolean => toRequestTokens(usage).some((tokens) => tokens > 0);

const sumOf = (parts: readonly Iteration[], index: number): number =>
  parts.reduce((sum, { usage }) => sum + (toRequestTokens(usage)[index] ?? 0), 0);

/** The last iterations that have the tokens of the top level. */
function findAnswer(
  iterations: readonly Iteration[],
  top: Usage,
  isStated: (index: number) => boolean,
): Iteration[] | undefined {
  const tokens = toRequestTokens(top);
  const sums: number[] = COMPARED.map(() => 0);
  for (let start = iterations.length - 1; start >= 0; start--) {
    const request = toRequestTokens((iterations[start] as Iteration).usage);
    for (const index of COMPARED) sums[index] = (sums[index] ?? 0) + (request[index] ?? 0);
    if (COMPARED.every((index) => !isStated(index) || sums[index] === tokens[index])) return iterations.slice(start);
  }
  return undefined;
}

function toComparison(parts: readonly Iteration[], top: Usage): string {
  const toFigures = (toTokens: (index: number) => number | undefined): string => COMPARED.map(toTokens).join(' / ');
  const tokens = toRequestTokens(top);
  return `${toFigures((index) => tokens[index])}, its iterations ${toFigures((index) => sumOf(parts, index))}`;
}

/** An attempt as a whole; each of its requests keeps its size. */
function toSum(attempt: readonly Iteration[]): Iteration {
  const [first] = attempt as [Iteration];
  const [inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, cacheWrite5mTokens, cacheWrite1hTokens] =
    toRequestTokens(first.usage).map((_, index) => sumOf(attempt, index)) as unknown as RequestTokens;
  const requests = attempt.length > 1 ? attempt.map(({ usage }) => toRequestTokens(usage)) : undefined;
  const tokens = {
    inputTokens,
    outputTokens,
    cacheReadTokens,
    cacheWriteTokens,
    cacheWrite5mTokens,
    cacheWrite1hTokens,
  };
  const model = attempt.findLast((iteration) => iteration.model !== null)?.model ?? null;
  return { type: first.type, model, usage: { ...first.usage, ...tokens, requests } };
}

/** Iterations state no terms, so the response's terms hold for all of its requests, except an advisor's. */
function toBilled(source: BilledApart, iterations: readonly Iteration[], top: Usage): BilledRequest[] {
  const { serviceTier, speed, inferenceGeo } = top;
  const terms = source === 'advisor' ? {} : { serviceTier, speed, inferenceGeo };
  return iterations.map(({ model, usage }, index) => ({
    source,
    position: index + 1,
    model,
    usage: { ...usage, ...terms },
  }));
}

/** Undefined unless there are several, and they add up in every class. */
function toRequests(parts: readonly Iteration[], top: Usage): readonly RequestTokens[] | undefined {
  if (parts.length < 2) return undefined;
  const requests = parts.map(({ usage }) => withLifetimes(toRequestTokens(usage), top));
  return isSumOf(top, requests) ? requests : undefined;
}

/**
 * If all cache writes of the response have one lifetime, so have the cache writes of a request that does not state it.
 */
function withLifetimes(request: RequestTokens, top: Usage): RequestTokens {
  const writes = request[CACHE_WRITE];
  if (request[CACHE_WRITE_5M] + request[CACHE_WRITE_1H] > 0 || writes === 0) return request;
  const [input, output, read] = request;
  if (top.cacheWrite5mTokens === top.cacheWriteTokens) return [input, output, read, writes, writes, 0];
  if (top.cacheWrite1hTokens === top.cacheWriteTokens) return [input, output, read, writes, 0, writes];
  return request;
}
