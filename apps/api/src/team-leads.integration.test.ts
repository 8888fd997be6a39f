import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { SessionList, TeamList } from '@recount/contract';
import { ROLES } from '@recount/contract/access';
import { changeWorkspaceSettings, createApiKey } from '@recount/db';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { expectProblem } from './testing/expect-problem.ts';
import { createTestApi, HOME_WORKSPACE, type TestApi } from './testing/test-api.ts';
import { toTranscript } from './testing/transcript-lines.ts';

/** The members of each team, the first of whom leads it; everyone has one session, from a separate machine. */
const TEAMS = { Core: ['Lea Lind', 'Ann Abel'], Web: ['Will Wong', 'Bob Berg'] } as const;
const PEOPLE = Object.values(TEAMS).flat();
const toUser = (name: string): string => name.slice(0, name.indexOf(' ')).toLowerCase();
/** Any name of someone in the other team. */
const OTHERS = /will|bob|wong|berg/i;

let api: TestApi;
const ids = new Map<string, string>();
let getAsLead: (path: string) => Promise<Response>;
let getAsViewer: (path: string) => Promise<Response>;
let leadKey: string;

const send = async <Answer = { id: string }>(method: string, path: string, body: unknown): Promise<Answer> => {
  const headers = { 'content-type': 'application/json' };
  const response = await api.fetch(path, { method, headers, body: JSON.stringify(body) });
  expect(response.ok, `${method} ${path}`).toBe(true);
  return (await response.json()) as Answer;
};

beforeAll(async () => {
  api = await createTestApi();
  for (const name of PEOPLE) {
    const origin = { person: toUser(name), machine: `laptop-of-${toUser(name)}` };
    expect((await api.upload(toTranscript(`session-${PEOPLE.indexOf(name)}`, 4), origin)).status).toBe(202);
  }
  await api.work();
  for (const [team, members] of Object.entries(TEAMS)) {
    ids.set(team, (await send('POST', '/v1/teams', { name: team })).id);
    for (const name of members) {
      const person = { display_name: name, names: [toUser(name)], team };
      ids.set(name, (await send('POST', '/v1/people', person)).id);
    }
    await send('PATCH', `/v1/teams/${ids.get(team)}`, { lead_id: ids.get(members[0]) });
  }
  const makeKey = async (role: 'team-lead' | 'viewer', person: string) => {
    const key = { workspaceId: HOME_WORKSPACE, name: role, scopes: ROLES[role], person };
    return (await createApiKey(api.database.database, key)).key;
  };
  leadKey = await makeKey('team-lead', 'LEA');
  const viewerKey = await makeKey('viewer', 'lea');
  const as = (key: string) => (path: string) => fetch(api.url + path, { headers: { authorization: `Bearer ${key}` } });
  getAsLead = as(leadKey);
  getAsViewer = as(viewerKey);
});
afterAll(() => api.close());

interface Usage {
  rows: { person?: string | null; machine?: string | null; team?: string | null; own: { total_tokens: number } }[];
  totals: { own: { total_tokens: number }; sessions: number };
}
const read = async <Answer = Usage>(response: Promise<Response>): Promise<Answer> =>
  (await (await response).json()) as Answer;
const listPeople = async (query = ''): Promise<string[]> => {
  const { rows } = await read(getAsLead(`/v1/analytics/usage?group_by=person${query}`));
  return rows.map(({ person }) => person ?? '').sort();
};
const PSEUDONYM = expect.stringMatching(/^person-[0-9a-f]{10}$/);

