import { readPath } from '@recount/contract/reports/read-path';
import type { PageFigure } from '@recount/contract/reports/report-entry';
import { createHtmlPage, toHtml } from './html-page.ts';

type Row = Readonly<Record<string, unknown>>;

/** A table of a page of figures. */
export interface FiguresTable {
  title: string;
  /** Heading of the first column. */
  noun: string;
  /** The name of a row; null if it has none. */
  readName: (row: Row) => string | null;
  figures: readonly PageFigure[];
  rows: readonly Row[];
  /** There are more rows. */
  isTruncated: boolean;
}

/** A course of a figure, a bar for each row in the order of time. */
interface FiguresTrend {
  title: string;
  figure: PageFigure;
  rows: readonly Row[];
  readName: (row: Row) => string;
}

/** A page of figures without texts of transcripts. */
export interface FiguresDocument {
  title: string;
  /** Time, zone, filters, time of the figures. */
  facts: readonly string[];
  /** Sentences on how exact the figures are. */
  remarks: readonly string[];
  figures: readonly PageFigure[];
  totals: Row;
  trend: FiguresTrend | undefined;
  tables: readonly FiguresTable[];
  currencyLabel: string;
}

const STYLE = `
:root { color-scheme: light dark; --text: #1d2330; --muted: #5c6675; --page: #fff; --soft: #f3f5f8; --line: #d9dee6;
  --accent: #0f6e56; }
@media (prefers-color-scheme: dark) { :root { --text: #e3e8f0; --muted: #9aa5b5; --page: #12161d; --soft: #1b212b;
  --line: #313a48; --accent: #5dcaa5; } }
body { margin: 0 auto; max-width: 64rem; padding: 2rem 1rem 4rem; background: var(--page); color: var(--text);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .25rem; } h2 { font-size: 1rem; margin: 2rem 0 .5rem; }
.facts, .note { color: var(--muted); font-size: .875rem; margin: .25rem 0; }
dl { display: flex; flex-wrap: wrap; gap: .75rem 2rem; margin: 1.5rem 0; } dt { color: var(--muted); font-size: .85rem; }
dd { margin: 0; font-size: 1.25rem; font-variant-numeric: tabular-nums; }
.wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
td, th { border-bottom: 1px solid var(--line); padding: .3rem .6rem; text-align: right; white-space: nowrap; }
th { color: var(--muted); font-weight: 600; font-size: .85rem; }
td:first-child, th:first-child { text-align: left; white-space: normal; min-width: 10rem; padding-left: 0; }
svg { display: block; width: 100%; height: 8rem; } rect { fill: var(--accent); }
.ends { display: flex; justify-content: space-between; }
@media print { body { max-width: none; padding: 0; } .wide { overflow: visible; } tr { break-inside: avoid; } }
`;

const PAGE = createHtmlPage(STYLE);

/** A page made by `formatFiguresDocument` may load only its own style. */
export const FIGURES_CONTENT_SECURITY_POLICY = PAGE.policy;

/** Figures as one self-contained HTML file that runs nothing. Names come from transcripts, so everything is escaped. */
export function formatFiguresDocument(document: FiguresDocument): string {
  const { title, facts, remarks, figures, totals, trend, tables, currencyLabel } = document;
  return PAGE.format(
    title,
    `<h1>${toHtml(title)}</h1>
${facts.map((fact) => `<p class="facts">${toHtml(fact)}</p>`).join('\n')}
<dl>
${figures
  .filter(({ isOfRowsOnly }) => !isOfRowsOnly)
  .map((figure) => `<div><dt>${toHtml(figure.label)}</dt><dd>${formatFigure(figure, totals, currencyLabel)}</dd></div>`)
  .join('\n')}
</dl>
${remarks.map((remark) => `<p class="note">${toHtml(remark)}</p>`).join('\n')}
${trend === undefined || trend.rows.length < 2 ? '' : formatTrend(trend, currencyLabel)}
${tables.map((table) => formatTable(table, currencyLabel)).join('\n')}`,
  );
}

