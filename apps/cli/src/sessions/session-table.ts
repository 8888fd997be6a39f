import { basename } from 'node:path';
import { formatCell, toCostDecimals } from '../report/format-cell.ts';
import { formatCount, formatTimestamp } from '../terminal/format-values.ts';
import { formatTable, type TableColumn } from '../terminal/table.ts';
import { toSingleLine } from '../terminal/text-width.ts';
import type { LatestSessions, SessionFigures } from './read-sessions.ts';

export interface SessionTableLayout {
  /** IANA name; true stands for UTC, false for the time zone of this machine. */
  timeZone: string | boolean;
  maxWidth: number;
  /** Names of SESSION_COLUMNS; default DEFAULT_COLUMNS. */
  columns?: readonly string[] | undefined;
}

interface Row extends ArrangedSession {
  shortId: string;
  costDecimals: number;
}

interface SessionColumn extends TableColumn {
  toCell(row: Row, timeZone: string | boolean): string;
}

const count = (header: string, toNumber: (session: SessionFigures) => number | null, rank?: number): SessionColumn => ({
  header,
  align: 'right',
  ...(rank !== undefined && { isOptional: true, rank }),
  toCell({ session }) {
    const value = toNumber(session);
    return value === null ? '–' : formatCount(value);
  },
});
const text = (header: string, toText: (session: SessionFigures) => string | null | undefined): SessionColumn => ({
  header,
  minWidth: Math.max(8, header.length),
  toCell: ({ session }) => toSingleLine(toText(session) ?? '') || '–',
});

/** Null if the transcript has no usage. */
export const toTokens = ({
  tokens_in,
  tokens_out,
  cache_read,
  cache_write,
}: Pick<SessionFigures, 'tokens_in' | 'tokens_out' | 'cache_read' | 'cache_write'>): number | null =>
  tokens_in === null ? null : tokens_in + (tokens_out ?? 0) + (cache_read ?? 0) + (cache_write ?? 0);
const toErrors = ({ tool_error_count, api_error_count }: SessionFigures): number => tool_error_count + api_error_count;

/** All columns of the table, by their names in `--columns`. */
export const SESSION_COLUMNS: Readonly<Record<string, SessionColumn>> = {
  id: { header: 'ID', toCell: ({ shortId }) => shortId },
  'full-id': { header: 'ID', toCell: ({ session }) => toSingleLine(session.session_id) },
  last: { header: 'LAST ACTIVITY', toCell: ({ session }, zone) => formatTimestamp(session.last_timestamp, zone) },
  began: { header: 'STARTED', toCell: ({ session }, zone) => formatTimestamp(session.first_timestamp, zone) },
  project: text('PROJECT', ({ project }) => basename(project ?? '') || project),
  path: { ...text('PROJECT', ({ project }) => project), keeps: 'end' },
  branch: text('BRANCH', ({ git_branch }) => git_branch),
  repository: { ...text('REPOSITORY', ({ repository }) => repository), keeps: 'end' },
  commit: text('COMMIT', ({ commit_hash }) => commit_hash?.slice(0, SHORT_COMMIT_LENGTH)),
  title: { header: 'SESSION', minWidth: 16, toCell: toTitle },
  agent: text('AGENT', ({ agent }) => agent),
  model: text('MODEL', ({ models }) => models.join(', ')),
  machine: text('MACHINE', ({ machine }) => machine),
  person: text('PERSON', ({ person }) => person),
  tags: text('TAGS', ({ tags }) => tags?.join(', ')),
  note: text('NOTE', ({ note }) => note),
  messages: count('MESSAGES', ({ total_messages }) => total_messages, 1),
  tokens: count('TOKENS', toTokens, 2),
  in: count('IN', ({ tokens_in }) => tokens_in),
  out: count('OUT', ({ tokens_out }) => tokens_out),
  'cache-read': count('CACHE READ', ({ cache_read }) => cache_read),
  'cache-write': count('CACHE WRITE', ({ cache_write }) => cache_write),
  errors: count('ERRORS', toErrors, 3),
  duration: {
    header: 'DURATION',
    align: 'right',
    toCell: ({ session }) => formatCell(session.duration_ms, 'duration', COST_LAYOUT),
  },
  cost: { header: 'COST', align: 'right', toCell: toCost },
};
const DEFAULT_COLUMNS = ['id', 'last', 'project', 'title', 'messages', 'tokens', 'errors', 'cost'] as const;

