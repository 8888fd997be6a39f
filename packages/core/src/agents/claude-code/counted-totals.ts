import type { JsonObject } from '../../lines/json.ts';
import { cutCharacters, isJsonObject, MAX_REPORTED_TOKENS, readCount, readObject } from '../../records/fields.ts';
import type { ResponseRecord } from '../../records/records.ts';
import type { ReaderContext } from '../agent.ts';
import { compareTotal } from '../compare-total.ts';

/** Latest responses that may get more lines; older ones are summed by model. */
const MAX_LATEST = 1000;
/** Models of a session; those beyond are not compared. */
const MAX_MODELS = 64;
const MAX_MODEL_LENGTH = 64;

/** Input, output, cache reads, cache writes. */
type Tokens = readonly [number, number, number, number];

const CLASSES = [
  ['inputTokens', 'Input tokens'],
  ['outputTokens', 'Output tokens'],
  ['cacheReadInputTokens', 'Cache read tokens'],
  ['cacheCreationInputTokens', 'Cache write tokens'],
] as const;
const NONE: Tokens = [0, 0, 0, 0];

interface Counted {
  model: string;
  timestampMs: number | undefined;
  tokens: Tokens;
}

interface Mismatch {
  what: string;
  stated: number;
  counted: number;
}

/** The usage of a transcript's responses, to compare it with the agent's own totals by model. */
export interface CountedTotalsState {
  latest: Map<string, Counted>;
  /** Sums by model of responses that are no longer among the latest, and the times between which they were made. */
  older: Map<string, Tokens>;
  olderMs: { first: number; last: number };
  /** The total that was stated last, by model. */
  stated: Map<string, Tokens>;
  /** Lines were copied from another session, or a total began again. Totals then lack what was counted before. */
  isExplained: boolean;
  /** The excess over the last total. */
  mismatches: Mismatch[];
}

export function createCountedTotalsState(): CountedTotalsState {
  return {
    ...{ latest: new Map(), older: new Map(), stated: new Map() },
    ...{ olderMs: { first: Infinity, last: -Infinity }, isExplained: false, mismatches: [] },
  };
}

export function observeResponse(record: ResponseRecord, state: CountedTotalsState): void {
  const { usage, model, timestampMs, isSynthetic } = record;
  const id = record.responseId ?? record.uuid;
  state.isExplained ||= record.isMarkedCopy;
  if (usage === undefined || model === null || isSynthetic || id === null) return;
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = usage;
  const tokens: Tokens = [inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens];
  const known = state.latest.get(id);
  state.latest.set(id, {
    model: toModelName(model),
    timestampMs: known?.timestampMs ?? timestampMs,
    tokens: known === undefined ? tokens : combine(known.tokens, tokens, Math.max),
  });
  if (state.latest.size > MAX_LATEST) fold(state);
}

function fold({ latest, older, olderMs }: CountedTotalsState): void {
  const [oldest] = latest;
  if (oldest === undefined) return;
  const [id, { model, timestampMs, tokens }] = oldest;
  latest.delete(id);
  if (older.size >= MAX_MODELS && !older.has(model)) return;
  older.set(model, combine(older.get(model) ?? NONE, tokens, add));
  olderMs.first = Math.min(olderMs.first, timestampMs ?? -Infinity);
  olderMs.last = Math.max(olderMs.last, timestampMs ?? Infinity);
}

/**
 * Compares the responses so far with the total by model of a `cost-state` or `result` line. The total may be larger,
 * because it includes sub-agents with separate files, and requests that no line shows, such as compactions. It begins
 * at `startTime`, if the line has one.
 */
export function compareStatedTotal(line: JsonObject, state: CountedTotalsState): void {
  const stated = toStatedTokens(line);
  if (stated.size === 0) return;
  const startMs = typeof line.startTime === 'number' ? line.startTime : undefined;
  const hasBegunAgain = [...state.stated].some(([model, before]) => isLess(stated.get(model) ?? NONE, before));
  state.isExplained ||= startMs === undefined && hasBegunAgain;
  state.stated = stated;
  state.mismatches = [];
  const counted = state.isExplained ? undefined : sumSince(startMs, state);
  if (counted === undefined) return;
  const isNamed = [...counted.keys()].every((model) => stated.has(model));
  const [ours, theirs] = isNamed ? [counted, stated] : [toWhole(counted), toWhole(stated)];
  for (const [model, tokens] of ours) {
    for (const [index, [, label]] of CLASSES.entries()) {
      const count = tokens[index] ?? 0;
      const total = theirs.get(model)?.[index] ?? 0;
      if (count > total) state.mismatches.push({ what: `${label} of ${model}`, stated: total, counted: count });
    }
  }
}

export function reportMismatches({ mismatches }: CountedTotalsState, context: Pick<ReaderContext, 'report'>): void {
  for (const { what, stated, counted } of mismatches) compareTotal(what, stated, counted, context);
}

/** Undefined if the total began between responses that are only known together. */
function sumSince(startMs: number | undefined, state: CountedTotalsState): Map<string, Tokens> | undefined {
  const { first, last } = state.olderMs;
  const isOlderWhole = startMs === undefined || startMs <= first;
  if (state.older.size > 0 && !isOlderWhole && startMs <= last) return undefined;
  const sums = new Map(isOlderWhole ? state.older : []);
  for (const { model, timestampMs, tokens } of state.latest.values()) {
    if (startMs !== undefined && (timestampMs === undefined || timestampMs < startMs)) continue;
    sums.set(model, combine(sums.get(model) ?? NONE, tokens, add));
  }
  return sums;
}

function toStatedTokens({ modelUsage }: JsonObject): Map<string, Tokens> {
  const stated = new Map<string, Tokens>();
  for (const [name, usage] of Object.entries(readObject(modelUsage) ?? {}).slice(0, MAX_MODELS)) {
    if (!isJsonObject(usage)) continue;
    const [input = 0, output = 0, read = 0, write = 0] = CLASSES.map(
      ([field]) => readCount(usage[field], MAX_REPORTED_TOKENS, () => undefined) ?? 0,
    );
    const model = toModelName(name);
    stated.set(model, combine(stated.get(model) ?? NONE, [input, output, read, write], add));
  }
  return stated;
}

const toWhole = (sums: ReadonlyMap<string, Tokens>): Map<string, Tokens> =>
  new Map([['all models', [...sums.values()].reduce((sum, tokens) => combine(sum, tokens, add), NONE)]]);

/** Totals name a model with the size of its context, `claude-opus-4-7[1m]`. */
const toModelName = (model: string): string => cutCharacters(model.replace(/\[\w+\]$/, ''), MAX_MODEL_LENGTH);

const add = (one: number, other: number): number => one + other;

const isLess = (one: Tokens, other: Tokens): boolean => one.some((count, index) => count < (other[index] ?? 0));

const combine = ([a, b, c, d]: Tokens, other: Tokens, how: (one: number, other: number) => number): Tokens => [
  how(a, other[0]),
  how(b, other[1]),
  how(c, other[2]),
  how(d, other[3]),
];