describe('a team lead', () => {
  beforeEach(() => changeWorkspaceSettings(api.database.database, HOME_WORKSPACE, { namesFromPeople: null }));

  it('sees figures by person of the teams that they lead, and the totals of everyone', async () => {
    expect(await listPeople()).toEqual(['Ann Abel', 'Lea Lind', PSEUDONYM, PSEUDONYM]);
    const path = '/v1/analytics/usage?group_by=team';
    const usage = await read(getAsLead(path));
    expect(usage).toEqual(await read(getAsViewer(path)));
    expect(usage.rows.map(({ team }) => team).sort()).toEqual(['Core', 'Web']);
    const byPerson = await read(getAsLead('/v1/analytics/usage?group_by=person'));
    expect(byPerson.totals).toEqual(usage.totals);
    expect(byPerson.rows.reduce((sum, { own }) => sum + own.total_tokens, 0)).toBe(usage.totals.own.total_tokens);
  });

  it('sees the names of machines that no one outside these teams uses', async () => {
    const toMachines = async () =>
      (await read(getAsLead('/v1/analytics/usage?group_by=machine'))).rows.map(({ machine }) => machine ?? '').sort();
    const pseudonym = expect.stringMatching(/^machine-[0-9a-f]{10}$/);
    expect(await toMachines()).toEqual(['laptop-of-ann', 'laptop-of-lea', pseudonym, pseudonym]);
    await api.upload(toTranscript('session-shared', 2), { person: 'bob', machine: 'laptop-of-ann' });
    await api.work();
    expect(await toMachines()).toEqual(['laptop-of-lea', pseudonym, pseudonym, pseudonym]);
    expect((await api.fetch('/v1/sessions/session-shared', { method: 'DELETE' })).status).toBe(204);
  });

  it.each([null, 2])('finds no other name by any route that reads, if names are shown from %j people', async (from) => {
    await changeWorkspaceSettings(api.database.database, HOME_WORKSPACE, { namesFromPeople: from });
    await send('POST', '/v1/budgets', { name: `of one, ${from}`, amount: 1, filters: { person: ['bob'] } });
    const document = await read<{ paths: Record<string, Record<string, { parameters?: { name: string }[] }>> }>(
      fetch(`${api.url}/openapi.json`),
    );
    let count = 0;
    for (const [path, { get }] of Object.entries(document.paths)) {
      if (get === undefined || path.includes('events')) continue;
      const session = `session-${PEOPLE.indexOf('Bob Berg')}`;
      const query = (get.parameters ?? []).some(({ name }) => name === 'group_by') ? '?group_by=person' : '';
      const response = await getAsLead(path.replace('{session_id}', session) + query);
      if (response.status !== 200) continue;
      count++;
      expect(await response.text(), path).not.toMatch(OTHERS);
    }
    expect(count).toBeGreaterThan(40);
    const whole = '/v1/export/sessions?format=csv';
    expect(await (await getAsLead(whole)).text()).toContain('ann');
  });

  it('asks for people by their names or pseudonyms, and for others by name never', async () => {
    expect(await listPeople('&person=Ann%20Abel')).toEqual(['Ann Abel']);
    expect(await listPeople('&person=ann')).toEqual(['Ann Abel']);
    for (const [index, person] of (await listPeople('&team=Web')).entries()) {
      expect(person).toEqual(PSEUDONYM);
      const { sessions } = await read<SessionList>(getAsLead(`/v1/sessions?person=${person}`));
      expect(sessions, String(index)).toHaveLength(1);
    }
    for (const name of ['bob', 'Bob%20Berg', 'person-0000000000'])
      await expectProblem(await getAsLead(`/v1/sessions?person=${name}`), 403, 'missing-scope');
  });

  it('sees the same by the tools of MCP', async () => {
    const client = new Client({ name: 'test', version: '1' });
    const requestInit = { headers: { authorization: `Bearer ${leadKey}` } };
    const transport = new StreamableHTTPClientTransport(new URL(`${api.url}/mcp`), { requestInit });
    await client.connect(transport as Parameters<Client['connect']>[0]);
    for (const [name, input] of [
      ['get_usage_summary', { group_by: 'person,machine' }],
      ['list_sessions', {}],
    ] as const) {
      const answer = JSON.stringify(await client.callTool({ name, arguments: input }));
      expect(answer).toMatch(/ann/i);
      expect(answer).not.toMatch(OTHERS);
    }
    await client.close();
  });

  it('sees the leads of other teams by pseudonym', async () => {
    const { teams } = await read<TeamList>(getAsLead('/v1/teams'));
    expect(teams.map(({ lead }) => lead?.display_name)).toEqual(['Lea Lind', PSEUDONYM]);
  });

  it('sees names of those who are in the team today, and of none after someone else leads it', async () => {
    await send('PATCH', `/v1/people/${ids.get('Ann Abel')}`, { team: 'Web', team_from: '2999-01-01' });
    expect(await listPeople()).toContain('Ann Abel');
    await send('PATCH', `/v1/people/${ids.get('Ann Abel')}`, { team: 'Web', team_from: '2026-06-01' });
    await send('PATCH', `/v1/people/${ids.get('Bob Berg')}`, { team: 'Core', team_from: '2026-06-01' });
    expect(await listPeople()).toEqual(['Bob Berg', 'Lea Lind', PSEUDONYM, PSEUDONYM]);
    await send('PATCH', `/v1/teams/${ids.get('Web')}`, { lead_id: ids.get('Lea Lind') });
    expect(await listPeople()).toEqual(['Ann Abel', 'Bob Berg', 'Lea Lind', 'Will Wong']);
    for (const team of ['Core', 'Web']) await send('PATCH', `/v1/teams/${ids.get(team)}`, { lead_id: null });
    expect(await listPeople()).toEqual(['Lea Lind', PSEUDONYM, PSEUDONYM, PSEUDONYM]);
  });
});
