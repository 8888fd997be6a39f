import { DEFAULT_AGENT_ID } from '@recount/core';
import { z } from 'zod';
import { type GroupKey, SUBAGENT_FILTERS } from './choices.ts';
import { MAX_PATH_LENGTH, machineParameter, personParameter, sessionIdParameter, text } from './fields.ts';

const DEFAULT_REPORT_ROWS = 1000;
const MAX_REPORT_ROWS = 10_000;
/** Sums are stored in 15-minute buckets. Every time zone's offset is a multiple of 15 minutes. */
const BUCKET_MS = 15 * 60_000;
const MAX_FILTER_LENGTH = 1000;
const MAX_TIME_ZONE_LENGTH = 64;
const MAX_GROUP_BY_LENGTH = 200;

const EARLIEST_MS = Date.UTC(1900, 0, 1);
const END_MS = Date.UTC(10_000, 0, 1);

function isReportMoment(value: string): boolean {
  const isKnownForm =
    z.iso.date().safeParse(value).success || z.iso.datetime({ offset: true }).safeParse(value).success;
  const ms = isKnownForm ? Date.parse(value) : Number.NaN;
  return ms >= EARLIEST_MS && ms < END_MS && ms % BUCKET_MS === 0;
}

/** A date, interpreted in the time zone, or a moment. */
const reportMomentField = z
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

/** Filters that every report accepts. */
export const reportFilterFields = {
  from: reportMomentField.optional().describe('Only what happened at or after this date or moment'),
  to: reportMomentField.optional().describe('Only what happened before this date or moment'),
  time_zone: timeZoneField,
  agent: text(MAX_FILTER_LENGTH).optional().describe(`Agent, e.g. \`${DEFAULT_AGENT_ID}\`, or a part of its name`),
  project: text(MAX_PATH_LENGTH)
    .optional()
    .describe('Working directory of the session, or a part of its path that no other project has'),
  git_branch: text(MAX_FILTER_LENGTH)
    .optional()
    .describe('Git branch of the response where usage is counted, of the session elsewhere'),
  machine: machineParameter.optional(),
  person: personParameter.optional(),
  model: text(MAX_FILTER_LENGTH)
    .optional()
    .describe(
      'Model, or a part of its name that no other model has; for sessions and their events, the sessions that used it',
    ),
  session_id: sessionIdParameter.optional().describe('Only this session; the beginning of its id is enough'),
  subagents: z.enum(SUBAGENT_FILTERS).default('include').describe('Sub-agents included, excluded, or only'),
};

export const reportLimitField = z.coerce
  .number()
  .int()
  .min(1)
  .max(MAX_REPORT_ROWS)
  .default(DEFAULT_REPORT_ROWS)
  .describe(`Rows at most, 1 to ${MAX_REPORT_ROWS}; \`truncated\` is true if there are more`);

/** `group_by` of a report that can be grouped by `keys`. */
export function groupByField<Key extends GroupKey>(keys: readonly Key[], defaultKeys: readonly Key[] = []) {
  const possible = new Set<string>(keys);
  const split = (value: string) => (value === '' ? [] : value.split(',').map((name) => name.trim()));
  return z
    .string()
    .max(MAX_GROUP_BY_LENGTH)
    .refine(
      (value) => {
        const names = split(value);
        return names.every((name) => possible.has(name)) && new Set(names).size === names.length;
      },
      `Here, a list with commas of: ${keys.join(', ')}; each once at most`,
    )
    .default(defaultKeys.join(','))
    .transform((value) => split(value) as Key[])
    .describe(
      `One row for each combination of these, separated by commas: ${keys.join(', ')}. Empty means no such groups`,
    );
}
