import type { Price, PriceTable } from '../pricing/price-table.ts';
import { SYNTHETIC_MODEL } from '../records/claude-code/session-facts.ts';
import { readIdentifier, readObject } from '../records/fields.ts';
import type { ApiResponse, JsonObject, TranscriptMessage, UsageSource } from '../rows.ts';
import { toAdvisorKey } from './response-key.ts';
import { toFinalUsage, toUsage, type Usage } from './usage.ts';

/** Output counts that the API reports when a response starts to stream; final ones this small carry a stop_reason. */
const MAX_PLACEHOLDER_OUTPUT_TOKENS = 8;

/**
 * UTF-8 bytes of content for one output token. Real responses have 1.5 to 3: an estimate by this figure is too low
 * rather than too high.
 */
const BYTES_PER_ESTIMATED_TOKEN = 4;

/** Claude Code's own calls have none to three. */
const MAX_ADVISOR_ITERATIONS = 64;

/** What a message's row and a progress line have in common. */
type ResponseFacts = Pick<
  TranscriptMessage,
  'provider_message_id' | 'request_id' | 'model' | 'timestamp' | 'agent_id' | 'stop_reason' | 'line_number'
>;

/** What the first line of a response tells that no later one changes. */
export interface ResponseOrigin {
  key: string;
  source: Exclude<UsageSource, 'advisor'>;
  sessionId: string;
  /** Row of the message that the response is. */
  messageRowId: string | null;
  /** May still change: a message's row is filled by its later lines. */
  facts: ResponseFacts;
  isSubagent: boolean;
  gitBranch: string | null;
  agentVersion: string | null;
  isMarkedCopy: boolean;
}

/** An API response of which lines may still follow. */
export interface OpenResponse extends ResponseOrigin {
  usage: Usage | undefined;
  price: Price | undefined;
  /** For which the price was looked up. */
  pricedModel: string | null;
  pricedTimestamp: string | null;
  reportedCostUsd: number | null;
  advisors: { model: string | null; usage: Usage }[];
  /** UTF-8 bytes of what the model wrote, as far as the transcript shows it. */
  contentBytes: number;
  /** Searches that the results of its WebSearch tool uses tell of; they count where its usage names none. */
  searchCount: number;
}

export interface UsageLine {
  usage: JsonObject | undefined;
  reportedCostUsd: number | null;
}

export interface UsageOptions {
  prices: PriceTable;
  usageFrom: 'first' | 'final';
  onInvalidUsage: (field: string) => void;
}

export function createOpenResponse(origin: ResponseOrigin): OpenResponse {
  return {
    ...origin,
    usage: undefined,
    price: undefined,
    pricedModel: null,
    pricedTimestamp: null,
    reportedCostUsd: null,
    advisors: [],
    contentBytes: 0,
    searchCount: 0,
  };
}

/** Takes in the usage of a line, and prices it anew where that, the model or the time have changed. */
export function observeUsage(response: OpenResponse, line: UsageLine, options: UsageOptions): void {
  if (response.reportedCostUsd === null && line.reportedCostUsd !== null) {
    response.reportedCostUsd = line.reportedCostUsd;
    response.price = undefined;
  }
  if (line.usage !== undefined && (response.usage === undefined || options.usageFrom === 'final')) {
    const usage = toUsage(line.usage, options.onInvalidUsage);
    const finalUsage = response.usage === undefined ? usage : toFinalUsage(response.usage, usage);
    if (finalUsage !== response.usage) response.price = undefined;
    response.usage = finalUsage;
    observeAdvisors(response, line.usage, options.onInvalidUsage);
  }
  if (response.usage === undefined) return;
  const { model, timestamp } = response.facts;
  if (response.price !== undefined && model === response.pricedModel && timestamp === response.pricedTimestamp) return;
  response.price = toPrice(response, response.usage, options.prices);
  response.pricedModel = model;
  response.pricedTimestamp = timestamp;
}

/** A `fallback_message` is in the figures of its response already, and so is a `message`. */
function observeAdvisors(response: OpenResponse, usage: JsonObject, onInvalid: (field: string) => void): void {
  if (!Array.isArray(usage.iterations)) return;
  let position = 0;
  for (const element of usage.iterations) {
    const iteration = readObject(element);
    if (iteration?.type !== 'advisor_message' || position === MAX_ADVISOR_ITERATIONS) continue;
    const known = response.advisors[position];
    const read = toUsage(iteration, onInvalid);
    const model = readIdentifier(iteration.model, () => undefined);
    response.advisors[position++] =
      known === undefined
        ? { model, usage: read }
        : { model: known.model ?? model, usage: toFinalUsage(known.usage, read) };
  }
}

