import type { ApiResponse, RequestTokens } from '@recount/core';

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
] as const satisfies readonly (keyof ApiResponse)[];
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

interface UsageColumnsWriter {
  readonly count: number;
  add(response: ApiResponse): void;
  /** Adds copies from other columns, from index `from` up to, not including, `to`. */
  addRange(columns: UsageColumns, from: number, to: number): void;
  toColumns(): UsageColumns;
}

const INITIAL_CAPACITY = 1024;

export function createUsageColumns(): UsageColumnsWriter {
  let capacity = 0;
  let columns = emptyColumns();
  let count = 0;
  const indexOfText = new Map<string, number>();

  const reserve = (needed: number): void => {
    if (needed <= capacity) return;
    capacity = Math.max(INITIAL_CAPACITY, 2 * capacity, needed);
    const grow = <T extends Int32Array | Float64Array | Uint8Array>(larger: T, from: T): T => {
      larger.set(from);
      return larger;
    };
    columns = {
      ...columns,
      figures: grow(new Int32Array(capacity * FIGURES.length), columns.figures),
      names: grow(new Int32Array(capacity * NAMES.length), columns.names),
      timesMs: grow(new Float64Array(capacity), columns.timesMs),
      reportedCostsUsd: grow(new Float64Array(capacity), columns.reportedCostsUsd),
      flags: grow(new Uint8Array(capacity), columns.flags),
    };
  };

  const toTextIndex = (text: string | null | undefined): number => {
    if (text === null || text === undefined) return NO_NAME;
    let index = indexOfText.get(text);
    if (index === undefined) {
      index = columns.texts.push(text) - 1;
      indexOfText.set(text, index);
    }
    return index;
  };

  return {
    get count() {
      return count;
    },
    add(response) {
      reserve(count + 1);
      columns.keys.push(response.response_key);
      for (let i = 0; i < FIGURES.length; i++) {
        columns.figures[count * FIGURES.length + i] = response[FIGURES[i] as Figure] ?? 0;
      }
      for (let i = 0; i < NAMES.length; i++) {
        columns.names[count * NAMES.length + i] = toTextIndex(toText(response, NAMES[i] as Name));
      }
      columns.timesMs[count] = response.timestamp === null ? Number.NaN : Date.parse(response.timestamp);
      columns.reportedCostsUsd[count] = response.reported_cost_usd ?? Number.NaN;
      columns.flags[count] =
        (response.source === 'progress' ? FLAGS.progress : 0) |
        (response.is_marked_copy ? FLAGS.markedCopy : 0) |
        (response.is_subagent ? FLAGS.subagent : 0) |
        (response.is_unfinalised ? FLAGS.unfinalised : 0);
      count++;
    },
    addRange(other, from, to) {
      reserve(count + to - from);
      for (let index = from; index < to; index++) columns.keys.push(other.keys[index] ?? '');
      columns.figures.set(other.figures.subarray(from * FIGURES.length, to * FIGURES.length), count * FIGURES.length);
      columns.timesMs.set(other.timesMs.subarray(from, to), count);
      columns.reportedCostsUsd.set(other.reportedCostsUsd.subarray(from, to), count);
      columns.flags.set(other.flags.subarray(from, to), count);
      const textIndexes = other.texts.map(toTextIndex);
      for (let index = 0; index < (to - from) * NAMES.length; index++) {
        const name = other.names[from * NAMES.length + index] ?? NO_NAME;
        columns.names[count * NAMES.length + index] = textIndexes[name] ?? NO_NAME;
      }
      count += to - from;
    },
    toColumns: () => ({
      ...columns,
      figures: columns.figures.slice(0, count * FIGURES.length),
      names: columns.names.slice(0, count * NAMES.length),
      timesMs: columns.timesMs.slice(0, count),
      reportedCostsUsd: columns.reportedCostsUsd.slice(0, count),
      flags: columns.flags.slice(0, count),
    }),
  };
}

function toText(response: ApiResponse, name: Name): string | null {
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