function formatTable({ title, noun, readName, figures, rows, isTruncated }: FiguresTable, currency: string): string {
  if (rows.length === 0) return '';
  const heads = [noun, ...figures.map(({ label }) => label)];
  const body = rows.map((row) => {
    const name = readName(row);
    const cells = figures.map((figure) => `<td>${formatFigure(figure, row, currency)}</td>`);
    return `<tr><td>${name === null ? 'unknown' : toHtml(name)}</td>${cells.join('')}</tr>`;
  });
  return `<h2>${toHtml(title)}</h2>
<div class="wide" tabindex="0" role="region" aria-label="${toHtml(title)}">
<table>
<thead><tr>${heads.map((head) => `<th scope="col">${toHtml(head)}</th>`).join('')}</tr></thead>
<tbody>
${body.join('\n')}
</tbody>
</table>
</div>
${isTruncated ? `<p class="note">The first ${rows.length.toLocaleString('en-US')} are shown; the totals are of all.</p>` : ''}`;
}

const BAR_HEIGHT = 100;

function formatTrend({ title, figure, rows, readName }: FiguresTrend, currency: string): string {
  const values = rows.map((row) => readNumber(row, figure) ?? 0);
  const max = Math.max(...values);
  const bars = values.map((value, index) => {
    const height = max <= 0 ? 0 : (BAR_HEIGHT * value) / max;
    const label = `${readName(rows[index] ?? {})}: ${formatValue(figure.kind, value, currency)}`;
    const place = `x="${index + 0.1}" y="${(BAR_HEIGHT - height).toFixed(2)}" width="0.8" height="${height.toFixed(2)}"`;
    return `<rect ${place}><title>${toHtml(label)}</title></rect>`;
  });
  const highest = `highest ${formatValue(figure.kind, max, currency)}`;
  const ends = [rows[0], rows.at(-1)].map((row) => `<span>${toHtml(readName(row ?? {}))}</span>`).join('');
  return `<h2>${toHtml(title)}</h2>
<svg viewBox="0 0 ${rows.length} ${BAR_HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${toHtml(`${title}, ${highest}`)}">${bars.join('')}</svg>
<p class="note ends">${ends}</p>
<p class="note">${toHtml(highest)}</p>`;
}

function readNumber(row: Row, { path }: PageFigure): number | null {
  const value = readPath(row, path);
  return typeof value === 'number' ? value : null;
}

/** The exact value is in the element, as in the dashboard. */
function formatFigure(figure: PageFigure, row: Row, currency: string): string {
  const value = readNumber(row, figure);
  if (value === null) return figure.kind === 'money' ? 'unpriced' : '–';
  return `<data value="${value}" title="${value}">${toHtml(formatValue(figure.kind, value, currency))}</data>`;
}

const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
const compact = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 });
const percent = new Intl.NumberFormat('en-US', { style: 'percent', maximumFractionDigits: 1 });

/** A value as text. */
export function formatValue(kind: PageFigure['kind'], value: number, currency: string): string {
  switch (kind) {
    case 'money':
    case 'amount':
      return formatMoney(value, currency);
    case 'tokens':
      return compact.format(value);
    case 'count':
      return whole.format(value);
    case 'percent':
      return percent.format(value);
    case 'duration':
      return value < 1000 ? `${whole.format(value)} ms` : `${(value / 1000).toFixed(1)} s`;
    case 'bytes':
      return `${compact.format(value)}B`;
  }
}

/** Two decimals; four below a cent, as the dashboard has it. */
function formatMoney(value: number, currency: string): string {
  const digits = value !== 0 && Math.abs(value) < 0.01 ? 4 : 2;
  const options = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  const amount = value.toLocaleString('en-US', options);
  return currency === 'USD' ? `$${amount}` : `${amount} ${currency}`;
}
