import { AGENTS } from '@recount/core';
import { matchName } from '@recount/db/match-name';
import type { LocalLedger, SharedCopy, UsageFilter } from '@recount/usage';
import { toRangeNote } from '../report/range-note.ts';
import { UsageError } from '../terminal/cli-error.ts';

const MAX_OFFERED = 5;

/**
 * The filter with full names. As everywhere, any part of a project's path, of a model's or an agent's name means all
 * that have it; the beginning of a session's id must be unique. Throws UsageError, with the nearest names, if nothing
 * matches.
 */
export function resolveFilter(
  { rows, shared }: Pick<LocalLedger, 'rows' | 'shared'>,
  filter: UsageFilter,
): UsageFilter {
  const resolve = (
    what: string,
    wanted: readonly string[] | undefined,
    nameOf: (copy: SharedCopy) => string | null,
    others: readonly string[] = [],
  ): string[] | undefined => {
    if (wanted === undefined) return undefined;
    const names = [...new Set([...[...rows, ...shared].map(nameOf), ...others])].filter((name) => name !== null);
    return [...new Set(wanted.flatMap((each) => findNames(what, each, names)))];
  };
  const sessions = resolve(
    'session',
    filter.session === undefined ? undefined : [filter.session],
    (row) => row.sessionId,
  );
  if (sessions !== undefined && sessions.length > 1) {
    const offered = sessions.slice(0, MAX_OFFERED).join(', ');
    throw new UsageError(`${filter.session} matches several sessions: ${offered}. Use more of the name.`);
  }
  return {
    ...filter,
    agent: resolve(
      'agent',
      filter.agent,
      ({ agent }) => agent,
      AGENTS.map(({ id }) => id),
    ),
    project: resolve('project', filter.project, ({ project }) => project),
    model: resolve('model', filter.model, ({ model }) => model),
    session: sessions?.[0],
  };
}

function findNames(what: string, wanted: string, names: readonly string[]): string[] {
  const match = matchName(wanted, names);
  if (match.names.length > 0) return match.names;
  const { nearest } = match;
  const offered = names.slice(0, MAX_OFFERED).join(', ');
  const rest = names.length === 0 ? ' here' : `; there are ${offered}${names.length > MAX_OFFERED ? ', …' : ''}`;
  throw new UsageError(
    `No ${what} matches "${wanted}"${nearest.length > 0 ? `; did you mean ${nearest.join(' or ')}?` : `${rest}.`}`,
  );
}

/** If the requested time has no usage, says when there is some; undefined if no time was requested. */
export function describeEmptyRange(
  { rows }: Pick<LocalLedger, 'rows'>,
  { fromMs, toMs }: UsageFilter,
  timeZone: string,
): string | undefined {
  if (fromMs === undefined && toMs === undefined) return undefined;
  const times = rows.flatMap(({ timestampMs }) => timestampMs ?? []);
  const toIso = (ms: number): string | null => (times.length === 0 ? null : new Date(ms).toISOString());
  const toExtreme = (pick: (a: number, b: number) => number): number =>
    times.reduce((a, b) => pick(a, b), times[0] ?? 0);
  return toRangeNote({ first: toIso(toExtreme(Math.min)), last: toIso(toExtreme(Math.max)) }, timeZone);
}
