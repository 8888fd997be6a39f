import type { ValueFormat } from '@recount/contract/reports';
import { formatBytes, formatCount, formatDecimal, formatTimestamp } from '../terminal/format-values.ts';
import { toSingleLine } from '../terminal/text-width.ts';

export interface CellLayout {
  currencyLabel: string;
  timeZone: string;
  /** For costs, as many as the table's largest one needs. */
  costDecimals: number;
  /** The largest value of the column, shown as a full bar. */
  largest: number;
}

/** Maximum length of a text if the width is unlimited. */
const MAX_TEXT_LENGTH = 120;
const BAR_WIDTH = 12;
const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
const NO_VALUE = '–';

/** A value in a table. Null is a dash, and so is an empty text, so that no column looks shifted. */
export function formatCell(value: unknown, format: ValueFormat, layout: CellLayout): string {
  if (Array.isArray(value)) return formatCell(value.join(', '), format, layout);
  if (value === null && format === 'cost') return 'unpriced';
  if (value === null || value === undefined || value === '') return NO_VALUE;
  if (format === 'path')
    return toSingleLine(String(value).replace(/^https:\/\//, ''))
      .slice(-MAX_TEXT_LENGTH)
      .toWellFormed();
  if (format === 'text') return toSingleLine(String(value)).slice(0, MAX_TEXT_LENGTH).toWellFormed();
  if (format === 'time') return formatZonedTime(String(value), layout.timeZone);
  const number = Number(value);
  switch (format) {
    case 'count':
      return formatCount(number);
    case 'cost':
    case 'amount':
      return formatCost(number, layout);
    case 'ratio':
      return `${(100 * number).toFixed(1)} %`;
    case 'duration':
      return formatShortDuration(number);
    case 'bytes':
      return formatBytes(number);
    case 'bar':
      return formatBar(number / layout.largest);
  }
}

export const isMoney = (format: ValueFormat): boolean => format === 'cost' || format === 'amount';

const LEFT_ALIGNED = new Set<ValueFormat>(['text', 'path', 'time', 'bar']);

export const isRightAligned = (format: ValueFormat): boolean => !LEFT_ALIGNED.has(format);

/** Two decimals, or four if all costs are below a dollar. */
export const toCostDecimals = (largestCost: number): number => (largestCost >= 1 ? 2 : 4);

/** A cost too small for its decimals must not look like zero. */
function formatCost(cost: number, { currencyLabel, costDecimals }: CellLayout): string {
  const smallest = 10 ** -costDecimals;
  const isTiny = cost !== 0 && Math.abs(cost) < smallest / 2;
  const digits = formatDecimal(Math.abs(isTiny ? smallest : cost), costDecimals);
  const sign = cost < 0 ? '-' : '';
  return `${isTiny ? '<' : ''}${sign}${currencyLabel === 'USD' ? '$' : ''}${digits}`;
}

function formatShortDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 3_600_000) return `${(ms / 60_000).toFixed(1)} min`;
  const hours = ms / 3_600_000;
  return `${hours < 9.95 ? hours.toFixed(1) : formatCount(hours)} h`;
}

function formatBar(share: number): string {
  if (!(share > 0)) return '';
  const eighths = Math.max(1, Math.round(share * BAR_WIDTH * 8));
  return '█'.repeat(Math.floor(eighths / 8)) + (EIGHTHS[eighths % 8] ?? '');
}

/** To the minute. */
function formatZonedTime(timestamp: string, timeZone: string): string {
  return formatTimestamp(timestamp, timeZone);
}
