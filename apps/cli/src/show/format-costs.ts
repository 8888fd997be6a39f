import type { ReconciliationReport, SessionCosts, SessionDetail } from '@recount/contract';
import { TOKEN_CLASS_NAMES, toPartName, toRate, toShare } from '@recount/contract/cost-words';
import { toUnpricedName } from '@recount/contract/price-words';
import { formatCell, toCostDecimals } from '../report/format-cell.ts';
import type { StyledLine } from '../report/report-table.ts';
import { formatCount, formatCountOf, formatTimestamp } from '../terminal/format-values.ts';
import { toShellWord } from '../terminal/shell-word.ts';
import { formatTable, type TableColumn } from '../terminal/table.ts';
import { cutToWidth, toSingleLine, wrapToWidth } from '../terminal/text-width.ts';

export interface CostReasons {
  session: SessionDetail;
  costs: SessionCosts;
  /** The comparison with the agent's own total, if the agent keeps one. */
  reconciliation: ReconciliationReport['rows'][number] | undefined;
}

/** Further parts, which are smaller, are summed up. */
const MAX_PARTS = 12;
const MAX_TITLE_WIDTH = 100;

/**
 * The breakdown of a session's cost, by class and rate, the most expensive responses, and the shared, unfinalised and
 * unpriced parts.
 */
export function formatCosts(reasons: CostReasons, layout: { timeZone: string; maxWidth: number }): StyledLine[] {
  const { session } = reasons;
  const money = toMoney(session.cost_estimate_usd ?? 0);
  const title = cutToWidth(toSingleLine(session.title), Math.min(layout.maxWidth, MAX_TITLE_WIDTH));
  return [
    { text: title, style: 'bold' },
    { text: toSingleLine(session.session_id), style: 'dim' },
    {
      text:
        session.tokens_in === null
          ? 'Cost unknown, because the transcript has no usage.'
          : `Cost ${money(session.cost_estimate_usd)}${toParts(reasons, money)}`,
    },
    { text: '' },
    ...formatParts(reasons, layout.maxWidth, money),
    { text: '' },
    ...formatMostExpensive(reasons, layout, money),
    ...formatNotes(reasons, layout.maxWidth, money),
  ];
}

type Money = (cost: number | null) => string;

function toMoney(largest: number): Money {
  const layout = { currencyLabel: 'USD', timeZone: 'UTC', costDecimals: toCostDecimals(largest), largest: 0 };
  return (cost) => formatCell(cost, 'cost', layout);
}

/** The largest part in words. */
function toParts({ session, costs }: CostReasons, money: Money): string {
  const [first] = costs.parts;
  const total = session.cost_estimate_usd;
  if (first === undefined || total === null || total === 0) return '.';
  return `; ${money(first.cost_usd)} of it is ${TOKEN_CLASS_NAMES[first.token_class]}${toTier(first, costs)}.`;
}

/** The context level is mentioned if it changes the rate. */
function toTier(part: SessionCosts['parts'][number], { parts }: SessionCosts): string {
  if (!part.is_long_context) return '';
  const usual = parts.find(
    ({ model, token_class, is_long_context }) =>
      model === part.model && token_class === part.token_class && !is_long_context,
  );
  const isHigher = (part.highest_rate_usd ?? 0) > (usual?.highest_rate_usd ?? 0) * 1.01;
  return usual === undefined || isHigher ? ', in requests of more than 200k tokens' : '';
}

function formatParts({ costs, session }: CostReasons, maxWidth: number, money: Money): StyledLine[] {
  const share = (cost: number): string => toShare(cost, session.cost_estimate_usd);
  const rows = costs.parts
    .slice(0, MAX_PARTS)
    .map((part) => [
      toPartName(part),
      toSingleLine(part.model ?? 'no model'),
      formatCount(part.tokens),
      toRate(part),
      part.lowest_rate_usd === null ? 'unpriced' : money(part.cost_usd),
      share(part.cost_usd),
    ]);
  const rest = costs.parts.slice(MAX_PARTS).reduce((sum, { cost_usd }) => sum + cost_usd, 0) + costs.other_cost_usd;
  if (Math.abs(rest) > 1e-9)
    rows.push(['other', 'searches, and what the agent reports', '', '', money(rest), share(rest)]);
  const columns: TableColumn[] = [
    { header: 'TOKENS OF' },
    { header: 'MODEL', minWidth: 14 },
    { header: 'TOKENS', align: 'right' },
    { header: '$ / MILLION', align: 'right' },
    { header: 'COST', align: 'right' },
    { header: 'SHARE', align: 'right', isOptional: true },
  ];
  return formatTable(columns, rows, maxWidth).map((text, index) => ({ text, ...(index === 0 && { style: 'bold' }) }));
}

