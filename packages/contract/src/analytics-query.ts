import { DEFAULT_AGENT_ID, KINDS_OF_WORK } from '@recount/core';
import { z } from 'zod';
import { type GroupKey, SUBAGENT_FILTERS } from './choices.ts';
import { MAX_PATH_LENGTH, nameText, sessionIdParameter, text } from './fields.ts';

const DEFAULT_REPORT_ROWS = 1000;
const MAX_REPORT_ROWS = 10_000;
/** Sums are stored in 15-minute buckets. Every time zone's offset is a multiple of 15 minutes. */
const BUCKET_MS = 15 * 60_000;
const MAX_FILTER_LENGTH = 1000;
const MAX_FILTER_VALUES = 100;
const MAX_TIME_ZONE_LENGTH = 64;
const MAX_GROUP_BY_LENGTH = 200;
const MAX_BREAKDOWNS = 12;

const EARLIEST_MS = Date.UTC(1900, 0, 1);
const END_MS = Date.UTC(10_000, 0, 1);

function isReportMoment(value: string): boolean {
  const isKnownForm =
    z.iso.date().safeParse(value).success || z.iso.datetime({ offset: true }).safeParse(value).success;
  const ms = isKnownForm ? Date.parse(value) : Number.NaN;
  return ms >= EARLIEST_MS && ms < END_MS && ms % BUCKET_MS === 0;
}

/** A date, interpreted in the time zone, or a moment. */
export const reportMomentField = z
  .string()
  .refine(
    isReportMoment,
    'Must be a date, or a date and time with Z or an offset in multiples of 15 minutes, in the years 1900 to 9999',
  )
  .meta({ examples: ['2026-01-31', '2026-01-31T12:15:00Z', '2026-01-31T12:00:00+02:00'] });

function isTimeZone(name: string): boolean {
  // Abbreviations and offsets mean different things to different programs.
  if (name !== 'UTC' && !/^[A-Za-z_]+(\/[A-Za-z0-9_+-]+)+$/.test(name)) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

export const timeZoneField = z
  .string()
  .max(MAX_TIME_ZONE_LENGTH)
  .refine(isTimeZone, 'Not a time zone of the IANA database, such as Europe/Berlin, nor UTC')
  .default('UTC')
  .describe('IANA time zone of days, weeks and months, and of dates in `from` and `to`');

/** A name to filter by, or several: the parameter may be repeated. */
export function namesField(name: z.ZodString, description: string) {
  return z
    .union([name, z.array(name).min(1).max(MAX_FILTER_VALUES)])
    .optional()
    .describe(
      `${description}, or a part of its name, which means all that match. May be repeated, at most ${MAX_FILTER_VALUES} times, for what has any of them`,
    );
}

/** Filters by name that reports, searches and lists of sessions accept. */
export const nameFilterFields = {
  agent: namesField(text(MAX_FILTER_LENGTH), `Agent, e.g. \`${DEFAULT_AGENT_ID}\``),
  repository: namesField(text(MAX_PATH_LENGTH), 'Repository of the session'),
  project: namesField(text(MAX_PATH_LENGTH), 'Working directory of the session'),
  machine: namesField(nameText, 'Machine that the session ran on, as its uploader named it'),
  person: namesField(
    nameText,
    'Person whose session it is: one of the workspace’s people, by any of their names, or whom the key or uploader names',
  ),
  team: namesField(nameText, 'Team of that person on that day (UTC), of sessions on the day of their start'),
  cost_centre: namesField(nameText, 'Cost centre of that person or team on that day'),
  kind_of_work: namesField(
    nameText,
    `Kind of work of the turn where usage is counted, of any turn of the session elsewhere: ${KINDS_OF_WORK.join(', ')}`,
  ),
};

/** Filters that every report accepts. */
export const reportFilterFields = {
  from: reportMomentField.optional().describe('Only what happened at or after this date or moment'),
  to: reportMomentField.optional().describe('Only what happened before this date or moment'),
  time_zone: timeZoneField,
  ...nameFilterFields,
  git_branch: namesField(
    text(MAX_FILTER_LENGTH),
    'Git branch, of the response where usage is counted, of the session elsewhere',
  ),
  model: namesField(text(MAX_FILTER_LENGTH), 'Model; for sessions and their events, the sessions that used it'),
  session_id: sessionIdParameter.optional().describe('Only this session; the beginning of its id is enough'),
  subagents: z.enum(SUBAGENT_FILTERS).default('include').describe('Sub-agents included, excluded, or only'),
};

const meantField = z
  .array(z.string())
  .nullable()
  .describe('Full names of all that the filter means, empty if it means none; null without the filter');

const unmatchedNamesField = z
  .array(
    z.object({
      field: z.string().describe('The parameter'),
      value: z.string(),
      message: z.string().describe('For the person who typed it'),
      candidates: z.array(z.string()).describe('What may be meant, the most similar first'),
    }),
  )
  .describe('Values that match nothing in the workspace. If all values of a filter are here, nothing passes it');

/** The meaning of filters by name, in answers. */
export const meantNamesFields = {
  agent: meantField,
  repository: meantField,
  project: meantField,
  git_branch: meantField,
  machine: meantField,
  person: meantField,
  team: meantField,
  cost_centre: meantField,
  kind_of_work: meantField,
  model: meantField,
  unmatched: unmatchedNamesField,
};

export const meantNamesSchema = z
  .object(meantNamesFields)
  .meta({ id: 'MeantNames', description: 'What the filters by name mean' });

export type MeantNames = z.infer<typeof meantNamesSchema>;

export const reportLimitField = z.coerce
  .number()
  .int()
  .min(1)
  .max(MAX_REPORT_ROWS)
  .default(DEFAULT_REPORT_ROWS)
  .describe(`Rows at most, 1 to ${MAX_REPORT_ROWS}; \`truncated\` is true if there are more`);

/** Keys of groups, separated by commas. */
function keysText<Key extends GroupKey>(keys: readonly Key[]) {
  const possible = new Set<string>(keys);
  return z
    .string()
    .max(MAX_GROUP_BY_LENGTH)
    .refine(
      (value) => {
        const names = splitKeys(value);
        return names.every((name) => possible.has(name)) && new Set(names).size === names.length;
      },
      `Here, a list with commas of: ${keys.join(', ')}; each once at most`,
    );
}

const splitKeys = (value: string): string[] => (value === '' ? [] : value.split(',').map((name) => name.trim()));

/** `group_by` of a report that can be grouped by `keys`. */
export function groupByField<Key extends GroupKey>(keys: readonly Key[], defaultKeys: readonly Key[] = []) {
  return keysText(keys)
    .default(defaultKeys.join(','))
    .transform((value) => splitKeys(value) as Key[])
    .describe(
      `One row for each combination of these, separated by commas: ${keys.join(', ')}. Empty means no such groups`,
    );
}

/** `breakdown` of a report that can be grouped by `keys`. */
export function breakdownField<Key extends GroupKey>(keys: readonly Key[]) {
  const one = keysText(keys);
  return z
    .union([one, z.array(one).min(1).max(MAX_BREAKDOWNS)])
    .transform((value) => [value].flat().map((each) => splitKeys(each) as Key[]))
    .optional()
    .describe(
      `Further groups, as in \`group_by\`, whose rows come with the same answer. May be repeated, at most ${MAX_BREAKDOWNS} times; \`limit\` applies to each`,
    );
}
