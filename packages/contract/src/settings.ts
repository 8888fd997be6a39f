import { z } from 'zod';

const MAX_AGE_DAYS = 36_500;

const redactionField = z
  .enum(['off', 'rows', 'rows-and-raw'])
  .describe(
    [
      'What becomes of secrets that rules find in transcripts. `off`: nothing.',
      '`rows`: rows have `[REDACTED:<rule>]` in their place; raw transcripts stay as they are.',
      '`rows-and-raw`: a redacted copy, every line at its place, replaces the raw transcript.',
    ].join(' '),
  );

const daysField = (what: string) =>
  z.int().min(1).max(MAX_AGE_DAYS).nullable().describe(`Days after the last activity until ${what}; null: never`);

const settingFields = {
  redaction: redactionField,
  rows_max_age_days: daysField('messages and texts of a session are deleted; its figures stay'),
  raw_max_age_days: daysField('a raw transcript is deleted'),
};

export const workspaceSettingsSchema = z
  .object(settingFields)
  .meta({ id: 'WorkspaceSettings', description: 'What a workspace chose on secrets and retention' });

export type WorkspaceSettings = z.infer<typeof workspaceSettingsSchema>;

export const workspaceSettingsChangeSchema = z
  .strictObject(settingFields)
  .partial()
  .meta({ id: 'WorkspaceSettingsChange', description: 'What is left out stays as it is' });

export type WorkspaceSettingsChange = z.infer<typeof workspaceSettingsChangeSchema>;
