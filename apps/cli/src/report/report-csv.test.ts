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
it('has one column for each nested figure, also if it is null in some rows', () => {
  const rows = [
    { day: '2026-03-01', own: { cost_usd: 1, parts: null } },
    { day: '2026-03-02', own: { cost_usd: 2, parts: { input: 1, output: 1 } } },
  ];
  expect(toReportCsv(rows)).toBe(
    'day,own_cost_usd,own_parts_input,own_parts_output\r\n2026-03-01,1,,\r\n2026-03-02,2,1,1\r\n',
  );
});
it('keeps a figure that is null in all rows', () => {
  expect(toReportCsv([{ day: '2026-03-01', cost_usd: null }])).toBe('day,cost_usd\r\n2026-03-01,\r\n');
});
