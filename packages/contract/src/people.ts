import { z } from 'zod';
import { PEOPLE_SOURCES } from './choices.ts';
import { countField, flagField, nameText, nextCursorField, pageQueryFields, text, timestampField } from './fields.ts';
import { knownCostField } from './usage-figures.ts';

const MAX_NAMES_OF_PERSON = 100;
const MAX_MEMBERSHIPS = 200;
const MAX_LED_TEAMS = 100;
const MAX_NOTES_LENGTH = 4000;
const MAX_ID_LENGTH = 64;

/** A name as people type it: one line, without spaces at its ends. */
const trimmedName = nameText.refine((value) => value.trim() === value, 'No spaces at its ends');
const personIdField = text(MAX_ID_LENGTH).describe('Id of a person');
const dayField = z.iso.date();
/** Postgres has no year 0. */
const dayParameter = dayField.refine((day) => day >= '1900', 'Not a day of the years 1900 to 9999');
const MEMBERSHIP_FROM = 'First day, UTC; null: always';
const emailField = trimmedName.refine((value) => /^[^\s@]+@[^\s@]+$/.test(value), 'Not an e-mail address');

const membershipFields = {
  team: z.string().nullable().describe('Name of the team; null for none'),
  cost_centre: z.string().nullable().describe('Their own cost centre; null if the team’s counts'),
  from: dayField.nullable().describe(MEMBERSHIP_FROM),
};

export const personSchema = z
  .object({
    id: personIdField,
    display_name: z.string().describe('Their name in reports'),
    email: z.string().nullable(),
    names: z
      .array(z.string())
      .describe(
        'Names under which their sessions arrive, in any case: display name and e-mail, git identities, users of machines, persons of keys',
      ),
    team: z.string().nullable().describe('Today’s team; null for none'),
    cost_centre: z.string().nullable().describe('Today’s cost centre, their own or the team’s; null for none'),
    leads: z.array(z.string()).describe('Names of the teams that they lead'),
    joined_on: z.string().nullable().describe('First day'),
    left_on: z.string().nullable().describe('Last day'),
    notes: z.string().nullable(),
    source: z.enum(PEOPLE_SOURCES).describe('Who added them: an admin, a file, an identity provider'),
    memberships: z
      .array(z.object(membershipFields))
      .describe(
        'Teams, the latest first. Each lasts until the next one begins. A response counts for the team of its day (UTC)',
      ),
    merged: z
      .array(z.object({ id: personIdField, display_name: z.string(), names: z.array(z.string()) }))
      .describe('People who were merged into this one. Their names count as this one’s'),
    figures: z
      .object({ sessions: countField, cost_usd: knownCostField, last_timestamp: timestampField.nullable() })
      .nullable()
      .describe('Of all time; null unless asked for with `figures=true`'),
  })
  .meta({ id: 'Person', description: 'Someone whose sessions the workspace has' });

export type Person = z.infer<typeof personSchema>;

const changeFields = {
  display_name: trimmedName.describe('Their name in reports; no one else may have it'),
  email: emailField.nullable(),
  names: z
    .array(trimmedName)
    .max(MAX_NAMES_OF_PERSON)
    .describe('All names besides display name and e-mail. Names that are left out become unattributed'),
  team: trimmedName.nullable().describe('Name of a team; null for none'),
  cost_centre: trimmedName.nullable().describe('Their own cost centre; null if the team’s counts'),
  team_from: dayParameter
    .nullable()
    .describe(
      'First day (UTC) of `team` and `cost_centre`; null: always. By default from today on, or always if this is their first team',
    ),
  memberships: z
    .array(
      z.object({
        ...membershipFields,
        ...{
          team: trimmedName.nullable(),
          cost_centre: trimmedName.nullable(),
          from: dayParameter.nullable().describe(MEMBERSHIP_FROM),
        },
      }),
    )
    .max(MAX_MEMBERSHIPS)
    .describe('All teams of all times, instead of the three fields above'),
  leads: z
    .array(trimmedName)
    .max(MAX_LED_TEAMS)
    .describe('Names of all teams that they lead. Teams that are left out have no lead afterwards'),
  joined_on: dayParameter.nullable(),
  left_on: dayParameter.nullable(),
  notes: text(MAX_NOTES_LENGTH).nullable(),
};

export const newPersonSchema = z
  .strictObject({ ...z.strictObject(changeFields).partial().shape, display_name: changeFields.display_name })
  .meta({ id: 'NewPerson' });

