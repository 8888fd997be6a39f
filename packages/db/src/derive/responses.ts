import {
  type ApiResponse,
  type ComparedCopy,
  CREDIT_ORDER,
  compareCopies,
  FIGURE_ORDER,
  toComparison,
  UNKNOWN_MODEL,
} from '@recount/core';
import { type ColdCacheState, findColdCaches, NO_COLD_CACHES } from './cold-caches.ts';
import type { DerivedOrigin, DerivedRows } from './derived-rows.ts';
import { compareBytes } from './keys.ts';

type LedgerRow = DerivedRows['ledger'][number];

/** All entries of one response in the order of the transcript; nearly always one. */
type Copies = ApiResponse | ApiResponse[];

/** A response in place of those that it replaces. */
interface Settled {
  now: ApiResponse;
  /** The same before another entry was added; undefined if that was the first. */
  before: ApiResponse | undefined;
}

/** Responses that are final. No other entries of them are expected. */
export interface ResponseState {
  /** Ends of their keys. */
  closedKeys: Set<string>;
  coldCaches: ColdCacheState;
}

const NO_STATE: Readonly<ResponseState> = { closedKeys: new Set(), coldCaches: NO_COLD_CACHES };

/** Keeps each response of a transcript once. Several entries of one are settled by the rules of core's `ledger/`. */
export class ResponseDeriver {
  readonly #origin: DerivedOrigin;
  readonly #before: ResponseState;
  readonly #copies = new Map<string, Copies>();
  #isExact = true;

  constructor(origin: DerivedOrigin, before: ResponseState = NO_STATE) {
    this.#origin = origin;
    this.#before = before;
  }

  get count(): number {
    return this.#before.closedKeys.size + this.#copies.size;
  }

  /** False if a response has another entry that came before the state. */
  get isExact(): boolean {
    return this.#isExact;
  }

  /** The state once all responses so far are final; undefined if they came in another order than their times. */
  toState(): ResponseState | undefined {
    const coldCaches = this.findColdCaches();
    if (coldCaches === undefined) return undefined;
    return {
      closedKeys: new Set([...this.#before.closedKeys, ...[...this.#copies.keys()].map(abbreviate)]),
      coldCaches,
    };
  }

  findColdCaches(): ColdCacheState | undefined {
    return findColdCaches(this.#listCounted(), this.#before.coldCaches);
  }

  add(response: ApiResponse): Settled {
    if (this.#before.closedKeys.size > 0 && this.#before.closedKeys.has(abbreviate(response.response_key))) {
      this.#isExact = false;
    }
    const known = this.#copies.get(response.response_key);
    if (known === undefined) {
      this.#copies.set(response.response_key, response);
      return { now: response, before: undefined };
    }
    const copies = [...toList(known), response];
    this.#copies.set(response.response_key, copies);
    return { now: toCounted(copies), before: toCounted(toList(known)) };
  }

  /** Each response as it counts, with the figures of its final entry. */
  *#listCounted(): Generator<ApiResponse> {
    for (const copies of this.#copies.values()) yield Array.isArray(copies) ? toCounted(copies) : copies;
  }

  toLedger(): LedgerRow[] {
    return Array.from(this.#copies.values(), (copies) => this.#toLedgerRow(toList(copies)));
  }

  toKeys(): string[] {
    return [...this.#copies.keys()].sort(compareBytes);
  }

  #toLedgerRow(copies: readonly ApiResponse[]): LedgerRow {
    const { workspaceId, rowSetId, agent, priceVersion, isStream } = this.#origin;
    const { is_marked_copy: _mark, line_number: _line, ...response } = toCounted(copies);
    const disagreement =
      copies.length > 1 ? compareCopies(copies.map((copy) => toCompared(copy, isStream))) : undefined;
    return {
      ...response,
      workspace_id: workspaceId,
      row_set_id: rowSetId,
      agent,
      price_version: priceVersion,
      copy_count: copies.length,
      disagreements: disagreement?.facts ?? null,
      lowest_cost_usd: disagreement?.lowestCostUsd ?? null,
      highest_cost_usd: disagreement?.highestCostUsd ?? null,
    };
  }
}

/** Ids differ at their ends. If two keys had the same end, SQL would derive the rows. */
const abbreviate = (key: string): string => key.slice(-MAX_KEY_END);

const MAX_KEY_END = 28;

const toList = (copies: Copies): ApiResponse[] => (Array.isArray(copies) ? copies : [copies]);

interface NumberedCopy {
  copy: ApiResponse;
  entryNumber: number;
}

/** Facts of the transcript are the same for all of its entries. */
const compareCredit = toComparison(CREDIT_ORDER, {
  isProgress: ({ copy }: NumberedCopy) => copy.source === 'progress',
  isStream: () => false,
  timestamp: ({ copy }) => copy.timestamp,
  isMarkedCopy: ({ copy }) => copy.is_marked_copy,
  isSubagent: ({ copy }) => copy.is_subagent,
  firstTimestamp: () => null,
  sessionId: () => null,
  sizeBytes: () => null,
  file: () => null,
  entryNumber: ({ entryNumber }) => entryNumber,
});

const compareFigures = toComparison(FIGURE_ORDER, {
  isUnfinalised: ({ copy }: NumberedCopy) => copy.is_unfinalised,
  outputTokens: ({ copy }) => copy.tokens_out,
  inputTokens: ({ copy }) => copy.tokens_in + copy.cache_read + copy.cache_write,
  webSearchRequests: ({ copy }) => copy.web_search_requests,
  isModelUnknown: ({ copy }) => copy.model === UNKNOWN_MODEL,
  costUsd: ({ copy }) => copy.cost_usd,
});

/** The origin of the credited entry with the figures of the final one, and the first line of all. */
function toCounted(copies: readonly ApiResponse[]): ApiResponse {
  const [first, ...others] = copies.map((copy, entryNumber) => ({ copy, entryNumber }));
  if (first === undefined) throw new RangeError('A response has at least one entry');
  if (others.length === 0) return first.copy;
  let [credited, final] = [first, first];
  for (const other of others) {
    if (compareCredit(other, credited) < 0) credited = other;
    if ((compareFigures(other, final) || compareCredit(other, final)) < 0) final = other;
  }
  const { message_id, source, timestamp, is_subagent, agent_id, git_branch, agent_version } = credited.copy;
  const line_number = Math.min(...copies.map((copy) => copy.line_number));
  return {
    ...final.copy,
    ...{ message_id, source, timestamp, is_subagent, agent_id, git_branch, agent_version, line_number },
  };
}

function toCompared(copy: ApiResponse, isStream: boolean): ComparedCopy {
  return {
    model: copy.model,
    timestampMs: copy.timestamp === null ? null : Date.parse(copy.timestamp),
    isUnfinalised: copy.is_unfinalised,
    isStream,
    costUsd: copy.cost_usd,
    usage: {
      inputTokens: copy.tokens_in,
      outputTokens: copy.tokens_out,
      cacheReadTokens: copy.cache_read,
      cacheWriteTokens: copy.cache_write,
      cacheWrite5mTokens: copy.cache_write_5m,
      cacheWrite1hTokens: copy.cache_write_1h,
      webSearchRequests: copy.web_search_requests,
      webFetchRequests: copy.web_fetch_requests,
      thinkingTokens: copy.thinking_tokens,
      serviceTier: copy.service_tier,
      speed: copy.speed,
      inferenceGeo: copy.inference_geo,
    },
  };
}
