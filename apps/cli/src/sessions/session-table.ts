import { basename } from 'node:path';
import { formatCount, formatTimestamp, formatUsd } from '../terminal/format-values.ts';
import { formatTable, type TableColumn } from '../terminal/table.ts';
import { toSingleLine } from '../terminal/text-width.ts';
import type { LatestSessions, SessionFigures } from './read-sessions.ts';

const COLUMNS: readonly TableColumn[] = [
  { header: 'LAST ACTIVITY' },
  { header: 'PROJECT', minWidth: 8 },
  { header: 'SESSION', minWidth: 20 },
  { header: 'MESSAGES', align: 'right' },
  { header: 'IN', align: 'right', isOptional: true },
  { header: 'OUT', align: 'right' },
  { header: 'CACHE READ', align: 'right', isOptional: true },
  { header: 'CACHE WRITE', align: 'right', isOptional: true },
  { header: 'DOLLARS', align: 'right' },
];

/** A first prompt may be long; on a screen without end, nobody reads it all. */
const MAX_TITLE_LENGTH = 60;
const FOOTNOTES = [
  'IN, OUT and CACHE are tokens. ≈ is an estimate: list prices by model and date,',
  'or your own. What forks and resumed sessions share is in the figures of each;',
  '`recount report daily` counts every response once.',
];

const CONTESTED_NOTE = [
  'Another key has brought transcripts of these sessions that differ from what is',
  'shown; `GET /v1/sessions/{id}` names them and who brought them:',
];

/** The table of sessions, newest first, sub-agents below their parents; the headers are its first line. */
export function formatSessions(
  { sessions, hasMore }: LatestSessions,
  { inUtc, maxWidth }: { inUtc: boolean; maxWidth: number },
): string[] {
  if (sessions.length === 0) return ['No sessions yet.'];
  const rows = arrangeSessions(sessions).map(({ session, isBelowParent }) => [
    formatTimestamp(session.last_timestamp, inUtc),
    toSingleLine(basename(session.project ?? '')),
    toTitle(session, isBelowParent),
    formatCount(session.total_messages),
    formatCount(session.tokens_in),
    formatCount(session.tokens_out),
    formatCount(session.cache_read),
    formatCount(session.cache_write),
    `${formatUsd(session.cost_estimate_usd)}${isPartlyPriced(session) ? ' +' : ''}`,
  ]);
  const unpriced = sessions.some(isPartlyPriced)
    ? ['+ API responses without a price, which the figure lacks: recount report models']
    : [];
  const more = hasMore ? ['… and older ones: recount sessions --limit N'] : [];
  const contested = sessions.filter(({ other_uploader_count }) => other_uploader_count > 0);
  const contestedNote =
    contested.length > 0
      ? [...CONTESTED_NOTE, ...contested.map(({ session_id }) => `  ${toSingleLine(session_id)}`)]
      : [];
  return [...formatTable(COLUMNS, rows, maxWidth), ...more, ...FOOTNOTES, ...unpriced, ...contestedNote];
}

/** Some of its responses have a price, and others none. */
const isPartlyPriced = ({ cost_estimate_usd, unpriced_count }: SessionFigures): boolean =>
  cost_estimate_usd !== null && unpriced_count > 0;

function toTitle(session: SessionFigures, isBelowParent: boolean): string {
  const text = toSingleLine(session.title ?? session.initial_prompt ?? session.session_id);
  const title = text.length > MAX_TITLE_LENGTH ? `${text.slice(0, MAX_TITLE_LENGTH).toWellFormed()}…` : text;
  if (!session.is_subagent) return title;
  return isBelowParent ? `└ ${title}` : `(sub-agent) ${title}`;
}

interface ArrangedSession {
  session: SessionFigures;
  isBelowParent: boolean;
}

/** In the order given, but each sub-agent right below its parent where that is in the list too. */
export function arrangeSessions(sessions: readonly SessionFigures[]): ArrangedSession[] {
  const ids = new Set(sessions.map(({ session_id }) => session_id));
  const isBelow = ({ parent_session_id }: SessionFigures): boolean =>
    parent_session_id !== null && ids.has(parent_session_id);
  const children = Map.groupBy(sessions.filter(isBelow), ({ parent_session_id }) => parent_session_id);
  const placed = new Set<SessionFigures>();
  const place = (session: SessionFigures, isBelowParent: boolean): ArrangedSession[] => {
    if (placed.has(session)) return [];
    placed.add(session);
    const below = children.get(session.session_id) ?? [];
    return [{ session, isBelowParent }, ...below.flatMap((child) => place(child, true))];
  };
  // Whatever a transcript claims: those that name each other as parents are below nobody.
  const roots = sessions.filter((session) => !isBelow(session));
  return [...roots, ...sessions].flatMap((session) => place(session, false));
}