function formatMostExpensive(
  { costs, session }: CostReasons,
  { timeZone, maxWidth }: { timeZone: string; maxWidth: number },
  money: Money,
): StyledLine[] {
  if (costs.most_expensive.length === 0) return [];
  const rows = costs.most_expensive.map((response) => [
    String(response.line_number),
    formatTimestamp(response.timestamp, timeZone),
    formatCount(response.cache_read + response.tokens_in),
    formatCount(response.cache_write),
    formatCount(response.tokens_out),
    response.is_own ? '' : 'shared',
    money(response.cost_usd),
  ]);
  const columns: TableColumn[] = [
    { header: 'LINE' },
    { header: 'MOST EXPENSIVE TURNS' },
    { header: 'READ', align: 'right' },
    { header: 'WRITTEN TO CACHE', align: 'right', isOptional: true },
    { header: 'OUTPUT', align: 'right' },
    { header: '' },
    { header: 'COST', align: 'right' },
  ];
  const lines = formatTable(columns, rows, maxWidth).map((text, index) => ({
    text,
    ...(index === 0 && { style: 'bold' as const }),
  }));
  return [
    ...lines,
    {
      text: `recount show ${toShellWord(session.session_id)} --line ${costs.most_expensive[0]?.line_number}`,
      style: 'dim',
    },
    { text: '' },
  ];
}

function formatNotes({ session, costs, reconciliation }: CostReasons, maxWidth: number, money: Money): StyledLine[] {
  const { own, shared } = session.usage;
  const notes = [
    `Credited to this session: ${money(own.cost_usd)} for ${formatCountOf(own.responses, 'response')}.`,
    shared.responses > 0
      ? `Shared: ${money(shared.cost_usd)} for ${formatCountOf(shared.responses, 'response')} that another session is credited with; totals count them once.`
      : '',
    own.unfinalised.responses + shared.unfinalised.responses > 0
      ? `Unfinalised: ${formatCountOf(own.unfinalised.responses + shared.unfinalised.responses, 'response')} without a final output count; by content this would cost about ${money(costs.unfinalised_estimate_usd)} more.`
      : '',
    session.output_only_count > 0
      ? `Too low, because a run of the agent was cut off. ${formatCountOf(session.output_only_count, 'response')} have only output.`
      : '',
    session.unpriced_count > 0
      ? `Unpriced: ${formatCountOf(session.unpriced_count, 'response')}, not in the cost: ${toUnpricedNames(costs)}. \`recount prices set MODEL --input … --output …\` gives the model a price.`
      : '',
    toExtensionNote(session),
    toReconciliationNote(reconciliation, money),
  ];
  const width = Math.min(maxWidth, 110);
  return notes.filter((text) => text !== '').flatMap((note) => wrapToWidth(note, width).map((text) => ({ text })));
}

/** Names everyone, the owner of the session and everyone who added to it. */
function toExtensionNote({ person, uploader_key_id: owner, extended_by: others }: SessionDetail): string {
  if (others.length === 0) return '';
  const name = (who: string | null, key: string | null): string =>
    toSingleLine(who ?? (key === null ? 'an unknown uploader' : `key ${key}`));
  const names = new Intl.ListFormat('en').format(others.map((other) => name(other.person, other.uploader_key_id)));
  const what = others.length === 1 ? 'has uploaded the longest version' : 'have uploaded longer versions';
  return `Extended. The session belongs to ${name(person, owner)}, and ${names} ${what} of it. Its whole cost counts for ${name(person, owner)}.`;
}

/** The largest few, with their tier or speed if it is not the usual one. */
function toUnpricedNames({ unpriced = [] }: SessionCosts): string {
  const names = unpriced.slice(0, 3).map((terms) => toSingleLine(toUnpricedName(terms)));
  return names.join(', ') + (unpriced.length > 3 ? ` and ${unpriced.length - 3} more` : '');
}

function toReconciliationNote(row: CostReasons['reconciliation'], money: Money): string {
  if (row === undefined) return '';
  const { reported_cost_usd: reported, computed_cost_usd: computed, difference_usd: difference } = row;
  if (difference === null || computed === null) return `The agent itself reports ${money(reported)}.`;
  const reasons = [
    row.unfinalised_responses > 0 ? formatCountOf(row.unfinalised_responses, 'unfinalised response') : '',
    row.unpriced_responses > 0 ? formatCountOf(row.unpriced_responses, 'unpriced response') : '',
    (row.subagent_cost_usd ?? 0) > 0 ? `sub-agents with ${money(row.subagent_cost_usd)}` : '',
  ].filter((reason) => reason !== '');
  const cause = reasons.length > 0 ? `; part of that: ${reasons.join(', ')}` : '; no known reason';
  const isEqual = Math.abs(difference) < 0.00005;
  return `The agent itself reports ${money(reported)}, recount ${money(computed)} with sub-agents: ${isEqual ? 'no difference' : `${money(difference)} difference${cause}`}.`;
}
