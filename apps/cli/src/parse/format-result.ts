import { toUnpricedName } from '@recount/contract/price-words';
import type { LineIssue, ParsedContentBlock, ParseResult, TranscriptMessage } from '@recount/core';
import { formatCount, formatCountOf, formatDuration, formatTimestamp, formatUsd } from '../terminal/format-values.ts';
import { formatTable, type TableColumn } from '../terminal/table.ts';
import { toSingleLine } from '../terminal/text-width.ts';

interface ResultLayout {
  sessionId: string;
  /** Messages and issues shown of each kind. */
  limit: number;
  timeZone: string;
  maxWidth: number;
}

const MESSAGE_COLUMNS: readonly TableColumn[] = [
  { header: '#', align: 'right' },
  { header: 'LINE', align: 'right' },
  { header: 'TIME' },
  { header: 'TYPE' },
  { header: 'BLOCKS', minWidth: 24 },
  { header: 'IN', align: 'right' },
  { header: 'OUT', align: 'right' },
  { header: 'CACHE READ', align: 'right', isOptional: true },
  { header: 'CACHE WRITE', align: 'right', isOptional: true },
  { header: 'DOLLARS', align: 'right' },
];
const ISSUE_COLUMNS: readonly TableColumn[] = [
  { header: 'LINE', align: 'right' },
  { header: 'BYTE', align: 'right' },
  { header: 'TIMES', align: 'right' },
  { header: 'ISSUE', minWidth: 24 },
];
const FACT_COLUMNS: readonly TableColumn[] = [{ header: '' }, { header: '', minWidth: 24 }];
const MAX_BLOCKS_LENGTH = 60;
const MAX_UNPRICED = 3;

/** A transcript for people, with facts, messages, issues. */
export function formatResult(result: ParseResult, layout: ResultLayout): string[] {
  const { messages, errors, warnings, notices } = result;
  const blocksByMessage = Map.groupBy(result.contentBlocks, ({ message_id }) => message_id);
  const rows = messages
    .slice(0, layout.limit)
    .map((message) => toMessageRow(message, blocksByMessage.get(message.id) ?? [], layout.timeZone));
  return [
    ...formatTable(FACT_COLUMNS, toFacts(result, layout), layout.maxWidth).slice(1),
    '',
    ...formatTable(MESSAGE_COLUMNS, rows, layout.maxWidth),
    ...toRemainder(messages.length, layout.limit, 'messages'),
    ...formatIssues('Errors', errors, layout),
    ...formatIssues('Warnings', warnings, layout),
    ...formatIssues('Not read, or not known', notices, layout),
  ];
}

function toFacts(result: ParseResult, layout: ResultLayout): string[][] {
  const { stats, metadata, contentBlocks, errors, warnings, notices } = result;
  const period = [metadata.firstTimestamp, metadata.lastTimestamp].map((time) =>
    formatTimestamp(time, layout.timeZone),
  );
  const facts: [string, string | null][] = [
    ['Session', layout.sessionId],
    ['Title', metadata.title],
    ['First prompt', stats.initial_prompt],
    ['Working directory', metadata.cwd],
    ['Branch', metadata.gitBranch],
    ['Models', metadata.models.join(', ')],
    ['Time', period[0] ? `${period[0]} to ${period[1]}, ${formatDuration(stats.duration_ms)}` : null],
    ['Lines', formatCount(metadata.lineCount)],
    [
      'Messages',
      `${formatCount(stats.total_messages)}: ${formatCount(stats.user_messages)} user, ${formatCount(stats.assistant_messages)} assistant`,
    ],
    [
      'Content blocks',
      `${formatCount(contentBlocks.length)}: ${formatCount(stats.tool_use_count)} tool uses, ${formatCount(stats.thinking_blocks)} thinking`,
    ],
    ['Sub-agents', formatCount(stats.subagent_count)],
    ['Tokens', formatTokens(stats)],
    [
      'Dollars',
      stats.tokens_in === null ? null : `${formatUsd(stats.cost_estimate_usd)} at list prices${formatUnpriced(result)}`,
    ],
    [
      'Issues',
      `${formatCount(errors.length)} errors, ${formatCount(warnings.length)} warnings, ${formatCount(notices.length)} notices`,
    ],
  ];
  return facts.flatMap(([label, value]) => (value ? [[label, toSingleLine(value)]] : []));
}

function formatTokens({
  tokens_in,
  tokens_out,
  cache_read,
  cache_write,
  output_only_count,
}: ParseResult['stats']): string {
  if (tokens_in === null) return 'unknown, because the transcript has no usage';
  const count = (tokens: number | null): string => formatCount(tokens ?? 0);
  const tooLow =
    output_only_count === 0 ? '' : `; too low, because ${count(output_only_count)} API responses have only output`;
  return `${count(tokens_in)} in, ${count(tokens_out)} out, ${count(cache_read)} cache read, ${count(cache_write)} cache write${tooLow}`;
}

/** Names the tier or speed that has no price, if it is not the usual one. */
function formatUnpriced({ stats: { unpriced_count }, apiResponses }: ParseResult): string {
  if (unpriced_count === 0) return '';
  const unpriced = apiResponses.filter(({ price_basis }) => price_basis === 'unpriced');
  const names = [...new Set(unpriced.map(toUnpricedName))];
  const more = names.length > MAX_UNPRICED ? ` and ${names.length - MAX_UNPRICED} more` : '';
  return `; without a price: ${formatCountOf(unpriced_count, 'API response')} of ${names.slice(0, MAX_UNPRICED).join(', ')}${more}`;
}

function toMessageRow(message: TranscriptMessage, blocks: readonly ParsedContentBlock[], timeZone: string): string[] {
  const toCell = (count: number | null): string => (count === null ? '' : formatCount(count));
  return [
    String(message.ordinal),
    String(message.line_number),
    formatTimestamp(message.timestamp, timeZone),
    message.is_sidechain ? `${message.message_type} (side)` : message.message_type,
    toBlockNames(blocks),
    toCell(message.tokens_in),
    toCell(message.tokens_out),
    toCell(message.cache_read),
    toCell(message.cache_write),
    message.cost_usd === null ? '' : formatUsd(message.cost_usd),
  ];
}

function toBlockNames(blocks: readonly ParsedContentBlock[]): string {
  const names = blocks.map(({ block_type, tool_name, is_error }) =>
    [block_type, tool_name, is_error === true ? 'failed' : null].filter(Boolean).join(' '),
  );
  const text = toSingleLine(names.join(', '));
  return text.length > MAX_BLOCKS_LENGTH ? `${text.slice(0, MAX_BLOCKS_LENGTH).toWellFormed()}…` : text;
}

function formatIssues(title: string, issues: readonly LineIssue[], { limit, maxWidth }: ResultLayout): string[] {
  if (issues.length === 0) return [];
  const rows = issues
    .slice(0, limit)
    .map(({ lineNumber, byteOffset, count, error }) => [
      String(lineNumber),
      String(byteOffset),
      String(count),
      toSingleLine(error),
    ]);
  return ['', title, ...formatTable(ISSUE_COLUMNS, rows, maxWidth), ...toRemainder(issues.length, limit, 'of them')];
}

function toRemainder(count: number, limit: number, noun: string): string[] {
  return count > limit ? [`… and ${formatCount(count - limit)} more ${noun}: --limit N shows more`] : [];
}
