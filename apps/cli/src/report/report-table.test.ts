import { describe, expect, it } from 'vitest';
import { toFigures, toUsageReport } from '../testing/report-answers.ts';
import type { ReportAnswer } from './report-answer.ts';
import { REPORT_KINDS } from './report-kinds.ts';
import { formatReportTable } from './report-table.ts';

const findKind = (name: string) => {
  const kind = REPORT_KINDS.find((candidate) => candidate.name === name);
  if (kind === undefined) throw new Error(name);
  return kind;
};

const daily = findKind('daily');
const format = (answer: unknown, maxWidth: number, details?: unknown, kind = daily): string[] =>
  formatReportTable(kind, answer as ReportAnswer, { maxWidth, details: details as ReportAnswer | undefined }).map(
    ({ text }) => text,
  );

describe('formatReportTable', () => {
  it('shows rows and totals, with a bar for what each costs', () => {
    expect(format(toUsageReport(), 140)).toEqual([
      'DAY             RESPONSES  INPUT  OUTPUT  CACHE READ  CACHE WRITE  CACHED      TOKENS    COST  SHARE',
      '─'.repeat(107),
      'Sun 2026-03-29         10  1,234   5,678   9,000,000      321,000  96.5 %   9,327,912   $4.25  ████',
      'Mon 2026-03-30         30  3,702  17,034  27,000,000      963,000  96.5 %  27,983,736  $12.75  ████████████',
      '─'.repeat(107),
      'Total                  40  4,936  22,712  36,000,000    1,284,000  96.5 %  37,311,648  $17.00',
    ]);
  });

  it('drops the least important columns on a narrow terminal', () => {
    expect(format(toUsageReport(), 80)[0]).toBe(
      'DAY             INPUT  OUTPUT  CACHE READ  CACHE WRITE      TOKENS    COST',
    );
    expect(format(toUsageReport(), 40)[0]).toBe('DAY                 TOKENS    COST');
    for (const width of [60, 80, 100, 160]) {
      for (const line of format(toUsageReport(), width)) expect(line.length).toBeLessThanOrEqual(width);
    }
  });

  it('shows the models of each day below it', () => {
    const details = toUsageReport({
      rows: [
        { ...toUsageReport().rows[0], day: '2026-03-29', model: 'claude-opus-4-5', own: toFigures(1) },
        { ...toUsageReport().rows[0], day: '2026-03-30', model: null, own: toFigures(3) },
      ] as never,
    });
    expect(format(toUsageReport(), 80, details).map((line) => line.slice(0, 18))).toEqual([
      'DAY               ',
      expect.stringMatching(/^─+$/),
      'Sun 2026-03-29    ',
      '└ claude-opus-4-5 ',
      'Mon 2026-03-30    ',
      '└ –               ',
      expect.stringMatching(/^─+$/),
      'Total             ',
    ]);
  });

  it('says so if there is nothing, also if days have messages but no usage', () => {
    const rows = toUsageReport().rows.map((row) => ({ ...row, own: toFigures(0) }));
    expect(format(toUsageReport({ rows: [] }), 80)).toEqual(['Nothing to report.']);
    expect(format(toUsageReport({ rows }), 80)).toEqual(['Nothing to report.']);
  });

  it('shows the currency instead of a dollar sign, and tells unpriced from free', () => {
    const [row] = toUsageReport().rows;
    const rows = [{ ...row, own: toFigures(1, { cost_usd: null }) }] as UsageRows;
    const lines = format(toUsageReport({ currency_label: 'EUR', rows }), 160);
    expect(lines[2]).toMatch(/9,327,912 +unpriced$/);
    expect(lines.at(-1)).toMatch(/37,311,648 +17\.00$/);
  });

  it('shows paths relative to their project, keeping their end', () => {
    const file = { reads: 2, edits: 1, errors: 0, sessions: 1, output_bytes: 400, estimated_tokens: 100 };
    const answer = {
      ...toUsageReport(),
      filters: { ...toUsageReport().filters, group_by: [] },
      rows: [
        { file_path: '/srv/app/src/a/rather/long/way/down/to/clock.ts', project: '/srv/app', ...file },
        { file_path: '/etc/hosts', project: '/srv/app', ...file },
      ],
      totals: { files: 2, ...file },
    };
    const lines = format(answer, 60, undefined, findKind('files'));
    expect(lines[2]).toMatch(/^….*\/way\/down\/to\/clock\.ts /);
    expect(lines[3]).toMatch(/^\/etc\/hosts /);
  });

  it('strips control sequences from texts', () => {
    const rows = [{ ...toUsageReport().rows[0], project: '/srv/\u001b[2Jevil' }] as unknown as UsageRows;
    const filters = { ...toUsageReport().filters, group_by: ['project' as const] };
    expect(format(toUsageReport({ rows, filters }), 100).join('')).not.toContain('\u001b');
  });
});

type UsageRows = ReturnType<typeof toUsageReport>['rows'];
