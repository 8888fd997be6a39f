import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { workspaces } from '../schema/workspaces.ts';
import { createTestPool, OTHER_WORKSPACE, TEST_WORKSPACE } from '../testing/create-test-pool.ts';
import { insertTestFleet } from '../testing/insert-test-fleet.ts';
import { resolveNames, UnresolvedNameError, type WantedNames } from './resolve-names.ts';

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
    expect(await resolve(wanted)).toEqual({
      project: '/home/maya/code/billing-service',
      model: 'claude-opus-5',
      agent: 'claude-code',
      sessionId: 'aaaa-1111',
      gitBranch: 'fix/cents',
    });
    expect(await resolve({ model: 'claude-haiku-5', sessionId: 'aaaa-1111:a' })).toEqual({
      model: 'claude-haiku-5',
      sessionId: 'aaaa-1111:agent',
    });
    expect(await resolve({ sessionId: 'b%' })).toEqual({ sessionId: 'b%_\\' });
    expect(await resolve({})).toEqual({});
  });

  it('knows agents that have not sent anything yet', async () => {
    expect(await resolve({ agent: 'codex' })).toEqual({ agent: 'codex' });
  });

  it('suggests candidates for a wrong name', async () => {
    expect(await fail({ project: 'biling' })).toMatchObject({
      field: 'project',
      message: 'There is no project biling; did you mean /home/maya/code/billing-service?',
      candidates: ['/home/maya/code/billing-service'],
      isAmbiguous: false,
    });
    expect((await fail({ project: 'xyzzy' })).message).toBe(
      'There is no project xyzzy; there are /home/maya/code/billing-service, /home/maya/code/harbor-docs.',
    );
    expect(await fail({ sessionId: 'aaaa-9' })).toMatchObject({ candidates: ['aaaa-1111', 'aaab-2222'] });
    expect((await fail({ gitBranch: 'mian' })).message).toContain('no branch mian');
    expect((await fail({ agent: 'cluade' })).candidates).toContain('claude-code');
  });

  it('lists all candidates for an ambiguous name', async () => {
    expect(await fail({ sessionId: 'aaa' })).toMatchObject({
      candidates: ['aaaa-1111', 'aaab-2222'],
      isAmbiguous: true,
    });
    expect(await fail({ model: 'claude' })).toMatchObject({ isAmbiguous: true });
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
    expect(await resolve(old, workspaceId)).toEqual({
      ...{
        project: 'ancient-2',
        gitBranch: 'antique-1',
        machine: 'anvil-1',
        person: 'anna-2',
        model: 'model-of-old-1',
      },
      agent: 'agent-of-old',
    });
    const { message } = await fail({ project: 'xyzzy' }, workspaceId);
    expect(message).toBe('There is no project xyzzy; there are project-0, project-2, project-1, ancient-1, ancient-2.');
    expect((await fail({ model: 'model' }, workspaceId)).candidates).toEqual([
      ...['model-0', 'model-a', 'model-2', 'model-1', 'model-b'],
    ]);
  });

  it('knows nothing of other workspaces', async () => {
    const { message, candidates } = await fail({ project: 'billing-service' }, OTHER_WORKSPACE);
    expect(message).toBe('There is no project billing-service: the workspace has no projects yet.');
    expect(candidates).toEqual([]);
    expect((await fail({ sessionId: 'aaaa-1111' }, OTHER_WORKSPACE)).candidates).toEqual([]);
  });
});
