import type { ValueFormat } from '@recount/contract/reports';
import { describe, expect, it } from 'vitest';
import { formatCell, toCostDecimals } from './format-cell.ts';

const layout = { currencyLabel: 'USD', timeZone: 'Asia/Kathmandu', costDecimals: 2, largest: 8 };
const format = (value: unknown, as: ValueFormat, changes: Partial<typeof layout> = {}): string =>
  formatCell(value, as, { ...layout, ...changes });

describe('formatCell', () => {
  it.each<[unknown, ValueFormat, string]>([
    [1_234_567, 'count', '1,234,567'],
    [0, 'count', '0'],
    [null, 'count', '–'],
    ['', 'text', '–'],
    [['a', 'b'], 'text', 'a, b'],
    ['https://github.com/a/b/pull/1', 'path', 'github.com/a/b/pull/1'],
    [1234.567, 'cost', '$1,234.57'],
    [-0.5, 'cost', '-$0.50'],
    [0, 'cost', '$0.00'],
    [0.0000001, 'cost', '<$0.01'],
    [0.12345, 'ratio', '12.3 %'],
    [999, 'duration', '999 ms'],
    [12_345, 'duration', '12.3 s'],
    [150_000, 'duration', '2.5 min'],
    [5_400_000, 'duration', '1.5 h'],
    [360_000_000, 'duration', '100 h'],
    [1500, 'bytes', '1.5 kB'],
    ['2026-03-29T18:15:00.000Z', 'time', '2026-03-30 00:00'],
    [8, 'bar', '████████████'],
    [1, 'bar', '█▌'],
    [0.0001, 'bar', '▏'],
    [0, 'bar', ''],
  ])('shows %j as a %s: %s', (value, as, text) => {
    expect(format(value, as)).toBe(text);
  });

  it('shows no currency but the dollar in cells', () => {
    expect(format(2, 'cost', { currencyLabel: 'EUR' })).toBe('2.00');
  });

  it('has four decimals if all costs are below one', () => {
    expect(toCostDecimals(0.999)).toBe(4);
    expect(toCostDecimals(1)).toBe(2);
    expect(format(0.12345, 'cost', { costDecimals: 4 })).toBe('$0.1235');
  });
});
