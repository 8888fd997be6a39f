import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { NewViewShare, TeamList } from '@recount/contract';
import { ROLES } from '@recount/contract/access';
import { changeWorkspaceSettings, createApiKey } from '@recount/db';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { expectProblem } from './testing/expect-problem.ts';
import { createTestApi, HOME_WORKSPACE, type TestApi } from './testing/test-api.ts';
import { toTranscript } from './testing/transcript-lines.ts';

/** Two people are enough for a name; everyone has one session, from a separate machine. */
const TEAMS = { Core: ['Ann Abel', 'Bea Bohm'], Solo: ['Sid Sole'], None: ['Una Usual'] } as const;
const COST_CENTRES: Readonly<Record<string, string>> = { Core: 'Labs', Solo: '4711' };
const SHOWN = TEAMS.Core;
/** Any name of someone who is in no team, or in a small one, of the small team, and a name that no person has. */
const HIDDEN = /\b(sid|sole|solo|una|usual|gus|4711)\b/i;
const toUser = (name: string): string => name.slice(0, name.indexOf(' ')).toLowerCase();
const USERS = [...Object.values(TEAMS).flat().map(toUser), 'gus'];

let api: TestApi;
let viewerKey: string;
const ids = new Map<string, string>();

const send = async <Answer = { id: string }>(method: string, path: string, body: unknown): Promise<Answer> => {
  const headers = { 'content-type': 'application/json' };
  const response = await api.fetch(path, { method, headers, body: JSON.stringify(body) });
  expect(response.ok, `${method} ${path}`).toBe(true);
  return (await response.json()) as Answer;
};
const getAsViewer = (path: string, key = viewerKey): Promise<Response> =>
  fetch(api.url + path, { headers: { authorization: `Bearer ${key}` } });
const createViewer = async (person: string): Promise<string> => {
  const viewer = { workspaceId: HOME_WORKSPACE, name: 'viewer', scopes: ROLES.viewer, person };
  return (await createApiKey(api.database.database, viewer)).key;
};

beforeAll(async () => {
  api = await createTestApi();
  for (const [index, person] of USERS.entries()) {
    const origin = { person, machine: `laptop of ${person}` };
    expect((await api.upload(toTranscript(`session-${index}`, 4), origin)).status).toBe(202);
  }
  await api.upload(toTranscript('session-shared', 2), { person: 'ann', machine: 'lab' });
  await api.upload(toTranscript('session-also-shared', 2), { person: 'sid', machine: 'lab' });
  await api.work();
  for (const [team, members] of Object.entries(TEAMS)) {
    if (team !== 'None') ids.set(team, (await send('POST', '/v1/teams', { name: team })).id);
    for (const name of members) {
      const person = {
        display_name: name,
        names: [toUser(name)],
        ...(team !== 'None' && { team }),
        cost_centre: COST_CENTRES[team] ?? null,
      };
      ids.set(name, (await send('POST', '/v1/people', person)).id);
    }
  }
  for (const team of ['Core', 'Solo'])
    await send('PATCH', `/v1/teams/${ids.get(team)}`, { lead_id: ids.get('Ann Abel'), cost_centre: 'Labs' });
  await changeWorkspaceSettings(api.database.database, HOME_WORKSPACE, { namesFromPeople: 2 });
  viewerKey = await createViewer('someone');
});
afterAll(() => api.close());

const PSEUDONYM = /^(person|team|cost_centre|machine)-[0-9a-f]{10}$/;
const listNames = async (query: string, field = 'person'): Promise<string[]> => {
  const { rows } = (await (await getAsViewer(`/v1/analytics/usage?group_by=${field}${query}`)).json()) as {
    rows: Record<string, string | null>[];
  };
  return rows
    .map((row) => row[field] ?? '')
    .map((name) => name.replace(PSEUDONYM, 'pseudonym'))
    .sort();
};

it('shows names of people in a team that is large enough, and of no one else', async () => {
  expect(await listNames('')).toEqual([...SHOWN, 'pseudonym', 'pseudonym', 'pseudonym']);
  expect(await listNames('&team=Core')).toEqual(SHOWN);
  // One of the others is used by someone whose name is shown, too.
  expect(await listNames('', 'machine')).toEqual(['laptop of ann', 'laptop of bea', ...Array(4).fill('pseudonym')]);
});

