import { expect, it } from 'vitest';
import { toCsv } from './to-csv.ts';

it('quotes as needed, and prevents a spreadsheet from running a title', () => {
  const rows = [
    { title: 'He said "no", then\nleft', cost: -0.5, models: ['a', 'b'], metadata: { c: 1 } },
    { title: '=HYPERLINK("http://x")', cost: null, models: [], metadata: {} },
  ];
  expect(toCsv(rows)).toBe(
    'title,cost,models\r\n"He said ""no"", then\nleft",-0.5,a b\r\n"\'=HYPERLINK(""http://x"")",,\r\n',
  );
  expect(toCsv([])).toBe('');
});
