import { expect, it } from 'vitest';
import { REPORT_NAMES, REPORTS, type ReportName } from './registry.ts';
import type { ReportEntry } from './report-entry.ts';

const HEADER = ['`/v1/analytics/…`', '`recount report …`', '`group_by`', 'rows'];

function toCells(name: ReportName): string[] {
  const { commands, groupBy, description }: ReportEntry = REPORTS[name];
  const words = commands.map((command) => `\`${command.name}\``).join(' ');
  return [`\`${name}\``, words, groupBy === undefined ? '' : groupBy.keys.join(', '), description];
}

function toTable(rows: readonly string[][]): string {
  const widths = HEADER.map((_, index) => Math.max(...[HEADER, ...rows].map((row) => row[index]?.length ?? 0)));
  const toLine = (row: readonly string[]) => `| ${row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |`;
  return [toLine(HEADER), `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...rows.map(toLine)].join(
    '\n',
  );
}

it('equals docs/api/reports.md: `vitest -u` writes it', async () => {
  const intro =
    'All reports, made from the registry in `packages/contract/src/reports`. [README.md](README.md#reports) says what\nthey have in common.';
  const text = `# Reports\n\n${intro}\n\n${toTable(REPORT_NAMES.map(toCells))}\n`;
  await expect(text).toMatchFileSnapshot('../../../../docs/api/reports.md');
});
