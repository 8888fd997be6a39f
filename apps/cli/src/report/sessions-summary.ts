import type { SessionsReport } from '@recount/contract';
import type { ValueFormat } from '@recount/contract/reports';
import { formatTable } from '../terminal/table.ts';
import { type CellLayout, formatCell, toCostDecimals } from './format-cell.ts';
import type { StyledLine } from './report-table.ts';

const DISTRIBUTIONS = [
  ['Tokens', 'total_tokens', 'count'],
  ['Cost', 'cost_usd', 'cost'],
  ['Duration', 'duration_ms', 'duration'],
  ['Active time', 'active_ms', 'duration'],
] as const satisfies readonly [string, keyof SessionsReport['totals']['distribution'], ValueFormat][];

const FIGURES = ['p50', 'p90', 'p99', 'max', 'mean'] as const;

/** The distribution of tokens, cost and time over sessions, and the most expensive sessions. */
export function formatSessionsSummary(report: SessionsReport, maxWidth: number): StyledLine[] {
  if (report.totals.sessions === 0) return [];
  return [...formatDistributions(report, maxWidth), ...formatMostExpensive(report, maxWidth)];
}

function formatDistributions({ totals, currency_label, filters }: SessionsReport, maxWidth: number): StyledLine[] {
  const rows = DISTRIBUTIONS.flatMap(([name, key, format]) => {
    const distribution = totals.distribution[key];
    if (distribution === null) return [];
    const layout = toLayout(currency_label, filters.time_zone, distribution.max);
    return [[name, ...FIGURES.map((figure) => formatCell(distribution[figure], format, layout))]];
  });
  const headers = ['OF A SESSION', 'MEDIAN', 'P90', 'P99', 'MOST', 'MEAN'];
  const columns = headers.map((header, index) => ({ header, align: index === 0 ? 'left' : 'right' }) as const);
  return ['', ...formatTable(columns, rows, maxWidth)].map(toStyledLine);
}

function formatMostExpensive(
  { most_expensive, currency_label, filters }: SessionsReport,
  maxWidth: number,
): StyledLine[] {
  if (most_expensive.length === 0) return [];
  const largest = Math.max(...most_expensive.map(({ cost_usd }) => cost_usd ?? 0));
  const layout = toLayout(currency_label, filters.time_zone, largest);
  const rows = most_expensive.map((session) => [
    formatCell(session.first_timestamp, 'time', layout),
    formatCell(`${session.is_subagent ? '(sub-agent) ' : ''}${session.title}`, 'text', layout),
    formatCell(session.prompts, 'count', layout),
    formatCell(session.active_ms, 'duration', layout),
    formatCell(session.total_tokens, 'count', layout),
    formatCell(session.own_cost_usd, 'cost', layout),
    formatCell(session.cost_usd, 'cost', layout),
    session.session_id,
  ]);
  const columns = [
    { header: 'STARTED' },
    { header: 'MOST EXPENSIVE', minWidth: 20 },
    { header: 'PROMPTS', align: 'right', isOptional: true, rank: 1 },
    { header: 'ACTIVE', align: 'right', isOptional: true, rank: 3 },
    { header: 'TOKENS', align: 'right', isOptional: true, rank: 4 },
    { header: 'OWN COST', align: 'right', isOptional: true, rank: 2 },
    { header: 'COST', align: 'right' },
    { header: 'SESSION', isOptional: true, rank: 0 },
  ] as const;
  return ['', ...formatTable(columns, rows, maxWidth)].map(toStyledLine);
}

const toLayout = (currencyLabel: string, timeZone: string, largestCost: number): CellLayout => ({
  currencyLabel,
  timeZone,
  costDecimals: toCostDecimals(largestCost),
  largest: 0,
});

/** The line after an empty one contains headers. */
const toStyledLine = (text: string, index: number): StyledLine => ({ text, ...(index === 1 && { style: 'bold' }) });
