import type { AnswerLine, AnswerPart, DirectSink } from '../agents/agent.ts';
import type { JsonValue } from '../lines/json.ts';
import { readIdentifier } from '../records/fields.ts';
import type { ApiResponse } from '../records/rows.ts';
import { toFinalUsage } from '../records/usage.ts';
import { toKnownModel } from './message-rows.ts';
import { estimateTokensOut, isPlaceholder, observeContent, toBilledUsage } from './open-response.ts';

/** The facts of an API response that a scan for usage needs. */
export type ScannedResponse = Pick<
  ApiResponse,
  | ('response_key' | 'source' | 'is_subagent' | 'is_marked_copy' | 'is_unfinalised')
  | ('model' | 'git_branch' | 'service_tier' | 'speed' | 'inference_geo' | 'request_tokens')
  | ('tokens_in' | 'tokens_out' | 'cache_read' | 'cache_write' | 'cache_write_5m' | 'cache_write_1h')
  | ('thinking_tokens' | 'web_search_requests' | 'web_fetch_requests')
  | ('estimated_tokens_out' | 'reported_cost_usd')
>;

/** With its time in milliseconds since 1970, because most of them need no text. */
export type DirectlyScanned = ScannedResponse & { timestampMs: number | undefined };

/** A longer transcript takes the memory that the assembly bounds. */
const MAX_RESPONSES = 50_000;
const MAX_RESULTS = 10_000;

interface DirectResponse extends Omit<AnswerLine, 'written' | 'searchCallIds'> {
  /** Among all messages and responses of the transcript. */
  position: number;
  countedBlocks: { name: string; byteLength: number }[];
  contentBytes: number;
  searchCount: number;
}

/**
 * Puts the lines of a transcript's responses together, with the results of `MessageAssembler` for ordinary
 * transcripts, and without rows in between. Refuses what depends on the bounds of its window.
 */
export class DirectResponses implements DirectSink {
  readonly #maxOpenMessages: number;
  readonly #responses = new Map<string, DirectResponse>();
  /** Responses whose usage has not come, by their groups. */
  readonly #unnamed = new Map<string, DirectResponse>();
  /** Calls that wait for their results. */
  readonly #searches = new Map<string, DirectResponse>();
  readonly #searchIds = new Set<string>();
  readonly #resultIds = new Set<string>();
  #itemCount = 0;
  #hasUnmetered = false;
  #cwd: string | null = null;
  #version: string | null = null;
  #firstMs: number | undefined;

  constructor(maxOpenMessages: number) {
    this.#maxOpenMessages = maxOpenMessages;
  }

  hasOrigin(): boolean {
    return this.#cwd !== null && this.#firstMs !== undefined;
  }

  awaitsSearches(): boolean {
    return this.#searches.size > 0;
  }

