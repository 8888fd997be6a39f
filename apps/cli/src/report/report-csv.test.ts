import { expect, it } from 'vitest';
import { toReportCsv } from './report-csv.ts';

it('flattens nested figures into columns, and joins lists', () => {
  const rows = [
    { day: '2026-03-29', own: { cost_usd: 1.5, unpriced: { tokens: 2 } }, models: ['a', 'b'], title: null },
    { day: '=1', own: { cost_usd: null, unpriced: { tokens: 0 } }, models: [], title: 'x, "y"' },
  ];
  expect(toReportCsv(rows)).toBe(
    'day,own_cost_usd,own_unpriced_tokens,models,title\r\n2026-03-29,1.5,2,a; b,\r\n\'=1,,0,"","x, ""y"""\r\n',
  );
});

it('is empty without rows', () => {
  expect(toReportCsv([])).toBe('');
});
