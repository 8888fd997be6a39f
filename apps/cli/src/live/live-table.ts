import type { LiveStream } from '@recount/contract';
import { formatCount, formatDuration, formatUsd } from '../terminal/format-values.ts';
import { formatTable, type TableColumn } from '../terminal/table.ts';
import { toSingleLine } from '../terminal/text-width.ts';

/** As in the table of sessions. */
const SHORT_ID_LENGTH = 8;
const STATES = { open: 'running', closing: 'ending', closed: 'ended' } as const;

/** A line for each stream. */
export function formatLiveStreams(streams: readonly LiveStream[], nowMs: number, maxWidth: number): string[] {
  const ago = (timestamp: string): string => `${formatDuration(nowMs - Date.parse(timestamp))} ago`;
  const columns: TableColumn[] = [
    { header: 'SESSION' },
    { header: 'AGENT' },
    { header: 'STATE' },
    { header: 'STARTED' },
    { header: 'LAST LINE', isOptional: true, rank: 3 },
    { header: 'LINES', align: 'right', isOptional: true, rank: 1 },
    { header: 'MODEL', minWidth: 12, isOptional: true, rank: 0 },
    { header: 'TOKENS', align: 'right', isOptional: true, rank: 2 },
    { header: 'COST', align: 'right' },
  ];
  const shortIds = new Set(streams.map(({ session_id }) => session_id.slice(0, SHORT_ID_LENGTH)));
  const isTelling = shortIds.size === new Set(streams.map(({ session_id }) => session_id)).size;
  const rows = streams.map((stream) => {
    return [
      toSingleLine(isTelling ? stream.session_id.slice(0, SHORT_ID_LENGTH) : stream.session_id),
      stream.agent,
      STATES[stream.state],
      ago(stream.started_at),
      ago(stream.last_received_at),
      formatCount(stream.line_count),
      toSingleLine(stream.model ?? '–'),
      formatCount(stream.tokens_in + stream.tokens_out + stream.cache_read + stream.cache_write),
      stream.cost_usd === null ? '–' : formatUsd(stream.cost_usd),
    ];
  });
  return formatTable(columns, rows, maxWidth);
}
