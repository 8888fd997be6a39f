import type { JsonValue } from '../lines/json.ts';
import { cutCharacters, MAX_IDENTIFIER_LENGTH, readText, toNumber } from '../records/fields.ts';

/** Vendors whose usage and cost reports are read. */
export type BillVendor = 'anthropic' | 'openai' | 'github' | 'cursor';

/** The scope of stored lines that were imported before lines had one. */
export const UNKNOWN_SCOPE = '';

/** The scope of lines of Anthropic's default workspace, which has no id. */
export const DEFAULT_WORKSPACE = 'default';

/** The tier of tokens by batch only: all others. */
export const NOT_BATCH = 'not batch';

/** A line of a vendor's report. */
export interface BillRow {
  /** Day in UTC, `2026-11-29`. */
  day: string;
  /** `cost` is an amount, `usage` are tokens without an amount. */
  kind: 'cost' | 'usage';
  model: string | null;
  /** The vendor's own name for what it bills. */
  lineItem: string | null;
  /** Ids of the workspace, project, user or key that the line is of; null if the report has a line for all of them. */
  scope: string | null;
  /** Null if the report does not say. */
  serviceTier: string | null;
  /** Negative for credits and discounts; null for usage. */
  amountUsd: number | null;
  /** Without cache; null if the report has no tokens. */
  inputTokens: number | null;
  outputTokens: number | null;
  cacheReadTokens: number | null;
  cacheWriteTokens: number | null;
  /** The same in each report that has this line, and different for all others of the vendor. */
  identity: string;
}

/** A line as an answer has it. */
export interface AnsweredRow extends BillRow {
  /** The piece of the report that has the line, such as a day or an event: of several answers with it, the last counts. */
  piece: string;
  /** The time of the piece; none if pieces cannot overlap. */
  span?: { startMs: number; endMs: number };
  /** Groups of the report whose lines are added up to one, by name, and this line's values of them. */
  groups?: { names: string; values: string };
}

/** A report that cannot be read. The message says why, and quotes nothing private. */
export class BillError extends Error {
  override name = 'BillError';
}

export const NO_TOKENS = {
  inputTokens: null,
  outputTokens: null,
  cacheReadTokens: null,
  cacheWriteTokens: null,
} as const;

export const readLabel = (value: JsonValue | undefined): string | null => {
  const text = readText(value);
  return text === null ? null : cutCharacters(text.replaceAll('\0', '').toWellFormed(), MAX_IDENTIFIER_LENGTH);
};

/** The scope of a line by the ids that its report groups by. */
export function toScope(...ids: readonly (JsonValue | undefined)[]): string | null {
  const labels = ids.map(readLabel).filter((label) => label !== null);
  return labels.length === 0 ? null : cutCharacters(labels.join(' '), MAX_IDENTIFIER_LENGTH);
}

export const readCountOf = (value: JsonValue | undefined): number => {
  const count = toNumber(value) ?? 0;
  return Number.isSafeInteger(count) && count > 0 ? count : 0;
};

const readTimeMs = (value: JsonValue | undefined): number =>
  typeof value === 'number' ? value * 1000 : Date.parse(String(value ?? ''));

/** The piece of a report that begins and ends at these times. */
export function toTimePiece(start: JsonValue | undefined, end: JsonValue | undefined) {
  const span = { startMs: readTimeMs(start), endMs: readTimeMs(end) };
  return { piece: String(span.startMs), span };
}

/** Throws BillError unless the text or the number of seconds is a time. */
export function readDay(value: JsonValue | undefined): string {
  const ms = readTimeMs(value);
  if (!Number.isFinite(ms) || ms < 0 || ms >= Date.UTC(10_000, 0, 1)) throw new BillError('A line has no valid date');
  return new Date(ms).toISOString().slice(0, 10);
}

/** Throws BillError for amounts in another currency than dollars, and for what is no number. */
export function readAmount(value: JsonValue | undefined, currency: JsonValue | undefined): number {
  if (currency !== undefined && String(currency).toLowerCase() !== 'usd') {
    throw new BillError('It has amounts in another currency than US dollars');
  }
  const amount = toNumber(value);
  if (amount === undefined || Math.abs(amount) > 1e9) throw new BillError('A line has no valid amount');
  return amount;
}
