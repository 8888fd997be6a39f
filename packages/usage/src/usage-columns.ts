import type { RequestTokens, ScannedResponse } from '@recount/core';

/** Integers of a copy of a response, in the order of `UsageColumns.figures`. */
const FIGURES = [
  'tokens_in',
  'tokens_out',
  'cache_read',
  'cache_write',
  'cache_write_5m',
  'cache_write_1h',
  'thinking_tokens',
  'web_search_requests',
  'web_fetch_requests',
  'estimated_tokens_out',
] as const satisfies readonly (keyof ScannedResponse)[];
export type Figure = (typeof FIGURES)[number];

/** Texts that many copies share, in the order of `UsageColumns.names`. Tokens by request, which few have, are JSON. */
const NAMES = ['model', 'git_branch', 'service_tier', 'speed', 'inference_geo', 'request_tokens'] as const;
export type Name = (typeof NAMES)[number];

export const FLAGS = { progress: 1, markedCopy: 2, subagent: 4, unfinalised: 8 } as const;

const NO_NAME = -1;

/**
 * Copies of API responses, stored by column. A history of gigabytes has hundreds of thousands. As objects they would
 * take several times the memory, and minutes to pass between threads and to save.
 */
export interface UsageColumns {
  keys: string[];
  /** FIGURES.length for each copy. */
  figures: Int32Array;
  /** NAMES.length for each copy, as an index into `texts`, or -1. */
  names: Int32Array;
  texts: string[];
  /** Milliseconds since 1970; NaN without a time. */
  timesMs: Float64Array;
  /** NaN if the agent reports none. */
  reportedCostsUsd: Float64Array;
  flags: Uint8Array;
}

const INITIAL_CAPACITY = 1024;

/** Responses by column, which grow as they are added. */
export class UsageColumnsWriter {
  #capacity = 0;
  #columns: UsageColumns;
  #count = 0;
  readonly #indexOfText = new Map<string, number>();

  constructor() {
    this.#columns = emptyColumns();
  }

  get count(): number {
    return this.#count;
  }

  /** The time is in milliseconds since 1970, NaN without one. */
  add(response: ScannedResponse, timeMs: number): void {
    this.#reserve(this.#count + 1);
    this.#columns.keys.push(response.response_key);
    for (let i = 0; i < FIGURES.length; i++) {
      this.#columns.figures[this.#count * FIGURES.length + i] = response[FIGURES[i] as Figure] ?? 0;
    }
    for (let i = 0; i < NAMES.length; i++) {
      this.#columns.names[this.#count * NAMES.length + i] = this.#toTextIndex(toText(response, NAMES[i] as Name));
    }
    this.#columns.timesMs[this.#count] = timeMs;
    this.#columns.reportedCostsUsd[this.#count] = response.reported_cost_usd ?? Number.NaN;
    this.#columns.flags[this.#count] =
      (response.source === 'progress' ? FLAGS.progress : 0) |
      (response.is_marked_copy ? FLAGS.markedCopy : 0) |
      (response.is_subagent ? FLAGS.subagent : 0) |
      (response.is_unfinalised ? FLAGS.unfinalised : 0);
    this.#count++;
  }

  /** Adds copies from other columns, from index `from` up to, not including, `to`. */
  addRange(other: UsageColumns, from: number, to: number): void {
    this.#reserve(this.#count + to - from);
    for (let index = from; index < to; index++) this.#columns.keys.push(other.keys[index] ?? '');
    this.#columns.figures.set(
      other.figures.subarray(from * FIGURES.length, to * FIGURES.length),
      this.#count * FIGURES.length,
    );
    this.#columns.timesMs.set(other.timesMs.subarray(from, to), this.#count);
    this.#columns.reportedCostsUsd.set(other.reportedCostsUsd.subarray(from, to), this.#count);
    this.#columns.flags.set(other.flags.subarray(from, to), this.#count);
    const textIndexes = other.texts.map(this.#toTextIndex);
    for (let index = 0; index < (to - from) * NAMES.length; index++) {
      const name = other.names[from * NAMES.length + index] ?? NO_NAME;
      this.#columns.names[this.#count * NAMES.length + index] = textIndexes[name] ?? NO_NAME;
    }
    this.#count += to - from;
  }

  toColumns(): UsageColumns {
    return {
      ...this.#columns,
      figures: this.#columns.figures.slice(0, this.#count * FIGURES.length),
      names: this.#columns.names.slice(0, this.#count * NAMES.length),
      timesMs: this.#columns.timesMs.slice(0, this.#count),
      reportedCostsUsd: this.#columns.reportedCostsUsd.slice(0, this.#count),
      flags: this.#columns.flags.slice(0, this.#count),
    };
  }

  #reserve(needed: number): void {
    if (needed <= this.#capacity) return;
    this.#capacity = Math.max(INITIAL_CAPACITY, 2 * this.#capacity, needed);
    const grow = <T extends Int32Array | Float64Array | Uint8Array>(larger: T, from: T): T => {
      larger.set(from);
      return larger;
    };
    this.#columns = {
      ...this.#columns,
      figures: grow(new Int32Array(this.#capacity * FIGURES.length), this.#columns.figures),
      names: grow(new Int32Array(this.#capacity * NAMES.length), this.#columns.names),
      timesMs: grow(new Float64Array(this.#capacity), this.#columns.timesMs),
      reportedCostsUsd: grow(new Float64Array(this.#capacity), this.#columns.reportedCostsUsd),
      flags: grow(new Uint8Array(this.#capacity), this.#columns.flags),
    };
  }

  readonly #toTextIndex = (text: string | null | undefined): number => {
    if (text === null || text === undefined) return NO_NAME;
    let index = this.#indexOfText.get(text);
    if (index === undefined) {
      index = this.#columns.texts.push(text) - 1;
      this.#indexOfText.set(text, index);
    }
    return index;
  };
}

function toText(response: ScannedResponse, name: Name): string | null {
  const value = response[name];
  return value === null || typeof value === 'string' ? value : JSON.stringify(value);
}

function emptyColumns(): UsageColumns {
  return {
    keys: [],
    figures: new Int32Array(0),
    names: new Int32Array(0),
    texts: [],
    timesMs: new Float64Array(0),
    reportedCostsUsd: new Float64Array(0),
    flags: new Uint8Array(0),
  };
}

/** A figure of a copy. */
export const figureAt = (columns: UsageColumns, index: number, figure: Figure): number =>
  columns.figures[index * FIGURES.length + FIGURE_INDEX[figure]] ?? 0;

/** A name of a copy, or null. */
export const nameAt = (columns: UsageColumns, index: number, name: Name): string | null =>
  columns.texts[columns.names[index * NAMES.length + NAME_INDEX[name]] ?? NO_NAME] ?? null;

/** The tokens of each request of a copy, if it took several. */
export function requestsAt(columns: UsageColumns, index: number): readonly RequestTokens[] | undefined {
  const text = nameAt(columns, index, 'request_tokens');
  return text === null ? undefined : (JSON.parse(text) as RequestTokens[]);
}

export const hasFlag = (columns: UsageColumns, index: number, flag: keyof typeof FLAGS): boolean =>
  ((columns.flags[index] ?? 0) & FLAGS[flag]) !== 0;

const FIGURE_INDEX = Object.fromEntries(FIGURES.map((figure, index) => [figure, index])) as Record<Figure, number>;
const NAME_INDEX = Object.fromEntries(NAMES.map((name, index) => [name, index])) as Record<Name, number>;
