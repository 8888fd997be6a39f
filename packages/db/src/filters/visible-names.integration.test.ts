import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { listLedPeople, listMachinesOf } from '../people/led-people.ts';
import { createPerson, mergePerson } from '../people/people.ts';
import { createTeam } from '../people/teams.ts';
import { createTestPool, TEST_WORKSPACE } from '../testing/create-test-pool.ts';
import { insertTestFleet } from '../testing/insert-test-fleet.ts';
import { createRenaming, readNamesMark, readVisibleNames, type VisibleNames } from './visible-names.ts';

let pool: Awaited<ReturnType<typeof createTestPool>>;
beforeAll(async () => {
  pool = await createTestPool();
});
afterAll(() => pool.close());
beforeEach(async () => {
  for (const table of ['teams', 'team_memberships', 'person_names', 'people', 'sessions', 'transcripts'])
    await pool.pool.query(`DELETE FROM recount.${table}`);
});

const SCOPE = { workspaceId: TEST_WORKSPACE, actor: 'system' } as const;
const add = (displayName: string, more: Partial<Parameters<typeof createPerson>[2]> = {}): Promise<string> =>
  pool.withTransaction((transaction) => createPerson(transaction, SCOPE, { displayName, ...more }));
const addTeam = (name: string, leadId?: string): Promise<string> =>
  pool.withTransaction((transaction) => createTeam(transaction, SCOPE, { name, leadId }));
const listVisible = async (namesFromPeople: number): Promise<string[] | undefined> => {
  const visible = await readVisibleNames(pool.database, TEST_WORKSPACE, { namesFromPeople });
  return visible && [...visible.persons].sort();
};

it('counts who is in a team today, has joined and not left, and shows no one else', async () => {
  await addTeam('Core');
  await addTeam('Old');
  for (const name of ['Ann', 'Bea']) await add(name, { team: 'Core' });
  await add('moved', {
    memberships: [
      { team: 'Old', costCentre: null, from: null },
      { team: 'Core', costCentre: null, from: '2026-01-01' },
    ],
  });
  await add('comes', { memberships: [{ team: 'Core', costCentre: null, from: '2999-01-01' }] });
  await add('joins', { team: 'Core', joinedOn: '2999-01-01' });
  await add('left', { team: 'Core', leftOn: '2026-01-01' });
  await add('alone', { team: 'Old' });
  await add('in no team');
  const double = await add('double', { team: 'Core' });
  const into = await add('Cyd', { team: 'Core' });
  await pool.withTransaction((transaction) => mergePerson(transaction, SCOPE, { id: double, into }));
  expect(await listVisible(4)).toEqual(['Ann', 'Bea', 'Cyd', 'moved']);
  expect(await listVisible(5)).toEqual([]);
});

it('shows all names of a workspace without teams if it has enough people, and else none', async () => {
  await add('Ann');
  await add('Bea');
  await add('left', { leftOn: '2026-01-01' });
  expect(await listVisible(2)).toBeUndefined();
  expect(await listVisible(3)).toEqual([]);
  await addTeam('empty');
  expect(await listVisible(1)).toEqual([]);
});

it('counts names of sessions until the workspace knows people, and shows none that no person has once it has teams', async () => {
  await insertTestFleet(pool, [
    { session_id: 'a', person: 'ann', machine: 'laptop' },
    { session_id: 'b', person: 'bob', machine: 'desktop' },
    { session_id: 'c', person: null, machine: 'laptop' },
  ]);
  expect(await listVisible(2)).toBeUndefined();
  await addTeam('Core');
  await add('Ann Abel', { names: ['ANN'], team: 'Core' });
  const visible = await readVisibleNames(pool.database, TEST_WORKSPACE, { namesFromPeople: 1 });
  expect([...(visible?.names ?? [])].sort()).toEqual(['ANN', 'Ann Abel', 'ann']);
  // The other session of the machine has no name.
  expect([...(visible?.machines ?? [])]).toEqual([]);
  await pool.pool.query("UPDATE recount.sessions SET person = 'Ann' WHERE session_id = 'c'");
  const later = await readVisibleNames(pool.database, TEST_WORKSPACE, { namesFromPeople: 1 });
  expect([...(later?.machines ?? [])]).toEqual(['laptop']);
});

it('shows machines that only these people use, and none if more pairs would have to be looked through', async () => {
  await insertTestFleet(pool, [
    { session_id: 'a', person: 'ann', machine: 'laptop' },
    { session_id: 'b', person: 'ann', machine: 'shared' },
    { session_id: 'c', person: 'ann', machine: 'shared' },
    { session_id: 'd', person: 'ann', machine: null },
    { session_id: 'e', person: 'bea', machine: null },
    { session_id: 'f', person: 'cyd', machine: 'desktop' },
    { session_id: 'g', person: 'cyd', machine: 'shared' },
    { session_id: 'h', person: null, machine: 'server' },
  ]);
  const list = async (names: string[], maxPairs?: number): Promise<string[]> =>
    (await listMachinesOf(pool.database, TEST_WORKSPACE, names, maxPairs)).sort();
  expect(await list(['ann'])).toEqual(['laptop']);
  expect(await list(['ann', 'cyd'], 4)).toEqual(['desktop', 'laptop', 'shared']);
  expect(await list(['ann', 'cyd'], 3)).toEqual([]);
});

it('knows the teams that someone leads, also one that no one is in', async () => {
  const lead = await add('Lea');
  await addTeam('Core', lead);
  await addTeam('Empty', lead);
  await add('Ann', { team: 'Core' });
  const { people, teams } = await listLedPeople(pool.database, TEST_WORKSPACE, 'lea');
  expect([people, teams.sort()]).toEqual([['Ann'], ['Core', 'Empty']]);
});

it('tells cost centres apart that differ in case only', async () => {
  await add('Ann', { costCentre: 'Labs' });
  await add('Bea', { costCentre: 'Labs' });
  await add('Cyd', { costCentre: 'labs' });
  await addTeam('Core');
  const visible = await readVisibleNames(pool.database, TEST_WORKSPACE, { namesFromPeople: 2 });
  const { isVisible } = createRenaming(visible as VisibleNames, 'salt');
  expect(['Labs', 'labs'].map((name) => isVisible('cost_centre', name))).toEqual([true, false]);
});

it('marks the people whom a reader sees, so that readers who stay are ended when these change', async () => {
  const readMark = () =>
    readNamesMark(
      pool.database,
      TEST_WORKSPACE,
      { namesFromPeople: 2 },
      { names: 'policy', person: null, ownNames: [] },
    );
  await addTeam('Core');
  await add('Ann', { team: 'Core' });
  const before = await readMark();
  await add('in no team');
  expect(await readMark()).toBe(before);
  await add('Bea', { team: 'Core' });
  expect(await readMark()).not.toBe(before);
});
