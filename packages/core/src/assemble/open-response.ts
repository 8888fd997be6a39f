import { isUniqueId } from '../records/fields.ts';
import type { BilledRequest, ResponseRecord } from '../records/records.ts';
import {
  type ApiResponse,
  type BilledApart,
  type TranscriptMessage,
  UNKNOWN_MODEL,
  type UsageSource,
} from '../records/rows.ts';
import { MAX_REQUESTS_PER_RESPONSE, toFinalUsage, type Usage } from '../records/usage.ts';
import type { Price, PriceTable } from './price-table.ts';

/** The fields of a record that identify its API response. */
export interface ResponseIdentity {
  responseId: string | null;
  requestId: string | null;
  uuid: string | null;
}

/**
 * The name of an API response, the same in every copy of its record. It depends only on that record, so the order of
 * arrival does not matter: `<message id>`, combined with the request id or the line's uuid if it is short; without a
 * message id `uuid:<uuid>`; without either `line:<session id>:<line number>`, which no copy shares.
 */
export function toResponseKey(
  { responseId, requestId, uuid }: ResponseIdentity,
  sessionId: string,
  lineNumber: number,
): string {
  if (responseId !== null) {
    if (isUniqueId(responseId)) return responseId;
    return `${responseId}/${requestId ?? uuid ?? `line:${sessionId}:${lineNumber}`}`;
  }
  return uuid === null ? `line:${sessionId}:${lineNumber}` : `uuid:${uuid}`;
}

/** The name of a request that is billed apart from its response, the same in every copy. */
export function toBilledRequestKey(
  responseKey: string,
  { source, position }: Pick<BilledRequest, 'source' | 'position'>,
): string {
  return `${responseKey}#${source}-${position}`;
}

/**
 * Output counts that the API reports when a response starts to stream; final counts this small come with a stop_reason.
 */
const MAX_PLACEHOLDER_OUTPUT_TOKENS = 8;

/** Tokens cannot make more UTF-8 bytes of content than this; the maximum in real responses is 4.2. */
const MAX_BYTES_PER_TOKEN = 6;

/**
 * UTF-8 bytes of content for one output token. Real responses have 1.5 to 3, so estimates are too low rather than too
 * high.
 */
const BYTES_PER_ESTIMATED_TOKEN = 4;

/** Real responses have a few dozen. */
const MAX_COUNTED_BLOCKS = 100;

/** The fields that a message's row and a progress line share. */
type ResponseFacts = Pick<
  TranscriptMessage,
  'provider_message_id' | 'request_id' | 'model' | 'timestamp' | 'agent_id' | 'stop_reason' | 'line_number'
>;

/** Facts from a response's first line that later lines do not change. */
interface ResponseOrigin {
  key: string;
  source: Exclude<UsageSource, BilledApart>;
  sessionId: string;
  /** The message that is the response. */
  messageRowId: string | null;
  /** May still change, because later lines fill in a message's row. */
  facts: ResponseFacts;
  /** See `ApiResponse.turn_line`. */
  turnLine: number;
  isSubagent: boolean;
  gitBranch: string | null;
  agentVersion: string | null;
  isMarkedCopy: boolean;
  /** True if the agent made it up. */
  isSynthetic: boolean;
}

/** An API response that may get more lines. */
export interface OpenResponse extends ResponseOrigin {
  usage: Usage | undefined;
  reportedCostUsd: number | null;
  billedRequests: BilledRequest[];
  /** UTF-8 bytes that the model wrote, that the transcript shows; a lower bound. */
  contentBytes: number;
  /** The blocks counted, MAX_COUNTED_BLOCKS at most. */
  countedBlocks: { name: string; byteLength: number }[];
  /** Searches that the results of its tool uses report; used if its usage does not state any. */
  searchCount: number;
}

type UsageLine = Pick<ResponseRecord, 'usage' | 'billedRequests' | 'reportedCostUsd'>;

export function createOpenResponse(origin: ResponseOrigin): OpenResponse {
  return {
    ...origin,
    usage: undefined,
    reportedCostUsd: null,
    billedRequests: [],
    contentBytes: 0,
    countedBlocks: [],
    searchCount: 0,
  };
}

/** Takes in the usage of a line (the final figures, or those on the first line that has any). */
export function observeUsage(response: OpenResponse, line: UsageLine, usageFrom: 'first' | 'final'): void {
  response.reportedCostUsd ??= line.reportedCostUsd;
  if (line.usage === undefined || (response.usage !== undefined && usageFrom === 'first')) return;
  response.usage = response.usage === undefined ? line.usage : toFinalUsage(response.usage, line.usage);
  observeBilledRequests(response, line.billedRequests);
}

/**
 * Takes in a block that the model wrote; `name` is the tool use's id or the block's type. Transcripts repeat lines, so
 * a block with the same name and size counts as a copy.
 */
export function observeContent(
  response: Pick<OpenResponse, 'countedBlocks' | 'contentBytes'>,
  name: string,
  byteLength: number,
): void {
  const { countedBlocks } = response;
  if (countedBlocks.length >= MAX_COUNTED_BLOCKS) return;
  if (countedBlocks.some((block) => block.name === name && block.byteLength === byteLength)) return;
  countedBlocks.push({ name, byteLength });
  response.contentBytes += byteLength;
}

