import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { workspaces } from '../schema/workspaces.ts';
import { createTestPool, OTHER_WORKSPACE, TEST_WORKSPACE } from '../testing/create-test-pool.ts';
import { insertTestFleet } from '../testing/insert-test-fleet.ts';
import { resolveNames, type UnmatchedName, UnresolvedNameError, type WantedNames } from './resolve-names.ts';

let pool: Awaited<ReturnType<typeof createTestPool>>;
beforeAll(async () => {
  pool = await createTestPool();
  await insertTestFleet(pool, [
    {
      session_id: 'aaaa-1111',
      project: '/home/maya/code/billing-service',
      git_branch: 'main',
      models: ['claude-opus-5'],
      responses: [{ model: 'claude-haiku-5', git_branch: 'fix/cents' }],
    },
    {
      session_id: 'aaaa-1111:agent',
      is_subagent: true,
      parent_session_id: 'aaaa-1111',
      project: '/home/maya/code/billing-service',
    },
    { session_id: 'aaab-2222', project: '/home/maya/code/harbor-docs', models: ['claude-sonnet-5'] },
    { session_id: 'b%_\\', project: null },
  ]);
});
afterAll(() => pool.close());

const resolve = (wanted: WantedNames, workspaceId = TEST_WORKSPACE) => resolveNames(pool.database, workspaceId, wanted);
const toNames = async (wanted: WantedNames, workspaceId?: string) => {
  const { names, unmatched } = await resolve(wanted, workspaceId);
  expect(unmatched).toEqual([]);
  return names;
};
const toUnmatched = async (wanted: WantedNames, workspaceId?: string): Promise<UnmatchedName> => {
  const { unmatched } = await resolve(wanted, workspaceId);
  expect(unmatched).toHaveLength(1);
  return unmatched[0] as UnmatchedName;
};
const fail = async (wanted: WantedNames, workspaceId?: string): Promise<UnresolvedNameError> => {
  const error = await resolve(wanted, workspaceId).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(UnresolvedNameError);
  return error as UnresolvedNameError;
};