export const personChangeSchema = z
  .strictObject(changeFields)
  .partial()
  .refine((change) => Object.keys(change).length > 0, 'Nothing to change')
  .meta({ id: 'PersonChange', description: 'Fields that are left out stay as they are' });

export type PersonChange = z.infer<typeof personChangeSchema>;

export const personParamsSchema = z.object({ person_id: personIdField });

export const peopleQuerySchema = z.object({
  search: nameText.optional().describe('Part of a name'),
  team: nameText.optional().describe('Only people who are in this team today'),
  figures: flagField.optional().describe('With sessions, cost and last activity of all time'),
  ...pageQueryFields,
});

export const personListSchema = z
  .object({ people: z.array(personSchema), next_cursor: nextCursorField })
  .meta({ id: 'PersonList', description: 'In the order of their names, without those merged into others' });

const figuresSchema = z.object({
  sessions: countField.describe('All sessions, also without usage'),
  cost_usd: knownCostField,
  last_timestamp: timestampField.nullable(),
});

export const unattributedListSchema = z
  .object({
    names: z.array(
      figuresSchema.extend({
        name: z.string().nullable().describe('As the sessions have it; null for sessions without a name'),
        suggestions: z
          .array(z.object({ id: personIdField, display_name: z.string() }))
          .describe('People with a similar name, the most similar first; nothing is attributed to them'),
      }),
    ),
    next_cursor: nextCursorField,
  })
  .meta({ id: 'UnattributedList', description: 'Names that no person has, the most expensive first' });

export type UnattributedList = z.infer<typeof unattributedListSchema>;

export const unattributedQuerySchema = z.object(pageQueryFields);

/** Bytes of a file of people. */
export const MAX_PEOPLE_CSV_LENGTH = 2_000_000;

export const peopleImportRequestSchema = z
  .strictObject({
    csv: text(MAX_PEOPLE_CSV_LENGTH).describe(
      'A header line with `name` and any of `email`, `names` (separated by semicolons; in quotes if they have one), `team`, `cost_centre`, `team_from`, `leads` (likewise), `joined`, `left`, `notes`; then a line for each person, at most 5,000',
    ),
    apply: z.boolean().default(false).describe('False: only say what would change'),
  })
  .meta({ id: 'PeopleImportRequest' });

const importRowSchema = z.object({
  line: countField.describe('Line of the file, from 1'),
  name: z.string(),
  action: z.enum(['create', 'change', 'unchanged', 'error']),
  fields: z.array(z.string()).describe('Fields that change'),
  error: z.string().nullable(),
});

export type PeopleImportRow = z.infer<typeof importRowSchema>;

export const peopleImportSchema = z
  .object({
    applied: z.boolean().describe('False without `apply`, or if a line has an error: then nothing is changed'),
    rows: z.array(importRowSchema),
    created_teams: z.array(z.string()),
  })
  .meta({ id: 'PeopleImport', description: 'What a file of people changes, or would change' });

export type PeopleImport = z.infer<typeof peopleImportSchema>;

export type PersonList = z.infer<typeof personListSchema>;

export const personMergeSchema = z
  .strictObject({ into: personIdField.describe('The person who is left') })
  .meta({ id: 'PersonMerge' });

export const teamSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    cost_centre: z.string().nullable().describe('Of all members, unless they have another one'),
    lead: z.object({ id: personIdField, display_name: z.string() }).nullable(),
    members: countField.describe('People who are in it today'),
  })
  .meta({ id: 'Team', description: 'People whose costs are added up' });

export type Team = z.infer<typeof teamSchema>;

const teamFields = {
  name: trimmedName.describe('Name in reports; no other team may have it'),
  cost_centre: trimmedName.nullable(),
  lead_id: personIdField.nullable(),
};

export const newTeamSchema = z
  .strictObject({ ...z.strictObject(teamFields).partial().shape, name: teamFields.name })
  .meta({ id: 'NewTeam' });

export const teamChangeSchema = z
  .strictObject(teamFields)
  .partial()
  .refine((change) => Object.keys(change).length > 0, 'Nothing to change')
  .meta({ id: 'TeamChange', description: 'Fields that are left out stay as they are' });

export const teamParamsSchema = z.object({ team_id: text(MAX_ID_LENGTH).describe('Id of a team') });

export const teamsQuerySchema = z.object(pageQueryFields);

export const teamListSchema = z
  .object({ teams: z.array(teamSchema), next_cursor: nextCursorField })
  .meta({ id: 'TeamList', description: 'In the order of their names' });

export type TeamList = z.infer<typeof teamListSchema>;
