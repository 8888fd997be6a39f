import { z } from 'zod';
import { meantNamesSchema, namesField, reportLimitField } from './analytics-query.ts';
import { countField, MAX_PATH_LENGTH, singleLine, text, timestampField } from './fields.ts';
import { costField } from './usage-figures.ts';

/** Longest new name. */
const MAX_REPOSITORY_NAME_LENGTH = 255;
/** Repositories that one request renames. */
const MAX_RENAMED_TOGETHER = 100;

export const repositoriesQuerySchema = z.strictObject({
  repository: namesField(text(MAX_PATH_LENGTH), 'Repository'),
  limit: reportLimitField,
});

const repositorySchema = z
  .object({
    name: z.string().describe('As an admin named it; otherwise `host/owner/name`, or a folder’s name'),
    sessions: countField.describe('Sessions with usage or messages, sub-agents included'),
    people: countField.describe('People who are known to have worked on it'),
    cost_usd: costField.nullable().describe('Cost at list prices, each API response once; null if none has a price'),
    first_activity: timestampField.nullable(),
    last_activity: timestampField.nullable(),
  })
  .meta({ id: 'Repository', description: 'A repository with the figures of all time' });

export const repositoryListSchema = z
  .object({
    repositories: z.array(repositorySchema),
    truncated: z.boolean().describe('True if there are more'),
    filters: meantNamesSchema,
    currency_label: z.string().describe('What the workspace calls its currency; nothing is converted'),
  })
  .meta({ id: 'RepositoryList', description: 'Repositories, the most expensive first' });

export type RepositoryList = z.infer<typeof repositoryListSchema>;

export const repositoryRenameRequestSchema = z
  .strictObject({
    repositories: z
      .array(text(MAX_PATH_LENGTH))
      .min(1)
      .max(MAX_RENAMED_TOGETHER)
      .describe('Full names, or parts that match one repository each'),
    new_name: singleLine(MAX_REPOSITORY_NAME_LENGTH).describe(
      'Their name from now on, which another repository may have. The address of a remote becomes its name',
    ),
  })
  .meta({ id: 'RepositoryRenameRequest', description: 'Repositories to rename, or to merge' });

const repositoryRenameSchema = z
  .object({
    id: z.string().describe('ULID'),
    name: z.string().describe('Its name in transcripts, or a name that others were renamed to'),
    new_name: z.string().nullable().describe('As the admin chose; null if it was undone, until sessions follow'),
    shown_name: z.string().describe('The new name, or what that one is renamed to in turn'),
    actor: z.string().describe('Who renamed it, as in the audit log'),
    changed_at: timestampField,
    applied_at: timestampField.nullable().describe('When all stored sessions had the name; null until then'),
    checked_sessions: countField.nullable().describe('Stored sessions that were looked at; null before it begins'),
    all_sessions: countField.nullable().describe('Stored sessions to look at; null before it begins'),
  })
  .meta({ id: 'RepositoryRename', description: 'A renamed repository' });

export const repositoryRenameListSchema = z
  .object({ renames: z.array(repositoryRenameSchema) })
  .meta({ id: 'RepositoryRenameList', description: 'All renamed repositories, the latest change first' });

export type RepositoryRenameList = z.infer<typeof repositoryRenameListSchema>;

export const repositoryRenameParamsSchema = z.object({ rename_id: text(MAX_PATH_LENGTH).describe('Its id, a ULID') });
