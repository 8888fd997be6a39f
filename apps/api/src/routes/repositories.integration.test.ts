import type { AuditList, RepositoryList, RepositoryRenameList, SessionDetail, TranscriptList } from '@recount/contract';
import { applyRepositoryRenames } from '@recount/db';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { expectProblem } from '../testing/expect-problem.ts';
import { createTestApi, HOME_WORKSPACE, type TestApi } from '../testing/test-api.ts';
import { toTranscript } from '../testing/transcript-lines.ts';

let api: TestApi;

beforeEach(async () => {
  api = await createTestApi();
  await ingest('s1', 'git@github.com:acme/heron.git', 'ada');
  await ingest('s2', 'https://github.com/acme/heron-archive', 'bob');
  await ingest('s3', 'https://github.com/acme/wren', 'bob');
});
afterEach(() => api.close());

async function ingest(session: string, repository: string, person: string): Promise<void> {
  const query = new URLSearchParams({ repository, person });
  const body = toTranscript(session, 4).replace(/(?<="(?:id|requestId)":")/g, `${session}-`);
  const headers = { 'content-type': 'application/x-ndjson' };
  expect((await api.fetch(`/v1/transcripts?${query}`, { method: 'POST', body, headers })).status).toBe(202);
  await api.work();
}

const read = async <T>(path: string): Promise<T> => (await api.fetch(path)).json() as Promise<T>;

const post = (repositories: readonly string[], newName: string, key?: string): Promise<Response> =>
  api.fetch('/v1/repository-renames', {
    method: 'POST',
    body: JSON.stringify({ repositories, new_name: newName }),
    headers: { 'content-type': 'application/json', ...(key !== undefined && { authorization: `Bearer ${key}` }) },
  });

async function rename(repositories: readonly string[], newName: string): Promise<RepositoryRenameList['renames']> {
  const response = await post(repositories, newName);
  expect(response.status).toBe(200);
  return ((await response.json()) as RepositoryRenameList).renames;
}

const apply = () => applyRepositoryRenames(api.database, HOME_WORKSPACE);

async function listNames(query = ''): Promise<[name: string, sessions: number, people: number][]> {
  const { repositories } = await read<RepositoryList>(`/v1/repositories${query}`);
  return repositories.map(({ name, sessions, people }) => [name, sessions, people]);
}

describe('GET /v1/repositories', () => {
  it('lists repositories with sessions, people, cost and activity, or only the named ones', async () => {
    expect((await listNames()).sort()).toEqual([
      ['github.com/acme/heron', 1, 1],
      ['github.com/acme/heron-archive', 1, 1],
      ['github.com/acme/wren', 1, 1],
    ]);
    const { repositories, truncated, filters } = await read<RepositoryList>('/v1/repositories?repository=wren');
    expect([truncated, filters.repository]).toEqual([false, ['github.com/acme/wren']]);
    expect(repositories).toMatchObject([
      { name: 'github.com/acme/wren', last_activity: expect.stringMatching(/^2\d{3}-.*Z$/) },
    ]);
    expect(await read<RepositoryList>('/v1/repositories?limit=1')).toMatchObject({ truncated: true });
    expect(await read<RepositoryList>('/v1/repositories?repository=owl')).toMatchObject({
      repositories: [],
      filters: { unmatched: [{ field: 'repository', value: 'owl' }] },
    });
  });

  it('has the figures of the usage report', async () => {
    await rename(['wren', 'github.com/acme/heron'], 'birds');
    await apply();
    const { repositories } = await read<RepositoryList>('/v1/repositories');
    const { rows } = await read<{ rows: { repository: string; sessions: number; own: { cost_usd: number } }[] }>(
      '/v1/analytics/usage?group_by=repository',
    );
    expect(repositories.map(({ name, sessions, cost_usd }) => [name, sessions, cost_usd])).toEqual(
      rows.map(({ repository, sessions, own }) => [repository, sessions, own.cost_usd]),
    );
  });
});

describe('renaming repositories', () => {
  it('merges repositories that are named by parts of their names, and shows the progress', async () => {
    const [waiting] = await rename(['heron-archive'], 'github.com/acme/heron');
    expect(waiting).toMatchObject({
      ...{ name: 'github.com/acme/heron-archive', new_name: 'github.com/acme/heron', applied_at: null },
      ...{ actor: expect.stringMatching(/^key:/), checked_sessions: null, all_sessions: null },
    });
    await apply();
    expect(await read('/v1/repository-renames')).toMatchObject({
      renames: [{ ...waiting, applied_at: expect.any(String), checked_sessions: 3, all_sessions: 3 }],
    });
    expect((await listNames()).sort()).toEqual([
      ['github.com/acme/heron', 2, 2],
      ['github.com/acme/wren', 1, 1],
    ]);
    expect(await read<SessionDetail>('/v1/sessions/s2')).toMatchObject({ repository: 'github.com/acme/heron' });
    const { transcripts } = await read<TranscriptList>('/v1/transcripts?session_id=s2');
    expect(transcripts).toMatchObject([{ repository: 'github.com/acme/heron' }]);
  });

  it('finds a repository by its earlier name', async () => {
    await rename(['acme/wren'], 'Songbirds');
    await apply();
    for (const name of ['github.com/acme/wren', 'wren', 'songb']) {
      expect(await listNames(`?repository=${name}`), name).toEqual([['Songbirds', 1, 1]]);
    }
  });

  it('takes the address of a remote as the name of its clones', async () => {
    for (const address of ['git@github.com:acme/heron.git', 'https://ada:s3cret@GitHub.com/acme/heron/']) {
      expect(await rename(['github.com/acme/wren'], address)).toMatchObject([{ new_name: 'github.com/acme/heron' }]);
    }
  });

  it('undoes a renaming, and records both in the audit log', async () => {
    const [renamed] = await rename(['acme/wren'], 'Songbirds');
    await apply();
    const undo = () => api.fetch(`/v1/repository-renames/${renamed?.id}`, { method: 'DELETE' });
    expect(await (await undo()).json()).toMatchObject({
      renames: [{ name: 'github.com/acme/wren', new_name: null, shown_name: 'github.com/acme/wren', applied_at: null }],
    });
    await expectProblem(await undo(), 404, 'not-found');
    await apply();
    expect(await read('/v1/repository-renames')).toEqual({ renames: [] });
    expect(await listNames('?repository=acme/wren')).toEqual([['github.com/acme/wren', 1, 1]]);
    const { entries } = await read<AuditList>('/v1/audit?subject=github.com/acme/wren');
    expect(entries).toMatchObject([
      { action: 'repository.undo-rename', details: { new_name: 'Songbirds' } },
      { action: 'repository.rename', details: { new_name: 'Songbirds' } },
    ]);
  });

  it('does nothing if repositories have the name already', async () => {
    expect(await rename(['github.com/acme/wren'], 'github.com/acme/wren')).toEqual([]);
    const { entries } = await read<AuditList>('/v1/audit?action=repository.rename');
    expect(entries).toEqual([]);
  });

  it('refuses unknown and ambiguous names, names that are themselves renamed, and keys without the scope admin', async () => {
    await expectProblem(await post(['owl'], 'x'), 422, 'unknown-name');
    const problem = await expectProblem(await post(['her'], 'x'), 422, 'unknown-name');
    expect(problem.candidates).toEqual(
      expect.arrayContaining(['github.com/acme/heron', 'github.com/acme/heron-archive']),
    );
    await rename(['acme/wren'], 'Songbirds');
    const conflict = await expectProblem(await post(['heron-archive'], 'github.com/acme/wren'), 409, 'rename-conflict');
    expect(conflict.detail).toBe(
      'github.com/acme/wren is renamed to Songbirds. Use that name, or undo the renaming first.',
    );
    await expectProblem(await post(['acme/wren'], 'x', api.keys.read), 403, 'missing-scope');
  });

  it.each([
    ['no repository', [], 'x'],
    ['too many repositories', Array.from({ length: 101 }, (_, index) => `r${index}`), 'x'],
    ['an empty name', ['acme/wren'], ''],
    ['a name of two lines', ['acme/wren'], 'a\nb'],
    ['a name that is too long', ['acme/wren'], 'x'.repeat(256)],
    ['NUL', ['acme/wren'], 'a\0b'],
  ])('refuses %s', async (_, repositories, newName) => {
    await expectProblem(await post(repositories, newName), 400, 'invalid-request');
  });
});