it('hides the names of small teams and cost centres, whose figures would be one person’s, and takes their pseudonyms', async () => {
  expect(await listNames('', 'team')).toEqual(['', 'Core', 'pseudonym']);
  expect(await listNames('', 'cost_centre')).toEqual(['', 'Labs', 'pseudonym']);
  const { teams } = (await (await getAsViewer('/v1/teams')).json()) as TeamList;
  const solo = teams.find(({ members }) => members === 1)?.name ?? '';
  expect(teams.map(({ name }) => name).sort()).toEqual(['Core', solo]);
  expect(solo).toMatch(PSEUDONYM);
  // A lead or a cost centre would identify the team.
  expect(teams.find(({ name }) => name === solo)).toMatchObject({ lead: null, cost_centre: null });
  expect(teams.find(({ name }) => name === 'Core')).toMatchObject({ lead: { display_name: 'Ann Abel' } });
  expect(await listNames(`&team=${solo}`)).toEqual(['pseudonym']);
  expect(await listNames('&team=core')).toEqual(SHOWN);
  for (const name of ['Solo', 'team-0000000000'])
    await expectProblem(await getAsViewer(`/v1/analytics/usage?team=${name}`), 403, 'missing-scope');
  const first = (await (await getAsViewer('/v1/teams?limit=1')).json()) as TeamList;
  const second = (await (await getAsViewer(`/v1/teams?limit=1&cursor=${first.next_cursor}`)).json()) as TeamList;
  expect([...first.teams, ...second.teams]).toEqual(teams);
  expect(Buffer.from(first.next_cursor ?? '', 'base64url').toString()).not.toMatch(/core|solo/i);
});

it('does not take a reader’s own name for a part of others’ names, which would tell their pseudonyms', async () => {
  const answer = await getAsViewer('/v1/analytics/usage?group_by=person&person=un', await createViewer('un'));
  expect(await answer.json()).toMatchObject({ rows: [] });
});

it('tells no hidden name by any route that reads', async () => {
  await send('POST', '/v1/budgets', {
    name: 'of one',
    amount: 1,
    filters: { person: ['sid'], team: ['Solo'], machine: ['laptop of una'] },
  });
  const document = (await (await getAsViewer('/openapi.json')).json()) as {
    paths: Record<string, Record<string, { parameters?: { name: string }[] }>>;
  };
  let count = 0;
  for (const [path, { get }] of Object.entries(document.paths)) {
    if (get === undefined || path.includes('events')) continue;
    const parameters = (get.parameters ?? []).map(({ name }) => name);
    const queries = [
      '',
      ...(parameters.includes('group_by') ? ['?group_by=team,person', '?group_by=cost_centre,machine'] : []),
    ];
    for (const query of [...queries, ...(parameters.includes('format') ? ['?format=csv'] : [])]) {
      const response = await getAsViewer(path.replace('{session_id}', `session-${USERS.indexOf('sid')}`) + query);
      if (response.status !== 200) continue;
      count++;
      expect(await response.text(), path + query).not.toMatch(HIDDEN);
    }
  }
  expect(count).toBeGreaterThan(50);
  expect(await (await getAsViewer('/v1/export/sessions?format=csv')).text()).toContain('ann');
});

it('tells the same by the tools of MCP', async () => {
  const client = new Client({ name: 'test', version: '1' });
  const requestInit = { headers: { authorization: `Bearer ${viewerKey}` } };
  const transport = new StreamableHTTPClientTransport(new URL(`${api.url}/mcp`), { requestInit });
  await client.connect(transport as Parameters<Client['connect']>[0]);
  for (const [name, input] of [
    ['get_usage_summary', { group_by: 'person,machine' }],
    ['list_sessions', {}],
  ] as const) {
    const answer = JSON.stringify(await client.callTool({ name, arguments: input }));
    expect(answer).toMatch(/ann/i);
    expect(answer).not.toMatch(HIDDEN);
  }
  await client.close();
});

it('follows moves between teams, also on shared pages that were made before', async () => {
  const { path } = await send<NewViewShare>('POST', '/v1/shares', { title: 'People', kind: 'overview' });
  const open = async (): Promise<string> => await (await fetch(api.url + path)).text();
  expect(await open()).toContain('Bea Bohm');
  await send('PATCH', `/v1/people/${ids.get('Bea Bohm')}`, { team: 'Solo', team_from: '2026-01-01' });
  const page = await open();
  // Now the other team is the large one.
  expect(page).not.toContain('Ann Abel');
  expect(page).toContain('Bea Bohm');
  expect(page).toContain('Sid Sole');
  await send('PATCH', `/v1/people/${ids.get('Sid Sole')}`, { left_on: '2026-01-31' });
  expect(await open()).not.toMatch(/Ann Abel|Bea Bohm|Sid Sole/);
  expect(await listNames('')).toEqual(Array(5).fill('pseudonym'));
});
