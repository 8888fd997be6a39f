import { AGENTS } from '@recount/core';
import { matchName } from '@recount/db/match-name';
import type { LocalLedger, SharedCopy, UsageFilter } from '@recount/usage';
import { toRangeNote } from '../report/range-note.ts';
import { UsageError } from '../terminal/cli-error.ts';

const MAX_OFFERED = 5;

/**
 * The filter with full names. As everywhere, any unique part of a project's path, of a model's or an agent's name, or
 * prefix of a session's id will do. Throws UsageError, with the nearest names, if nothing matches.
 */
export function resolveFilter(
  { rows, shared }: Pick<LocalLedger, 'rows' | 'shared'>,
  filter: UsageFilter,
): UsageFilter {
  const resolve = (
    what: string,
    wanted: string | undefined,
    nameOf: (copy: SharedCopy) => string | null,
    others: readonly string[] = [],
  ): string | undefined => {
    if (wanted === undefined) return undefined;
    const names = [...new Set([...[...rows, ...shared].map(nameOf), ...others])].filter((name) => name !== null);
    const match = matchName(wanted, names);
    if (match.kind === 'one') return match.name;
    if (match.kind === 'several') {
      throw new UsageError(`${wanted} matches several ${what}s: ${match.names.join(', ')}. Use more of the name.`);
    }
    const { nearest } = match;
    const offered = names.slice(0, MAX_OFFERED).join(', ');
    const rest = names.length === 0 ? ' here' : `; there are ${offered}${names.length > MAX_OFFERED ? ', …' : ''}`;
    throw new UsageError(
      `There is no ${what} ${wanted}${nearest.length > 0 ? `; did you mean ${nearest.join(' or ')}?` : `${rest}.`}`,
    );
  };
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
    session: resolve('session', filter.session, ({ sessionId }) => sessionId),
  };
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
