import type { PEOPLE_SOURCES } from '@recount/contract/choices';
import { date, index, primaryKey, sql, text, unique } from '../drizzle.cjs';
import { identifier, isoTimestamp, recountSchema } from './column-types.ts';
import { workspaces } from './workspaces.ts';

const ofWorkspace = () =>
  identifier()
    .notNull()
    .references(() => workspaces.id, { onDelete: 'cascade' });

const changedAt = () => ({
  created_at: isoTimestamp().notNull().default(sql`now()`),
  updated_at: isoTimestamp().notNull().default(sql`now()`),
});

/** Who said it: an admin, a CSV file, or a claim of an identity provider. */
export type PeopleSource = (typeof PEOPLE_SOURCES)[number];

/** The people whose sessions a workspace has. Reports join them when they are read, so ingestion writes nothing here. */
export const people = recountSchema.table(
  'people',
  {
    workspace_id: ofWorkspace(),
    id: identifier().notNull(),
    /** Also one of the person's names, so that no two people, and no unattributed name, are shown alike. */
    display_name: text().notNull(),
    /** Also one of the person's names. */
    email: text(),
    /**
     * The person that this one was merged into, which is itself not merged. Its names and teams stay its own, so that
     * the merge can be undone.
     */
    merged_into: identifier(),
    joined_on: date({ mode: 'string' }),
    left_on: date({ mode: 'string' }),
    notes: text(),
    source: text().$type<PeopleSource>().notNull().default('manual'),
    ...changedAt(),
  },
  (table) => [primaryKey({ columns: [table.workspace_id, table.id] })],
);

/** Names under which people's sessions arrive. A session belongs to the person who has its name, ignoring case. */
export const personNames = recountSchema.table(
  'person_names',
  {
    workspace_id: ofWorkspace(),
    /** The name in lower case, by the rules of Postgres. */
    name_key: identifier().notNull(),
    name: text().notNull(),
    person_id: identifier().notNull(),
    created_at: isoTimestamp().notNull().default(sql`now()`),
  },
  (table) => [
    primaryKey({ columns: [table.workspace_id, table.name_key] }),
    index('person_names_person').on(table.workspace_id, table.person_id),
  ],
);

export const teams = recountSchema.table(
  'teams',
  {
    workspace_id: ofWorkspace(),
    id: identifier().notNull(),
    name: text().notNull(),
    /** The name in lower case, by the rules of Postgres. */
    name_key: identifier().notNull(),
    cost_centre: text(),
    lead_id: identifier(),
    ...changedAt(),
  },
  (table) => [
    primaryKey({ columns: [table.workspace_id, table.id] }),
    unique('teams_name_unique').on(table.workspace_id, table.name_key),
  ],
);

/**
 * The team of a person from a day (UTC) on. A period ends where the person's next one begins, so periods can neither
 * overlap nor count a response twice.
 */
export const teamMemberships = recountSchema.table(
  'team_memberships',
  {
    workspace_id: ofWorkspace(),
    person_id: identifier().notNull(),
    /** `-infinity` if it was always so. */
    starts_on: date({ mode: 'string' }).notNull().default('-infinity'),
    /** Null: in no team from then on. */
    team_id: identifier(),
    /** Null: the team's. */
    cost_centre: text(),
    source: text().$type<PeopleSource>().notNull().default('manual'),
    updated_at: isoTimestamp().notNull().default(sql`now()`),
  },
  (table) => [primaryKey({ columns: [table.workspace_id, table.person_id, table.starts_on] })],
);