  addLine(timestampMs: number | undefined): void {
    if (timestampMs !== undefined && (this.#firstMs === undefined || timestampMs < this.#firstMs))
      this.#firstMs = timestampMs;
  }

  addSessionFacts(cwd: JsonValue | undefined, version: JsonValue | undefined): void {
    this.#cwd ??= readIdentifier(cwd, ignoreCut);
    this.#version ??= readIdentifier(version, ignoreCut);
  }

  addMessage(results: readonly { callId: string; searchCount: number }[]): boolean {
    this.#itemCount++;
    for (const { callId, searchCount } of results) {
      const response = this.#searches.get(callId);
      if (response === undefined) {
        if (!this.#searchIds.has(callId)) this.#resultIds.add(callId);
        continue;
      }
      if (this.#isLate(response)) return false;
      this.#searches.delete(callId);
      response.searchCount += searchCount;
    }
    return this.#resultIds.size <= MAX_RESULTS;
  }

  addAnswer(line: AnswerLine): boolean {
    const response = this.#responses.get(line.responseId);
    if (response === undefined) return this.#begin(line);
    if (this.#isLate(response)) return false;
    if (response.source !== line.source) return this.#tell(response, line);
    if (line.source === 'progress') response.timestampMs ??= line.timestampMs;
    else {
      if (response.model === null) response.isSynthetic = line.isSynthetic;
      observeTime(response, line.timestampMs);
    }
    response.model = toKnownModel(response.model, line.model);
    response.stopReason = line.stopReason ?? response.stopReason;
    response.reportedCostUsd ??= line.reportedCostUsd;
    if (line.usage !== undefined)
      response.usage = response.usage === undefined ? line.usage : toFinalUsage(response.usage, line.usage);
    return this.#addContent(response, line);
  }

  addPart(group: string, part: AnswerPart): boolean {
    const response = this.#unnamed.get(group);
    if (response === undefined) {
      this.#unnamed.set(group, this.#hold({ ...NO_ANSWER, ...part }));
      return this.#unnamed.size <= MAX_RESPONSES;
    }
    observeTime(response, part.timestampMs);
    response.model = toKnownModel(response.model, part.model);
    return !this.#isLate(response);
  }

  addUsage(group: string | null, line: AnswerLine): boolean {
    const response = group === null ? undefined : this.#unnamed.get(group);
    if (group === null || response === undefined) return this.addAnswer(line);
    if (this.#isLate(response)) return false;
    this.#unnamed.delete(group);
    const { responseId, stopReason, usage } = line;
    // The parts are then a copy of the ones that have been counted.
    const known = this.#responses.get(responseId);
    if (known !== undefined) return known.source === 'message';
    response.isMarkedCopy ||= line.isMarkedCopy;
    this.#responses.set(
      responseId,
      Object.assign(response, { responseId, stopReason, usage, model: toKnownModel(response.model, line.model) }),
    );
    return this.#responses.size <= MAX_RESPONSES;
  }

  addUnmetered(): boolean {
    this.#itemCount++;
    this.#hasUnmetered = true;
    return true;
  }

  #begin({ written, searchCallIds, ...line }: AnswerLine): boolean {
    const response = this.#hold(line);
    this.#responses.set(line.responseId, response);
    return this.#responses.size <= MAX_RESPONSES && this.#addContent(response, { written, searchCallIds });
  }

  #hold(line: Omit<AnswerLine, 'written' | 'searchCallIds'>): DirectResponse {
    return { ...line, position: this.#itemCount++, countedBlocks: [], contentBytes: 0, searchCount: 0 };
  }

  /** A finished message whose usage, without the message, came first. Refuses others from two sources. */
  #tell(response: DirectResponse, line: AnswerLine): boolean {
    const isFinished = line.source === 'message' && line.stopReason !== null && line.searchCallIds.length === 0;
    const isTold = isFinished && line.model !== null && line.usage?.outputTokens === response.usage?.outputTokens;
    return isTold && line.usage !== undefined && this.#begin(line);
  }

  #addContent(response: DirectResponse, { written, searchCallIds }: Pick<AnswerLine, 'written' | 'searchCallIds'>) {
    if (response.stopReason === null)
      for (const { name, byteLength } of written) observeContent(response, name, byteLength);
    for (const id of searchCallIds) {
      if (this.#resultIds.has(id)) return false;
      if (this.#searchIds.has(id)) continue;
      this.#searchIds.add(id);
      this.#searches.set(id, response);
    }
    return this.#searchIds.size <= MAX_RESULTS;
  }

  /** The window may have closed the response. */
  #isLate({ position }: DirectResponse): boolean {
    return this.#itemCount - position >= this.#maxOpenMessages;
  }

  finish() {
    const all = [...this.#responses.values()].sort((one, other) => one.position - other.position);
    const responses = all.filter(({ isSynthetic }) => !isSynthetic).flatMap(toScannedResponse);
    const hasUnmetered = this.#hasUnmetered || this.#unnamed.size > 0 || all.some(({ usage }) => usage === undefined);
    const isWithoutUsage = hasUnmetered && responses.length === 0;
    return {
      responses,
      isWithoutUsage,
      project: this.#cwd,
      firstTimestampMs: this.#firstMs,
      agentVersion: this.#version,
    };
  }
}

/** Fields of a part's response that its usage fills in. */
const NO_ANSWER = {
  responseId: '',
  source: 'message',
  isSynthetic: false,
  stopReason: null,
  usage: undefined,
  reportedCostUsd: null,
} as const;

function observeTime(response: DirectResponse, timestampMs = Number.POSITIVE_INFINITY): void {
  if (timestampMs < (response.timestampMs ?? Number.POSITIVE_INFINITY)) response.timestampMs = timestampMs;
}

/** The cut is reported when the same field is stored in a row. */
function ignoreCut(): void {}

function toScannedResponse(response: DirectResponse): DirectlyScanned[] {
  const { responseId, contentBytes } = response;
  const usage = toBilledUsage(response);
  if (usage === undefined) return [];
  const { outputTokens } = usage;
  const is_unfinalised = response.stopReason === null && isPlaceholder(outputTokens, contentBytes);
  const scanned = {
    response_key: responseId,
    source: response.source,
    timestampMs: response.timestampMs,
    is_subagent: response.isSubagent,
    is_marked_copy: response.isMarkedCopy,
    is_unfinalised,
    model: response.model,
    git_branch: response.gitBranch,
    service_tier: usage.serviceTier,
    speed: usage.speed,
    inference_geo: usage.inferenceGeo,
    request_tokens: null,
    tokens_in: usage.inputTokens,
    tokens_out: outputTokens,
    cache_read: usage.cacheReadTokens,
    cache_write: usage.cacheWriteTokens,
    cache_write_5m: usage.cacheWrite5mTokens,
    cache_write_1h: usage.cacheWrite1hTokens,
    thinking_tokens: usage.thinkingTokens,
    web_search_requests: usage.webSearchRequests,
    web_fetch_requests: usage.webFetchRequests,
    estimated_tokens_out: is_unfinalised ? estimateTokensOut(outputTokens, contentBytes) : null,
    reported_cost_usd: response.reportedCostUsd,
  };
  return [scanned];
}