/** Adds the searches that tool results report if the usage does not state any. */
export function toBilledUsage({ usage, searchCount }: Pick<OpenResponse, 'usage' | 'searchCount'>): Usage | undefined {
  if (usage === undefined || usage.webSearchRequests > 0 || searchCount === 0) return usage;
  return { ...usage, webSearchRequests: Math.min(searchCount, MAX_REQUESTS_PER_RESPONSE) };
}

/** Later records of a response repeat its requests, perhaps with larger counts. */
function observeBilledRequests({ billedRequests }: OpenResponse, requests: readonly BilledRequest[]): void {
  for (const request of requests) {
    const known = billedRequests.find(
      ({ source, position }) => source === request.source && position === request.position,
    );
    if (known === undefined) {
      billedRequests.push({ ...request });
      continue;
    }
    known.model ??= request.model;
    known.usage = toFinalUsage(known.usage, request.usage);
  }
}

/**
 * True if the output count is clearly from the start of the response. No line has a stop reason, and the count is tiny,
 * or too small for what the response wrote.
 */
export function isUnfinalised({ usage, facts, contentBytes }: UnfinalisedFacts): boolean {
  return usage !== undefined && facts.stop_reason === null && isPlaceholder(usage.outputTokens, contentBytes);
}

type UnfinalisedFacts = Pick<OpenResponse, 'usage' | 'facts' | 'contentBytes'>;

/** True if a response without a stop reason has more output than its count. */
export function isPlaceholder(outputTokens: number, contentBytes: number): boolean {
  const isTiny = outputTokens > 0 && outputTokens <= MAX_PLACEHOLDER_OUTPUT_TOKENS;
  return isTiny || contentBytes > outputTokens * MAX_BYTES_PER_TOKEN;
}

/** The output of an unfinalised response, by what it wrote. */
export const estimateTokensOut = (outputTokens: number, contentBytes: number): number =>
  Math.max(outputTokens, Math.floor(contentBytes / BYTES_PER_ESTIMATED_TOKEN));

/**
 * The response that both a message and a progress line report, which is the message's, with the figures of the one that
 * has more output tokens, as the ledger chooses among copies in different transcripts.
 */
export function joinProgress(message: OpenResponse, progress: OpenResponse): OpenResponse {
  if (message.usage === undefined) return progress;
  const { model, stop_reason } = message.facts;
  const joined = {
    ...message,
    facts: {
      ...message.facts,
      model: model ?? progress.facts.model,
      stop_reason: stop_reason ?? progress.facts.stop_reason,
    },
    isSynthetic: model === null ? progress.isSynthetic : message.isSynthetic,
    contentBytes: Math.max(message.contentBytes, progress.contentBytes),
  };
  if (progress.usage === undefined || progress.usage.outputTokens <= message.usage.outputTokens) return joined;
  return { ...joined, usage: progress.usage, billedRequests: progress.billedRequests };
}

/** A line without usage, or made up by the agent, reports no API response. */
export function isApiResponse({ usage, isSynthetic }: Pick<OpenResponse, 'usage' | 'isSynthetic'>): boolean {
  return usage !== undefined && !isSynthetic;
}

/** The cost of the response; undefined if no line had its usage. */
export function priceResponse(response: OpenResponse, prices: PriceTable): Price | undefined {
  const usage = toBilledUsage(response);
  return usage === undefined ? undefined : toPrice(response, usage, prices);
}

/** The rows of the response and of the requests billed apart from it; none if it has no facts. */
export function toApiResponses(response: OpenResponse, price: Price | undefined, prices: PriceTable): ApiResponse[] {
  const usage = toBilledUsage(response);
  if (usage === undefined || price === undefined || !isApiResponse(response)) return [];
  const row = toApiResponse(response, usage, price);
  if (isUnfinalised(response)) {
    row.is_unfinalised = true;
    row.estimated_tokens_out = estimateTokensOut(usage.outputTokens, response.contentBytes);
  }
  const apart = response.billedRequests.map((request) => {
    const key = toBilledRequestKey(response.key, request);
    const facts = { ...response.facts, model: toBilledModel(request, response.facts.model) };
    const billed = { ...response, key, facts, reportedCostUsd: null };
    const requestPrice = toPrice(billed, request.usage, prices);
    return { ...toApiResponse(billed, request.usage, requestPrice), source: request.source };
  });
  return [row, ...apart];
}

/** The model of the response makes compactions, and the parts before a pause. */
function toBilledModel({ source, model }: BilledRequest, modelOfResponse: string | null): string | null {
  switch (source) {
    case 'advisor':
      return model;
    case 'fallback':
      return model ?? UNKNOWN_MODEL;
    case 'unknown':
      return UNKNOWN_MODEL;
    default:
      return model ?? modelOfResponse;
  }
}

function toPrice({ facts, reportedCostUsd }: OpenResponse, usage: Usage, prices: PriceTable): Price {
  return prices.price({ model: facts.model, timestamp: facts.timestamp, usage, reportedCostUsd });
}

function toApiResponse(response: OpenResponse, usage: Usage, { costUsd, costs, basis }: Price): ApiResponse {
  const { facts } = response;
  return {
    response_key: response.key,
    source: response.source,
    session_id: response.sessionId,
    message_id: response.messageRowId,
    provider_message_id: facts.provider_message_id,
    request_id: facts.request_id,
    model: facts.model,
    timestamp: facts.timestamp,
    turn_line: response.turnLine,
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
    request_tokens: usage.requests ?? null,
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
