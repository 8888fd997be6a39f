import { ROLES } from '@recount/contract/access';
import { changeWorkspaceSettings, createApiKey } from '@recount/db';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestApi, HOME_WORKSPACE, type TestApi } from './testing/test-api.ts';
import { toTranscript } from './testing/transcript-lines.ts';

/** In alphabetical order, which rows with equal figures have where names are shown. */
const NAMES = ['amy', 'bob', 'dan', 'eve', 'kim', 'lou', 'mia', 'zed'];

let api: TestApi;
let getAsViewer: (path: string) => Promise<Response>;
beforeAll(async () => {
  api = await createTestApi();
  for (const name of NAMES) {
    // All have used the same.
    await api.upload(toTranscript(`${NAMES.indexOf(name)}`.padStart(8, 's'), 4), {
      person: name,
      machine: `m-${name}`,
    });
  }
  await api.work();
  await changeWorkspaceSettings(api.database.database, HOME_WORKSPACE, { namesFromPeople: 50 });
  // So that the order is the same in each run.
  await api.database.pool.query("UPDATE recount.workspaces SET pseudonym_salt = 'salt' WHERE id = $1", [
    HOME_WORKSPACE,
  ]);
  const viewer = { workspaceId: HOME_WORKSPACE, name: 'viewer', scopes: ROLES.viewer, person: 'someone' };
  const { key } = await createApiKey(api.database.database, viewer);
  getAsViewer = (path) => fetch(api.url + path, { headers: { authorization: `Bearer ${key}` } });
});
afterAll(() => api.close());

interface Report {
  rows: Record<string, unknown>[];
  breakdowns?: { rows: Record<string, unknown>[] }[];
}

/** The names that a report has as a key, in its order. */
async function listNames(response: Promise<Response>, key: string): Promise<unknown[]> {
  const answer = await response;
  if (answer.status !== 200) return [];
  const { rows, breakdowns } = (await answer.json()) as Report;
  return (breakdowns?.[0]?.rows ?? rows).flatMap((row) => row[key] ?? []);
}

it('are not told by what findings were dismissed for', async () => {
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ kind: 'cold-cache', subject_type: 'person', subject: 'bob' });
  expect((await api.fetch('/v1/findings/dismissals', { method: 'POST', headers, body })).status).toBe(201);
  const reader = { workspaceId: HOME_WORKSPACE, name: 'reader', scopes: ['read'] as const };
  const { key } = await createApiKey(api.database.database, reader);
  const answer = await fetch(`${api.url}/v1/findings/dismissals`, { headers: { authorization: `Bearer ${key}` } });
  expect(await answer.json()).toMatchObject({
    dismissals: [{ subject_type: 'person', subject: expect.stringMatching(/^person-[0-9a-f]{10}$/) }],
  });
});

it('are not told by the order of names in filters', async () => {
  for (const [field, names] of [
    ['person', NAMES],
    ['machine', NAMES.map((name) => `m-${name}`)],
  ] as const) {
    const sessions = NAMES.map((_name, index) => getAsViewer(`/v1/sessions/${`${index}`.padStart(8, 's')}`));
    const answers = await Promise.all(sessions.map(async (answer) => (await (await answer).json()) as object));
    const pseudonyms = answers.map((session) => Reflect.get(session, field) as string);
    expect(pseudonyms).not.toEqual(names);
    expect(pseudonyms.toSorted(), 'another order').not.toEqual(pseudonyms);
    const query = new URLSearchParams(pseudonyms.map((name): [string, string] => [field, name]));
    const answer = await getAsViewer(`/v1/analytics/usage?${query}`);
    const { filters } = (await answer.json()) as { filters: Record<string, string[]> };
    expect(filters[field]).toEqual(pseudonyms.toSorted());
  }
});

it('are not told by the order of rows with equal figures, in any report', async () => {
  const document = (await (await getAsViewer('/openapi.json')).json()) as { paths: Record<string, object> };
  const paths = Object.keys(document.paths).filter((path) => path.startsWith('/v1/analytics/'));
  let count = 0;
  for (const [key, names] of [
    ['person', NAMES],
    ['machine', NAMES.map((name) => `m-${name}`)],
  ] as const) {
    const path = (name: string) => `/v1/analytics/usage?group_by=${key}&${key}=${encodeURIComponent(name)}`;
    const bySession = await Promise.all(
      NAMES.map(async (_name, index) => {
        const session = `${index}`.padStart(8, 's');
        return ((await (await getAsViewer(`/v1/sessions/${session}`)).json()) as Record<string, unknown>)[key];
      }),
    );
    expect(new Set(bySession).size).toBe(NAMES.length);
    for (const query of [`group_by=${key}`, `breakdown=${key}`])
      for (const route of paths) {
        const shown = await listNames(api.fetch(`${route}?${query}`), key);
        if (shown.length < NAMES.length) continue;
        count += 1;
        expect(shown, route).toEqual(names);
        const hidden = await listNames(getAsViewer(`${route}?${query}`), key);
        expect(hidden.toSorted(), route).toEqual(bySession.toSorted());
        expect(hidden, `${route}?${query}`).not.toEqual(bySession);
      }
    expect(await listNames(getAsViewer(path(String(bySession[0]))), key)).toEqual([bySession[0]]);
  }
  expect(count).toBeGreaterThan(8);
});
