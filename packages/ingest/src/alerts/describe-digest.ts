import type { DigestContent } from '@recount/db';
import type { MessageText } from './message-text.ts';
import { formatAmount, toLine } from './message-words.ts';

type Figures = DigestContent['totals'];

const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
const HEADINGS = { repository: 'Repositories', person: 'People', model: 'Models' } as const;

const toCost = ({ cost_usd }: Figures): string => (cost_usd === null ? 'no price' : formatAmount(cost_usd, 'usd'));

function toChange({ cost_usd: now }: Figures, { cost_usd: before }: Figures): string {
  if (now === null || before === null) return '';
  if (before === 0) return now === 0 ? '' : ' (nothing in the period before)';
  const percent = whole.format(Math.abs(now / before - 1) * 100);
  return ` (${percent} % ${now < before ? 'less' : 'more'} than ${formatAmount(before, 'usd')} in the period before)`;
}

const escapeHtml = (value: string): string =>
  value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/** The text and the page of a digest. The page loads nothing. */
export function describeDigest(content: DigestContent): MessageText {
  const { from, groups, period, previous, time_zone: timeZone, to, totals, unmatched } = content;
  const name = toLine(content.name);
  const filters = Object.entries(content.filters).map(([key, value]) => `${key} ${[value].flat().join(' or ')}`);
  const facts = [
    `From ${from} to before ${to}, ${timeZone}. Counts ${toLine(filters.join(', ') || 'everything')}.`,
    `Cost at list prices: ${toCost(totals)}${toChange(totals, previous)}`,
    `Tokens: ${whole.format(totals.total_tokens)}`,
    `Sessions: ${whole.format(totals.sessions)}`,
    ...(totals.unpriced_responses > 0
      ? [`${whole.format(totals.unpriced_responses)} responses without a price are not in the cost.`]
      : []),
    ...unmatched.map(toLine),
  ];
  const tables = groups.map(({ by, rows, truncated }) => ({
    heading: truncated ? `${HEADINGS[by]}, the most expensive` : HEADINGS[by],
    rows: rows.map((row) => [toLine(row.name ?? 'unknown'), toCost(row), whole.format(row.total_tokens)] as const),
  }));
  const text = [
    ...facts,
    ...tables.flatMap(({ heading, rows }) => [
      '',
      heading,
      ...rows.map(([label, cost, tokens]) => `  ${cost.padStart(12)}  ${label} (${tokens} tokens)`),
    ]),
  ].join('\n');
  const title = `${name}: the ${period} from ${from}, ${toCost(totals)}`;
  return { subject: title, text, html: toPage(title, facts, tables) };
}

function toPage(
  title: string,
  facts: readonly string[],
  tables: readonly { heading: string; rows: readonly (readonly [string, string, string])[] }[],
): string {
  const cell = 'style="padding:3px 14px 3px 0;text-align:left"';
  const number = 'style="padding:3px 14px 3px 0;text-align:right"';
  const body = tables.map(({ heading, rows }) => {
    const lines = rows.map(
      ([label, cost, tokens]) =>
        `<tr><td ${cell}>${escapeHtml(label)}</td><td ${number}>${escapeHtml(cost)}</td><td ${number}>${tokens}</td></tr>`,
    );
    const head = `<tr><th ${cell}>${escapeHtml(heading)}</th><th ${number}>Cost</th><th ${number}>Tokens</th></tr>`;
    return `<table style="border-collapse:collapse;margin-top:18px">${head}${lines.join('')}</table>`;
  });
  const paragraphs = facts.map((fact) => `<p style="margin:4px 0">${escapeHtml(fact)}</p>`);
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${escapeHtml(title)}</title></head><body style="font:15px/1.5 system-ui,sans-serif;max-width:46rem"><h1 style="font-size:19px">${escapeHtml(title)}</h1>${paragraphs.join('')}${body.join('')}</body></html>`;
}
