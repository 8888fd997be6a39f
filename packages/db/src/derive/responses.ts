import type { ApiResponse } from '@recount/core';
import { type ColdCacheState, findColdCaches, NO_COLD_CACHES } from './cold-caches.ts';
import { findDisagreement, type ResponseCopy, settleCopies } from './copies.ts';
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
    const { isStream } = this.#origin;
    return { now: toCounted(copies, isStream), before: toCounted(toList(known), isStream) };
  }

  /** Each response as it counts, with the figures of its final entry. */
  *#listCounted(): Generator<ApiResponse> {
    for (const copies of this.#copies.values())
      yield Array.isArray(copies) ? toCounted(copies, this.#origin.isStream) : copies;
  }

  toLedger(): LedgerRow[] {
    return Array.from(this.#copies.values(), (copies) => this.#toLedgerRow(toList(copies)));
  }

  toKeys(): string[] {
    return [...this.#copies.keys()].sort(compareBytes);
  }

  #toLedgerRow(copies: readonly ApiResponse[]): LedgerRow {
    const { workspaceId, rowSetId, agent, priceVersion, isStream } = this.#origin;
    const { is_marked_copy: _mark, line_number: _line, ...response } = toCounted(copies, isStream);
    const disagreement = findDisagreement(copies.map((copy, number) => toCopy(copy, number, isStream)));
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

/** Facts of the transcript are the same for all of its entries. */
const toCopy = (response: ApiResponse, entryNumber: number, isStream: boolean): ResponseCopy => ({
  ...{ response, entryNumber, isStream },
  ...{ firstTimestamp: null, sizeBytes: 0, sha256: '' },
});

/** The origin of the credited entry with the figures of the final one, and the first line of all. */
function toCounted(copies: readonly ApiResponse[], isStream: boolean): ApiResponse {
  const [first, another] = copies;
  if (first !== undefined && another === undefined) return first;
  const { credited, final } = settleCopies(copies.map((copy, number) => toCopy(copy, number, isStream)));
  const { message_id, source, timestamp, is_subagent, agent_id, git_branch, agent_version, turn_line } = credited;
  const line_number = Math.min(...copies.map((copy) => copy.line_number));
  return {
    ...final,
    ...{ message_id, source, timestamp, is_subagent, agent_id, git_branch, agent_version, turn_line, line_number },
  };
}
