import {
  type ApiResponse,
  type ComparedCopy,
  type CopyDisagreement,
  CREDIT_ORDER,
  compareCopies,
  FIGURE_ORDER,
  toComparison,
  UNKNOWN_MODEL,
} from '@recount/core';

/** A copy of a response, with the facts of its transcript that decide which copy counts. */
export interface ResponseCopy<Response extends ApiResponse = ApiResponse> {
  response: Response;
  entryNumber: number;
  isStream: boolean;
  /** Earliest time of its transcript, ISO 8601. */
  firstTimestamp: string | null;
  sizeBytes: number;
  sha256: string;
}

/** Sorts copies of a response by credit, best first. */
export const compareCredit: (one: ResponseCopy, other: ResponseCopy) => number = toComparison(CREDIT_ORDER, {
  isProgress: ({ response }: ResponseCopy) => response.source === 'progress',
  isStream: ({ isStream }) => isStream,
  timestamp: ({ response }) => response.timestamp,
  isMarkedCopy: ({ response }) => response.is_marked_copy,
  isSubagent: ({ response }) => response.is_subagent,
  firstTimestamp: ({ firstTimestamp }) => firstTimestamp,
  sessionId: ({ response }) => response.session_id,
  sizeBytes: ({ sizeBytes }) => sizeBytes,
  file: ({ sha256 }) => sha256,
  entryNumber: ({ entryNumber }) => entryNumber,
});

const compareFigures = toComparison(FIGURE_ORDER, {
  isUnfinalised: ({ response }: ResponseCopy) => response.is_unfinalised,
  outputTokens: ({ response }) => response.tokens_out,
  inputTokens: ({ response }) => response.tokens_in + response.cache_read + response.cache_write,
  webSearchRequests: ({ response }) => response.web_search_requests,
  isModelUnknown: ({ response }) => response.model === UNKNOWN_MODEL,
  costUsd: ({ response }) => response.cost_usd,
});

/** A response as it counts: where it was made, from one copy, and its figures, from another or the same. */
export interface SettledCopies<Response extends ApiResponse> {
  credited: Response;
  final: Response;
}

/** Chooses among the copies of a response by the rules of core's `ledger/`. There is at least one. */
export function settleCopies<Response extends ApiResponse>(
  copies: readonly ResponseCopy<Response>[],
): SettledCopies<Response> {
  const [first, ...others] = copies;
  if (first === undefined) throw new RangeError('A response has at least one copy');
  let [credited, final] = [first, first];
  for (const other of others) {
    if (compareCredit(other, credited) < 0) credited = other;
    if ((compareFigures(other, final) || compareCredit(other, final)) < 0) final = other;
  }
  return { credited: credited.response, final: final.response };
}

/** The facts that the copies disagree about; undefined if they agree. */
export const findDisagreement = (copies: readonly ResponseCopy[]): CopyDisagreement | undefined =>
  copies.length > 1 ? compareCopies(copies.map(toCompared)) : undefined;

function toCompared({ response, isStream }: ResponseCopy): ComparedCopy {
  return {
    model: response.model,
    timestampMs: response.timestamp === null ? null : Date.parse(response.timestamp),
    isUnfinalised: response.is_unfinalised,
    isStream,
    costUsd: response.cost_usd,
    usage: {
      inputTokens: response.tokens_in,
      outputTokens: response.tokens_out,
      cacheReadTokens: response.cache_read,
      cacheWriteTokens: response.cache_write,
      cacheWrite5mTokens: response.cache_write_5m,
      cacheWrite1hTokens: response.cache_write_1h,
      webSearchRequests: response.web_search_requests,
      webFetchRequests: response.web_fetch_requests,
      thinkingTokens: response.thinking_tokens,
      serviceTier: response.service_tier,
      speed: response.speed,
      inferenceGeo: response.inference_geo,
    },
  };
}
