import {
  type WorkspaceSettings as Answer,
  workspaceSettingsChangeSchema,
  workspaceSettingsSchema,
} from '@recount/contract';
import { changeWorkspaceSettings, readWorkspaceSettings, type WorkspaceSettings } from '@recount/db';
import type { ApiApp, ApiDependencies } from '../api-dependencies.ts';
import { actorOf, workspaceOf } from '../plugins/authentication.ts';
import { addJsonRoutes } from '../plugins/json-bodies.ts';

const DEFAULTS: WorkspaceSettings = {
  ...{ redaction: 'off', rowsMaxAgeDays: null, rawMaxAgeDays: null, textReaders: 'readers', namesFromPeople: null },
};

const GET_SETTINGS = {
  config: { scope: 'read', reveals: 'nothing' },
  schema: {
    operationId: 'getSettings',
    summary: 'Read the settings of the workspace',
    tags: ['operations'],
    response: { 200: workspaceSettingsSchema },
  },
} as const;

const PUT_SETTINGS = {
  config: { scope: 'admin', reveals: 'nothing' },
  schema: {
    operationId: 'putSettings',
    summary: 'Change settings of the workspace',
    description:
      'Redaction applies to new data, and to the rest after `recount requeue --outdated`; retention applies within the hour.',
    tags: ['operations'],
    body: workspaceSettingsChangeSchema,
    response: { 200: workspaceSettingsSchema },
  },
} as const;

export async function addSettingsRoutes(
  parent: ApiApp,
  { database: pool }: Pick<ApiDependencies, 'database'>,
): Promise<void> {
  await addJsonRoutes(parent, {}, (app) => {
    app.get('/v1/settings', GET_SETTINGS, async (request) =>
      toAnswer((await readWorkspaceSettings(pool.database, workspaceOf(request))) ?? DEFAULTS),
    );

    app.put('/v1/settings', PUT_SETTINGS, async (request) => {
      const { redaction, rows_max_age_days: rowsMaxAgeDays, raw_max_age_days: rawMaxAgeDays } = request.body;
      const { text_readers: textReaders, names_from_people: namesFromPeople } = request.body;
      const change = { redaction, rowsMaxAgeDays, rawMaxAgeDays, textReaders, namesFromPeople };
      const settings = await pool.withTransaction((transaction) =>
        changeWorkspaceSettings(transaction, workspaceOf(request), change, actorOf(request)),
      );
      return toAnswer(settings);
    });
  });
}

const toAnswer = ({ redaction, rowsMaxAgeDays, rawMaxAgeDays, ...policy }: WorkspaceSettings): Answer => ({
  text_readers: policy.textReaders,
  names_from_people: policy.namesFromPeople,
  redaction,
  rows_max_age_days: rowsMaxAgeDays,
  raw_max_age_days: rawMaxAgeDays,
});