describe('resolveNames', () => {
  it('accepts the names that tables print', async () => {
    const wanted = {
      project: 'billing-service',
      model: 'opus',
      agent: 'claude',
      sessionId: 'aaaa',
      gitBranch: 'fix/cents',
    };
    expect(await toNames(wanted)).toEqual({
      project: ['/home/maya/code/billing-service'],
      model: ['claude-opus-5'],
      agent: ['claude-code'],
      sessionId: 'aaaa-1111',
      gitBranch: ['fix/cents'],
    });
    expect(await toNames({ model: 'claude-haiku-5', sessionId: 'aaaa-1111:a' })).toEqual({
      model: ['claude-haiku-5'],
      sessionId: 'aaaa-1111:agent',
    });
    expect(await toNames({ sessionId: 'b%' })).toEqual({ sessionId: 'b%_\\' });
    expect(await toNames({})).toEqual({});
  });

  it('means all names that a partial name matches, and any of several names, each once', async () => {
    const { model = [] } = await toNames({ model: 'claude' });
    expect(model.sort()).toEqual(['claude-haiku-5', 'claude-opus-5', 'claude-sonnet-5']);
    const { project = [] } = await toNames({ project: ['harbor', '/home/maya/code/harbor-docs', 'code'] });
    expect(project.sort()).toEqual(['/home/maya/code/billing-service', '/home/maya/code/harbor-docs']);
  });

  it('knows agents that have not sent anything yet', async () => {
    expect(await toNames({ agent: ['codex', 'claude-code'] })).toEqual({ agent: ['claude-code', 'codex'] });
  });

  it('says which names match nothing, with suggestions, and keeps those that match', async () => {
    expect(await resolve({ project: ['biling', 'harbor'] })).toEqual({
      names: { project: ['/home/maya/code/harbor-docs'] },
      unmatched: [
        {
          field: 'project',
          value: 'biling',
          message: 'No project matches "biling"; did you mean /home/maya/code/billing-service?',
          candidates: ['/home/maya/code/billing-service'],
        },
      ],
    });
    expect((await resolve({ project: 'xyzzy' })).names).toEqual({ project: [] });
    expect((await toUnmatched({ project: 'xyzzy' })).message).toBe(
      'No project matches "xyzzy"; there are /home/maya/code/billing-service, /home/maya/code/harbor-docs.',
    );
    expect((await toUnmatched({ gitBranch: 'mian' })).message).toContain('No branch matches "mian"');
    expect((await toUnmatched({ agent: 'cluade' })).candidates).toContain('claude-code');
  });

  it('looks for similar names of the first values only, because the search takes long', async () => {
    const project = Array.from({ length: 100 }, (_, index) => `biling-servce-${index}`);
    const { names, unmatched } = await resolve({ project });
    expect(names).toEqual({ project: [] });
    expect(unmatched.map(({ value }) => value)).toEqual(project);
    expect(unmatched.map(({ candidates }) => candidates.length > 0)).toEqual(project.map((_, index) => index < 3));
  });

  it('refuses an id that is the beginning of no session, or of several', async () => {
    expect(await fail({ sessionId: 'aaaa-9' })).toMatchObject({ candidates: ['aaaa-1111', 'aaab-2222'] });
    expect(await fail({ sessionId: 'aaa' })).toMatchObject({
      candidates: ['aaaa-1111', 'aaab-2222'],
      isAmbiguous: true,
    });
  });

  it('refuses a part of a name if the workspace has more names than are compared', async () => {
    const workspaceId = 'MANY_NAMES';
    await pool.database.insert(workspaces).values({ id: workspaceId, name: workspaceId });
    await pool.pool.query(
      `INSERT INTO recount.sessions (workspace_id, session_id, agent, primary_transcript_id, project, models)
       SELECT $1, 's' || n, 'claude-code', 't', 'project-' || n, '{}' FROM generate_series(1, 10001) AS n`,
      [workspaceId],
    );
    expect((await fail({ project: 'ject-1' }, workspaceId)).message).toBe(
      'The workspace has more than 10000 projects: give the name in full.',
    );
    expect(await toNames({ project: 'project-10001' }, workspaceId)).toEqual({ project: ['project-10001'] });
  });

  it('knows names that only sessions of long ago have, after the names of the latest', async () => {
    const workspaceId = 'LONG_AGO';
    await pool.database.insert(workspaces).values({ id: workspaceId, name: workspaceId });
    await pool.pool.query(
      `INSERT INTO recount.sessions
         (workspace_id, session_id, agent, primary_transcript_id, project, git_branch, machine, person, models, last_timestamp)
       SELECT $1, 's' || n, 'claude-code', 't', 'project-' || n % 3, 'topic-' || n % 3, 'desk-' || n % 3, 'grace-' || n % 3,
         ARRAY['model-a', 'model-' || n % 3], timestamptz '2026-06-01Z' + n * interval '1 minute' FROM generate_series(1, 1500) AS n
       UNION ALL
       SELECT $1, 'old-' || n, 'agent-of-old', 't', 'ancient-' || n, 'antique-' || n, 'anvil-' || n, 'anna-' || n,
         ARRAY['model-b', 'model-of-old-' || n], CASE n WHEN 1 THEN timestamptz '2020-01-01Z' END FROM generate_series(1, 2) AS n`,
      [workspaceId],
    );
    const old = {
      ...{ project: 'cient-2', gitBranch: 'ique-1', machine: 'vil-1', person: 'NNA-2', model: 'of-old-1' },
      agent: 'of-old',
    };
    expect(await toNames(old, workspaceId)).toEqual({
      ...{
        project: ['ancient-2'],
        gitBranch: ['antique-1'],
        machine: ['anvil-1'],
        person: ['anna-2'],
        model: ['model-of-old-1'],
      },
      agent: ['agent-of-old'],
    });
    const { message } = await toUnmatched({ project: 'xyzzy' }, workspaceId);
    expect(message).toBe(
      'No project matches "xyzzy"; there are project-0, project-2, project-1, ancient-1, ancient-2.',
    );
    expect(await toNames({ model: 'model' }, workspaceId)).toEqual({
      model: ['model-0', 'model-a', 'model-2', 'model-1', 'model-b', 'model-of-old-1', 'model-of-old-2'],
    });
  });

  it('knows nothing of other workspaces', async () => {
    const { message, candidates } = await toUnmatched({ project: 'billing-service' }, OTHER_WORKSPACE);
    expect(message).toBe('No project matches "billing-service": the workspace has no projects yet.');
    expect(candidates).toEqual([]);
    expect((await fail({ sessionId: 'aaaa-1111' }, OTHER_WORKSPACE)).candidates).toEqual([]);
  });
});
