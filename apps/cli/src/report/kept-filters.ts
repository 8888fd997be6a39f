import type { CliContext } from '../terminal/cli-context.ts';
import { type FilterOptions, toFilterQuery } from './report-query.ts';

/** The given filters that are kept with a budget or a digest, without its time. */
export function toKeptFilters(options: FilterOptions, context: CliContext): Record<string, unknown> {
  const { from: _from, to: _to, time_zone: _zone, session_id: _session, ...filters } = toFilterQuery(options, context);
  return Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== undefined));
}

/** Says in words what kept filters let through. */
export function describeKeptFilters(filters: Readonly<Record<string, unknown>>): string {
  const parts = Object.entries(filters).map(([key, value]) => `${key} ${[value].flat().join(' or ')}`);
  return parts.join(', ') || 'everything';
}