/** Whether the output count is plainly the one that stood there when the response began. */
export function isUnfinalised({ usage, facts }: Pick<OpenResponse, 'usage' | 'facts'>): boolean {
  return (
    usage !== undefined &&
    facts.stop_reason === null &&
    usage.outputTokens > 0 &&
    usage.outputTokens <= MAX_PLACEHOLDER_OUTPUT_TOKENS
  );
}

/** A line that names no usage, or that the agent made up itself, tells of no API response. */
export function isApiResponse({ usage, facts }: Pick<OpenResponse, 'usage' | 'facts'>): boolean {
  return usage !== undefined && facts.model !== SYNTHETIC_MODEL;
}

/** The row of the response and those of its advisors; none where nothing is known of it. */
export function toApiResponses(response: OpenResponse, prices: PriceTable): ApiResponse[] {
  const { usage } = response;
  if (usage === undefined || !isApiResponse(response)) return [];
  const searched =
    usage.webSearchRequests > 0 || response.searchCount === 0
      ? usage
      : { ...usage, webSearchRequests: response.searchCount };
  const isPriced = searched === usage && response.price !== undefined;
  const row = toApiResponse(response, searched, isPriced ? response.price : undefined, prices);
  if (isUnfinalised(response)) {
    row.is_unfinalised = true;
    row.estimated_tokens_out = Math.max(
      usage.outputTokens,
      Math.floor(response.contentBytes / BYTES_PER_ESTIMATED_TOKEN),
    );
  }
  const advisors = response.advisors.map((advisor, index) => {
    const key = toAdvisorKey(response.key, index + 1);
    const facts = { ...response.facts, model: advisor.model };
    const messageRow = { ...response, key, facts, reportedCostUsd: null };
    return { ...toApiResponse(messageRow, advisor.usage, undefined, prices), source: 'advisor' as const };
  });
  return [row, ...advisors];
}

function toPrice({ facts, reportedCostUsd }: OpenResponse, usage: Usage, prices: PriceTable): Price {
  return prices.price({ model: facts.model, timestamp: facts.timestamp, usage, reportedCostUsd });
}

function toApiResponse(
  response: OpenResponse,
  usage: Usage,
  knownPrice: Price | undefined,
  prices: PriceTable,
): ApiResponse {
  const { facts } = response;
  const { costUsd, costs, basis } = knownPrice ?? toPrice(response, usage, prices);
  return {
    response_key: response.key,
    source: response.source,
    session_id: response.sessionId,
    message_id: response.messageRowId,
    provider_message_id: facts.provider_message_id,
    request_id: facts.request_id,
    model: facts.model,
    timestamp: facts.timestamp,
    is_subagent: response.isSubagent,
    agent_id: facts.agent_id,
    git_branch: response.gitBranch,
    agent_version: response.agentVersion,
    is_marked_copy: response.isMarkedCopy,
    tokens_in: usage.inputTokens,
    tokens_out: usage.outputTokens,
    cache_read: usage.cacheReadTokens,
    cache_write: usage.cacheWriteTokens,
    cache_write_5m: usage.cacheWrite5mTokens,
    cache_write_1h: usage.cacheWrite1hTokens,
    thinking_tokens: usage.thinkingTokens,
    web_search_requests: usage.webSearchRequests,
    web_fetch_requests: usage.webFetchRequests,
    service_tier: usage.serviceTier,
    speed: usage.speed,
    inference_geo: usage.inferenceGeo,
    is_unfinalised: false,
    estimated_tokens_out: null,
    reported_cost_usd: response.reportedCostUsd,
    cost_usd: costUsd,
    cost_input_usd: costs?.input ?? null,
    cost_output_usd: costs?.output ?? null,
    cost_cache_read_usd: costs?.cacheRead ?? null,
    cost_cache_write_usd: costs?.cacheWrite ?? null,
    cost_web_search_usd: costs?.webSearch ?? null,
    price_basis: basis,
    line_number: facts.line_number,
  };
}
