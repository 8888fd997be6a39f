import { type SQL, sql } from '../drizzle.cjs';
import { ALWAYS, isAlways, type PeopleAttribution, type Period } from '../people/read-attribution.ts';

/** A name of sessions, exactly as they have it, and the time when its responses pass a filter. */
export interface AttributedName extends Period {
  name: string;
}

/** The condition that a column has one of the names. */
export function isOneOf(column: SQL, names: readonly string[]): SQL {
  // The planner knows more indexes for one value.
  return names.length === 1 ? sql`${column} = ${names[0]}` : sql`${column} = ANY(${sql.param([...names])}::text[])`;
}

/**
 * The condition that someone with one of the names did it, in the time of the name. What has no time passes if the
 * name's time has no end.
 */
export function isAttributedTo(person: SQL, time: SQL, attributed: readonly AttributedName[]): SQL {
  const isNamed = isOneOf(person, [...new Set(attributed.map(({ name }) => name))]);
  if (attributed.every(isAlways)) return isNamed;
  return sql`(${isNamed} AND EXISTS (
    SELECT FROM ${unnest('attributed', { name: attributed.map(({ name }) => name), ...toPeriods(attributed) })}
    WHERE attributed.name = ${person} AND ${isWithin('attributed', time)}))`;
}

/** The condition that a time is within the period of `alias`. */
const isWithin = (alias: string, time: SQL): SQL => {
  const column = (name: string): SQL => sql.raw(`${alias}.${name}::timestamptz`);
  return sql`CASE
    WHEN ${time} IS NULL THEN ${column('ends_before')} = 'infinity'
    ELSE ${time} >= ${column('starts_at')} AND ${time} < ${column('ends_before')}
  END`;
};

const toPeriods = (periods: readonly Period[]) => ({
  starts_at: periods.map(({ startsAt }) => startsAt),
  ends_before: periods.map(({ endsBefore }) => endsBefore),
});

/** Rows of a FROM with a text column for each list; all lists are of the same length. */
function unnest(alias: string, columns: Readonly<Record<string, readonly (string | null)[]>>): SQL {
  const lists = Object.values(columns).map((values) => sql`${sql.param([...values])}::text[]`);
  return sql`unnest(${sql.join(lists, sql`, `)}) AS ${sql.raw(`${alias} (${Object.keys(columns).join(', ')})`)}`;
}

/** Keys of reports that come from people. */
export const PEOPLE_KEYS = ['person', 'team', 'cost_centre'] as const;
export type PeopleKey = (typeof PEOPLE_KEYS)[number];

export const isPeopleKey = (key: string): key is PeopleKey => (PEOPLE_KEYS as readonly string[]).includes(key);

/** The value of such a key, in rows that `joinPeople` has joined. `person` is the name that the session has. */
export function toPeopleKey(key: PeopleKey, person: SQL, people: PeopleAttribution | undefined): SQL {
  if (key === 'person') return people === undefined ? person : sql`coalesce(named.person, ${person})`;
  if (people === undefined || people.periods.length === 0) return sql`NULL::text`;
  return sql.raw(`member.${key}`);
}

/**
 * Joins what keys need: `named` for people, `member` for teams and cost centres. Each row has one of them at most. They
 * are lists of a few thousand names, so a change of a team shows immediately, and nothing of it is stored with the usage.
 */
export function joinPeople(
  keys: readonly string[],
  { person, time }: { person: SQL; time: SQL },
  people: PeopleAttribution | undefined,
): SQL {
  if (people === undefined) return sql``;
  const { names, periods, isConstant } = people;
  const joins: SQL[] = [];
  if (keys.includes('person')) {
    const columns = { name_key: names.map(({ nameKey }) => nameKey), person: names.map((name) => name.person) };
    joins.push(sql`LEFT JOIN ${unnest('named', columns)} ON named.name_key = lower(${person})`);
  }
  if (periods.length > 0 && (keys.includes('team') || keys.includes('cost_centre'))) {
    const columns = {
      name_key: periods.map(({ nameKey }) => nameKey),
      team: periods.map(({ team }) => team),
      cost_centre: periods.map(({ costCentre }) => costCentre),
      ...toPeriods(periods),
    };
    const isThen = isConstant ? sql`` : sql`AND ${isWithin('member', time)}`;
    joins.push(sql`LEFT JOIN ${unnest('member', columns)} ON member.name_key = lower(${person}) ${isThen}`);
  }
  return sql.join(joins, sql` `);
}

/** Names whose sessions all pass. */
export const toAttributed = (names: readonly string[]): AttributedName[] => names.map((name) => ({ name, ...ALWAYS }));
