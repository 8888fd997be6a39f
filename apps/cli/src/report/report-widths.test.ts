import type { ValueFormat } from '@recount/contract/reports';
import { expect, it } from 'vitest';
import { toUsageReport } from '../testing/report-answers.ts';
import type { ReportAnswer } from './report-answer.ts';
import { REPORT_KINDS } from './report-kinds.ts';
import { formatReportTable } from './report-table.ts';

const LONG_NAME = 'internal-gateway.example.com/anthropic/claude-sonnet-5-20260801-preview-high-thinking';
const LONG_PATH = `/home/maya/code/${'customers-and-their-very-long-names/'.repeat(4)}repository-of-2026`;
const TIME = '2026-07-14T12:34:56.789Z';

const VALUES: Record<ValueFormat, unknown> = {
  text: LONG_NAME,
  path: LONG_PATH,
  time: TIME,
  count: 98_765_432_101,
  cost: 1_234_567.891,
  amount: 1_234_567.891,
  ratio: 0.98765,
  duration: 987_654_321_000,
  bytes: 987_654_321_000,
  bar: 1_234_567.891,
};

const KEYS: Record<string, unknown> = {
  hour: TIME,
  day: '2026-07-14',
  week: '2026-07-13',
  month: '2026-07',
  project: LONG_PATH,
  is_subagent: true,
};

/** Rows whose every cell has its maximum width, the second half unpriced. */
function toRow(paths: readonly (readonly [path: string, value: unknown])[]): Record<string, unknown> {
  const row: Record<string, unknown> = {};
  for (const [path, value] of paths) {
    const [outer = '', inner] = path.split('.');
    if (inner === undefined) row[outer] = value;
    else row[outer] = { ...(row[outer] as object), [inner]: value };
  }
  return row;
}

const cases = REPORT_KINDS.flatMap(({ name, groupBy, isByTime }) => {
  const { keys = [], fallback = '' } = groupBy ?? {};
  const single = keys.map((key) => (isByTime ? [fallback, key] : [key]));
  return [[name, []], [name, fallback === '' ? [] : [fallback]], ...single.map((group) => [name, group])] as [
    string,
    string[],
  ][];
});

it.each(cases)('report %s by %j fits 80 columns, and shows no ISO time', (name, group) => {
  const kind = REPORT_KINDS.find((each) => each.name === name);
  if (kind === undefined) throw new Error(name);
  const cells = kind.columns.map(({ path, format }) => [path, VALUES[format]] as const);
  const keys = group.map((key) => [key, KEYS[key] ?? LONG_NAME] as const);
  const priced = toRow([...cells, ...keys]);
  const unpriced = toRow([
    ...cells.map(([path, value]) => [path, path.endsWith('cost_usd') ? null : value] as const),
    ...keys,
  ]);
  const report = toUsageReport();
  const filters = { ...report.filters, group_by: group };
  const answer = { ...report, filters, rows: [priced, unpriced], totals: priced } as unknown as ReportAnswer;
  const lines = formatReportTable(kind, answer, { maxWidth: 80 }).map(({ text }) => text);
  expect(lines.length).toBeGreaterThanOrEqual(4);
  for (const line of lines) expect({ line, fits: [...line].length <= 80 }).toEqual({ line, fits: true });
  expect(lines.join('\n')).not.toMatch(/\d{4}-\d\d-\d\dT/);
  if (kind.columns.some(({ format, isOfRowsOnly }) => format === 'cost' && !isOfRowsOnly)) {
    expect(lines.join('\n')).toContain('unpriced');
  }
});