const COST_LAYOUT = { currencyLabel: 'USD', costDecimals: 2, timeZone: 'UTC', largest: 0 };
/** Titles are cut even on an unlimited screen, because a first prompt may be long. */
const MAX_TITLE_LENGTH = 60;
const MIN_ID_LENGTH = 8;
const SHORT_COMMIT_LENGTH = 8;
const FOOTNOTES = [
  'Costs are estimates by list price, or your own prices. Forked and resumed',
  'sessions include shared responses; `recount report` counts each once.',
];

const CONTESTED_NOTE = [
  'Another key has extended these sessions, or uploaded transcripts of them that',
  'differ; `recount why ID` and `GET /v1/sessions/{id}` name the uploaders:',
];

/** The table of sessions in the given order, sub-agents below their parents; its first line has the headers. */
export function formatSessions({ sessions, hasMore }: LatestSessions, layout: SessionTableLayout): string[] {
  if (sessions.length === 0) return ['No sessions yet.'];
  const columns = (layout.columns ?? DEFAULT_COLUMNS).flatMap((name) => SESSION_COLUMNS[name] ?? []);
  const shortIds = toShortIds(sessions);
  const costDecimals = toCostDecimals(Math.max(...sessions.map(({ cost_estimate_usd }) => cost_estimate_usd ?? 0)));
  const rows = arrangeSessions(sessions).map((arranged) => {
    const row = { ...arranged, costDecimals, shortId: shortIds.get(arranged.session) ?? '' };
    return columns.map(({ toCell }) => toCell(row, layout.timeZone));
  });
  const unpriced = sessions.some(isPartlyPriced)
    ? ['+ API responses without a price or without their input are missing: recount why ID']
    : [];
  const more = hasMore ? ['… and more: recount sessions --limit N'] : [];
  const contested = sessions.filter(({ other_uploader_count }) => other_uploader_count > 0);
  const contestedNote =
    contested.length > 0
      ? [...CONTESTED_NOTE, ...contested.map(({ session_id }) => `  ${toSingleLine(session_id)}`)]
      : [];
  return [...formatTable(columns, rows, layout.maxWidth), ...more, ...FOOTNOTES, ...unpriced, ...contestedNote];
}

/** Prefixes of ids that distinguish these sessions, as accepted by filters; for a sub-agent, its agent id. */
function toShortIds<Named extends Pick<SessionFigures, 'session_id' | 'is_subagent' | 'agent_id'>>(
  sessions: readonly Named[],
): Map<Named, string> {
  const toName = ({ session_id, is_subagent, agent_id }: Named): string =>
    toSingleLine(is_subagent && agent_id !== null ? agent_id : session_id);
  const names = new Set(sessions.map(toName));
  for (let length = MIN_ID_LENGTH; ; length += 4) {
    const isEnough = new Set([...names].map((name) => name.slice(0, length))).size === names.size;
    if (isEnough || [...names].every((name) => name.length <= length)) {
      return new Map(sessions.map((session) => [session, toName(session).slice(0, length)]));
    }
  }
}

/** Only some of its responses have a price, or only some of their tokens are counted. */
const isPartlyPriced = ({ cost_estimate_usd, unpriced_count, output_only_count = 0 }: SessionFigures): boolean =>
  cost_estimate_usd !== null && (unpriced_count > 0 || output_only_count > 0);

function toCost({ session, costDecimals }: Row): string {
  const cost = formatCell(session.cost_estimate_usd, 'cost', { ...COST_LAYOUT, costDecimals });
  return isPartlyPriced(session) ? `${cost} +` : cost;
}

function toTitle({ session, isBelowParent }: Row): string {
  const text = toSingleLine(session.title);
  const title = text.length > MAX_TITLE_LENGTH ? `${text.slice(0, MAX_TITLE_LENGTH).toWellFormed()}…` : text;
  if (!session.is_subagent) return session.is_starred ? `★ ${title}` : title;
  return isBelowParent ? `└ ${title}` : `(sub-agent) ${title}`;
}

interface ArrangedSession {
  session: SessionFigures;
  isBelowParent: boolean;
}

/** In the given order, but each sub-agent right below its parent if that is in the list too. */
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
  // Transcripts may claim anything. Sessions that name each other as parents are at the top level.
  const roots = sessions.filter((session) => !isBelow(session));
  return [...roots, ...sessions].flatMap((session) => place(session, false));
}
