import type {
  AuditList,
  PeopleImport,
  Person,
  PersonList,
  SessionDetail,
  SessionList,
  Team,
  TeamList,
  TranscriptList,
  UnattributedList,
  UsageReport,
} from '@recount/contract';
import { deleteWorkspaceRows, resolvePerson } from '@recount/db';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectProblem } from '../testing/expect-problem.ts';
import { createTestApi, HOME_WORKSPACE, type TestApi } from '../testing/test-api.ts';
import { toTranscript } from '../testing/transcript-lines.ts';

let api: TestApi;
beforeAll(async () => {
  api = await createTestApi();
  for (const person of ['maya@acme.test', 'mchen', 'ben', 'zoe'])
    await api.upload(toTranscript(`session-${person}`, 2), { person, machine: 'laptop' });
  await api.work();
});
afterAll(() => api.close());

const send = (method: string, path: string, body?: object): Promise<Response> =>
  api.fetch(path, {
    method,
    ...(body !== undefined && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  });
const read = async <T>(path: string): Promise<T> => (await api.fetch(path)).json() as Promise<T>;
const add = async (person: object): Promise<Person> =>
  (await send('POST', '/v1/people', person)).json() as Promise<Person>;
const listBy = async (key: string): Promise<unknown[]> => {
  const { rows } = await read<UsageReport>(`/v1/analytics/usage?group_by=${key}`);
  return rows.map((row) => [(row as Record<string, unknown>)[key] ?? 'no one', row.sessions]).sort();
};

// One story: each test continues the one before.
describe('people and teams', { shuffle: false }, () => {
  let maya: Person;
  let core: Team;

  it('are added, and reports show them immediately', async () => {
    core = (await (await send('POST', '/v1/teams', { name: 'Core', cost_centre: '4711' })).json()) as Team;
    expect(core).toMatchObject({ name: 'Core', cost_centre: '4711', lead: null, members: 0 });
    maya = await add({ display_name: 'Maya Chen', email: 'Maya@acme.test', team: 'core', joined_on: '2024-02-29' });
    expect(maya).toMatchObject({
      ...{ names: ['Maya Chen', 'Maya@acme.test'], team: 'Core', cost_centre: '4711', joined_on: '2024-02-29' },
      memberships: [{ team: 'Core', cost_centre: null, from: null }],
    });
    expect(await listBy('person')).toEqual([
      ['Maya Chen', 1],
      ['ben', 1],
      ['mchen', 1],
      ['zoe', 1],
    ]);
    expect(await listBy('team')).toEqual([
      ['Core', 1],
      ['no one', 3],
    ]);
    expect(await listBy('cost_centre')).toEqual([
      ['4711', 1],
      ['no one', 3],
    ]);
  });

  it.each([
    { joined_on: '0000-01-01' },
    { left_on: '0000-12-31' },
    { team: 'core', team_from: '0000-01-01' },
    { memberships: [{ team: 'core', cost_centre: null, from: '0000-01-01' }] },
  ])('have no day in the year 0, which Postgres does not have: %o', async (days) => {
    await expectProblem(await send('POST', '/v1/people', { display_name: 'Old', ...days }), 400, 'invalid-request');
  });

  it('have further names, each with one owner', async () => {
    const { names } = (await (await send('PATCH', `/v1/people/${maya.id}`, { names: ['mchen'] })).json()) as Person;
    expect(names).toEqual(['Maya Chen', 'Maya@acme.test', 'mchen']);
    expect(await listBy('person')).toEqual([
      ['Maya Chen', 2],
      ['ben', 1],
      ['zoe', 1],
    ]);
    const problem = await expectProblem(await send('POST', '/v1/people', { display_name: 'MCHEN' }), 409, 'name-taken');
    expect(problem.detail).toContain('Maya Chen');
    await expectProblem(await send('POST', '/v1/people', { display_name: 'X', team: 'Cora' }), 422, 'unknown-name');
    expect((await read<PersonList>('/v1/people?search=x')).people).toEqual([]);
  });

  it('filter lists of sessions by any name of the person, and by the team', async () => {
    const { sessions, filters } = await read<SessionList>('/v1/sessions?person=mchen');
    expect(sessions.map(({ session_id }) => session_id).sort()).toEqual(['session-maya@acme.test', 'session-mchen']);
    expect(filters.person).toEqual(['Maya Chen']);
    expect((await read<SessionList>('/v1/sessions?team=core&cost_centre=4711')).sessions).toHaveLength(2);
    expect((await read<SessionList>('/v1/sessions?team=core&person=ben')).sessions).toEqual([]);
  });

  it('are the same people, with the same figures, in reports, lists, pages and exports', async () => {
    const person = 'Maya Chen';
    for (const filter of ['person=maya%20chen', 'person=MCHEN', 'team=Core']) {
      const { sessions } = await read<SessionList>(`/v1/sessions?${filter}`);
      expect(sessions.map((each) => [each.person, each.sent_person]).sort()).toEqual([
        [person, 'maya@acme.test'],
        [person, 'mchen'],
      ]);
      for (const { session_id: id } of sessions) {
        const detail = await read<SessionDetail>(`/v1/sessions/${id}`);
        expect([detail.person, detail.transcripts.map((each) => each.person)]).toEqual([person, [person]]);
      }
      const sum = (costs: (number | null)[]): string =>
        costs.reduce<number>((total, cost) => total + (cost ?? 0), 0).toFixed(8);
      const { rows } = await read<UsageReport>(`/v1/analytics/usage?group_by=person&${filter}`);
      expect(rows).toMatchObject([{ person, sessions: sessions.length }]);
      expect(sum(rows.map(({ own }) => own.cost_usd))).toBe(sum(sessions.map((each) => each.cost_estimate_usd)));
      const exported = (await (await api.fetch(`/v1/export/sessions?format=ndjson&${filter}`)).text())
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { person: string; cost_usd: number | null });
      expect(exported.map((row) => row.person)).toEqual([person, person]);
      expect(sum(exported.map((row) => Number(row.cost_usd)))).toBe(sum(rows.map(({ own }) => own.cost_usd)));
    }
    const { sessions } = await read<SessionList>('/v1/sessions?person=zoe');
    expect(sessions).toMatchObject([{ person: 'zoe', sent_person: 'zoe' }]);
    const { transcripts } = await read<TranscriptList>('/v1/transcripts');
    expect(transcripts.map((each) => [each.person, each.sent_person])).toContainEqual([person, 'mchen']);
  });

  it('are merged into others, and apart again', async () => {
    const ben = await add({ display_name: 'Ben Ode', names: ['ben'] });
    const merged = (await (await send('PUT', `/v1/people/${ben.id}/merge`, { into: maya.id })).json()) as Person;
    expect(merged.merged).toEqual([{ id: ben.id, display_name: 'Ben Ode', names: ['ben', 'Ben Ode'] }]);
    expect(await listBy('person')).toEqual([
      ['Maya Chen', 3],
      ['zoe', 1],
    ]);
    expect(await resolvePerson(api.database.database, HOME_WORKSPACE, 'BEN')).toMatchObject({ id: maya.id });
    await expectProblem(await send('PUT', `/v1/people/${ben.id}/merge`, { into: maya.id }), 409, 'already-merged');
    expect((await send('DELETE', `/v1/people/${ben.id}/merge`)).status).toBe(200);
    expect(await listBy('person')).toEqual([
      ['Ben Ode', 1],
      ['Maya Chen', 2],
      ['zoe', 1],
    ]);
    expect((await send('DELETE', `/v1/people/${ben.id}`)).status).toBe(204);
    expect(await listBy('person')).toEqual([
      ['Maya Chen', 2],
      ['ben', 1],
      ['zoe', 1],
    ]);
  });

  it('move from a day on, and keep their history', async () => {
    await send('POST', '/v1/teams', { name: 'Web' });
    const move = { team: 'Web', cost_centre: 'own', team_from: '2026-02-01' };
    const moved = (await (await send('PATCH', `/v1/people/${maya.id}`, move)).json()) as Person;
    expect(moved).toMatchObject({ team: 'Web', cost_centre: 'own' });
    expect(moved.memberships).toEqual([
      { team: 'Web', cost_centre: 'own', from: '2026-02-01' },
      { team: 'Core', cost_centre: null, from: null },
    ]);
    // Asked again, it changes nothing.
    expect(await (await send('PATCH', `/v1/people/${maya.id}`, { team: 'web' })).json()).toEqual(moved);
    await expectProblem(await send('DELETE', `/v1/teams/${core.id}`), 409, 'team-in-use');
    const back = { memberships: [{ team: 'Core', cost_centre: null, from: null }] };
    expect(await (await send('PATCH', `/v1/people/${maya.id}`, back)).json()).toMatchObject({ team: 'Core', ...back });
  });

  it('are listed page by page, and found by a part of a name', async () => {
    for (const name of ['Ana', 'Émile', 'zack', 'Bo']) await add({ display_name: name });
    const names: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page: PersonList = await read(`/v1/people?limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`);
      names.push(...page.people.map(({ display_name }) => display_name));
      cursor = page.next_cursor;
    }
    expect(names).toEqual(['Ana', 'Bo', 'Maya Chen', 'zack', 'Émile']);
    expect((await read<PersonList>('/v1/people?search=MCH')).people).toMatchObject([{ id: maya.id }]);
    expect((await read<PersonList>('/v1/people?team=core')).people).toMatchObject([{ id: maya.id }]);
    const first = await read<TeamList>('/v1/teams?limit=1');
    const second = await read<TeamList>(`/v1/teams?limit=1&cursor=${first.next_cursor}`);
    expect([...first.teams, ...second.teams].map(({ name, members }) => [name, members])).toEqual([
      ['Core', 1],
      ['Web', 0],
    ]);
    expect(second.next_cursor).toBeNull();
  });

  it('have figures of all time, and names that no one has are a list to work off', async () => {
    const { people } = await read<PersonList>('/v1/people?figures=true&search=mchen');
    expect(people).toMatchObject([{ figures: { sessions: 2, cost_usd: expect.any(Number) } }]);
    await api.upload(toTranscript('session-of-mayac', 2), { person: 'maya.chen@acme.test' });
    await api.work();
    const { names, next_cursor: next } = await read<UnattributedList>('/v1/people/unattributed?limit=2');
    expect(names).toHaveLength(2);
    const rest = await read<UnattributedList>(`/v1/people/unattributed?limit=2&cursor=${next}`);
    const all = [...names, ...rest.names];
    expect(all.map(({ name }) => name).sort()).toEqual(['ben', 'maya.chen@acme.test', 'zoe']);
    const mayac = all.find(({ name }) => name === 'maya.chen@acme.test');
    expect(mayac).toMatchObject({ sessions: 1, suggestions: [{ id: maya.id, display_name: 'Maya Chen' }] });
    const { rows, totals } = await read<UsageReport>('/v1/analytics/usage?group_by=person');
    const costs = new Map(rows.map(({ person, own }) => [person, own.cost_usd]));
    expect(all.map(({ name, cost_usd }) => [name, cost_usd])).toEqual(all.map(({ name }) => [name, costs.get(name)]));
    expect(totals.sessions).toBe(5);
  });

  it('are imported from CSV after a dry run, or not at all', async () => {
    const ask = async (csv: string, apply: boolean): Promise<PeopleImport> =>
      (await send('POST', '/v1/people/import', { csv, apply })).json() as Promise<PeopleImport>;
    const csv = [
      '\ufeffName,Email,Names,Team,Cost_centre,Joined',
      'Maya Chen,maya@acme.test,mchen; maya.chen@acme.test,Core,,2024-02-29',
      '"Zoe ""Z"" Park",zoe@acme.test,zoe,Design,99,',
    ].join('\r\n');
    const plan = await ask(csv, false);
    expect(plan).toMatchObject({
      applied: false,
      created_teams: ['Design'],
      rows: [
        { line: 2, action: 'change', fields: ['names'], error: null },
        { line: 3, name: 'Zoe "Z" Park', action: 'create', error: null },
      ],
    });
    expect((await read<TeamList>('/v1/teams')).teams).toHaveLength(2);
    expect(await ask(csv, true)).toMatchObject({ applied: true });
    expect(await listBy('person')).toEqual([
      ['Maya Chen', 3],
      ['Zoe "Z" Park', 1],
      ['ben', 1],
    ]);
    const again = await ask(csv, true);
    expect(again.rows.map(({ action }) => action)).toEqual(['unchanged', 'unchanged']);
    const exported = await (await api.fetch('/v1/people/export')).text();
    expect((await ask(exported, true)).rows.map(({ action }) => action)).not.toContain('change');
    const names = `"host;2"; "say ""hi"""`;
    const odd = `name,names\nMaya Chen,"${names.replaceAll('"', '""')}"\n`;
    expect((await ask(odd, true)).rows).toMatchObject([{ action: 'change' }]);
    const { people } = await read<PersonList>('/v1/people?search=Maya');
    expect(people[0]?.names).toEqual(expect.arrayContaining(['host;2', 'say "hi"']));
    const exportedAgain = await (await api.fetch('/v1/people/export')).text();
    expect((await ask(exportedAgain, true)).rows.map(({ action }) => action)).not.toContain('change');
    const leads = 'name,leads\nMaya Chen,core; Design\n';
    expect(await ask(leads, true)).toMatchObject({ rows: [{ action: 'change', fields: ['leads'] }] });
    expect((await ask(leads, true)).rows).toMatchObject([{ action: 'unchanged' }]);
    expect((await ask('name,leads\n"Zoe ""Z"" Park",Design\n', true)).rows).toMatchObject([{ fields: ['leads'] }]);
    const led = (await read<TeamList>('/v1/teams')).teams.map(({ name, lead }) => [name, lead?.display_name]);
    expect(led).toEqual(
      expect.arrayContaining([
        ['Core', 'Maya Chen'],
        ['Design', 'Zoe "Z" Park'],
      ]),
    );
    expect(await (await api.fetch('/v1/people/export')).text()).toContain('Core');
    expect(await (await send('PATCH', `/v1/people/${maya.id}`, { leads: [] })).json()).toMatchObject({ leads: [] });
    const faulty = `name,email,left\nAnders,anders@acme.test,\nZoe "Z" Park,maya@acme.test,\nIda,,tomorrow\nanders,,\n`;
    const refused = await ask(faulty.replace('Zoe "Z" Park', '"Zoe ""Z"" Park"'), true);
    expect(refused.applied).toBe(false);
    expect(refused.rows.map(({ line, error }) => [line, error?.slice(0, 12) ?? null])).toEqual([
      [2, null],
      [3, 'The e-mail a'],
      [4, 'left: Invali'],
      [5, 'The same per'],
    ]);
    expect((await read<PersonList>('/v1/people?search=anders')).people).toEqual([]);
    for (const broken of ['name,shoe size\nIda,37\n', 'name\n"Ida', 'email\nida@acme.test\n'])
      expect((await ask(broken, true)).rows).toMatchObject([{ action: 'error' }]);
  });

  it('leave a trace in the audit log, and no name or e-mail address in any log', async () => {
    const { entries } = await read<AuditList>('/v1/audit?limit=100&kind=changes');
    const actions = new Set(entries.map(({ action }) => action));
    for (const action of [
      'person.create',
      'person.change',
      'person.merge',
      'person.unmerge',
      'person.delete',
      'team.create',
    ])
      expect(actions).toContain(action);
    // Who did it is looked up when the log is read.
    const stored = entries.map(({ actor_name: _name, actor_person: _person, ...entry }) => entry);
    expect(JSON.stringify(stored)).not.toMatch(/acme\.test|Maya|mchen/i);
    expect(api.logLines.join('')).not.toMatch(/acme\.test|Chen/i);
  });

  it('have no cost, and not a cost of 0, if none of their responses has a price', async () => {
    const unpriced = toTranscript('session-without-price', 2).replace('claude-sonnet-4-5', 'no-such-model');
    await api.upload(unpriced, { person: 'nina' });
    await api.work();
    const { names } = await read<UnattributedList>('/v1/people/unattributed');
    expect(names.find(({ name }) => name === 'nina')).toMatchObject({ sessions: 1, cost_usd: null });
  });

  it('are deleted with their workspace', async () => {
    await api.database.withTransaction((transaction) =>
      deleteWorkspaceRows(transaction, HOME_WORKSPACE, { isFinal: false, actor: 'system' }),
    );
    for (const table of ['people', 'person_names', 'teams', 'team_memberships'])
      expect((await api.database.pool.query(`SELECT FROM recount.${table}`)).rowCount).toBe(0);
  });
});
