import {
  changeWorkspaceSettings,
  createDestination,
  createDigest,
  createPerson,
  createTeam,
  type DigestContent,
  type DigestRow,
  findLastPeriod,
  listDeliveries,
  listDigests,
  readUsageReport,
  resolveReportFilter,
  sql,
} from '@recount/db';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeDigest } from '../alerts/describe-digest.ts';
import {
  createTestInstallation,
  TEST_WORKSPACE,
  type TestInstallation,
  toTranscript,
} from '../testing/test-installation.ts';
import { sendDueDigest } from './send-digests.ts';

let installation: TestInstallation;
beforeAll(async () => {
  installation = await createTestInstallation();
  // Sessions of Thursday 1 January 2026.
  await installation.receive(toTranscript('a', 6), { person: 'ada <b>', machine: 'laptop-of-ada' });
  await installation.work();
  await installation.database.withTransaction((transaction) =>
    createDestination(
      transaction,
      TEST_WORKSPACE,
      { id: '01J0000000000000000000D001', name: 'team', kind: 'email', hint: 'ada@example.org', secret: null },
      'system',
    ),
  );
});
afterAll(() => installation.close());

async function create(
  name: string,
  period: DigestRow['period'],
  createdAt: string,
  filters: DigestRow['filters'] = { model: 'sonnet' },
): Promise<DigestRow> {
  const { database } = installation;
  await database.withTransaction((transaction) =>
    createDigest(
      transaction,
      TEST_WORKSPACE,
      { name, period, time_zone: 'UTC', filters, destination_ids: null },
      'system',
    ),
  );
  await database.database.execute(sql`
    UPDATE recount.digests SET created_at = ${createdAt} WHERE workspace_id = ${TEST_WORKSPACE} AND name = ${name}`);
  return await read(name);
}

async function read(name: string): Promise<DigestRow> {
  const row = (await listDigests(installation.database.database, TEST_WORKSPACE)).find((each) => each.name === name);
  if (row === undefined) throw new Error('There is no digest');
  return row;
}

const send = (digest: DigestRow, moment: string) => sendDueDigest(installation, digest, Date.parse(moment));
const listMessages = async (name: string) =>
  (await listDeliveries(installation.database.database, TEST_WORKSPACE, {}, { limit: 100 })).filter(
    ({ payload }) => payload.name === name,
  );

describe('a digest', () => {
  it('is sent once for each period, six hours after its end, whatever is killed or runs twice', async () => {
    const digest = await create('weekly', 'week', '2025-12-30T12:00:00Z');
    // The week before its creation is not sent.
    expect(await send(digest, '2026-01-04T23:00:00Z')).toBe(false);
    expect(await send(digest, '2026-01-05T05:59:00Z')).toBe(false);
    const twice = [send(digest, '2026-01-05T06:00:00Z'), send(digest, '2026-01-05T06:00:00Z')];
    expect((await Promise.all(twice)).sort()).toEqual([false, true]);
    expect(await send(await read('weekly'), '2026-01-11T00:00:00Z')).toBe(false);
    const messages = await listMessages('weekly');
    expect(messages.map(({ event, payload }) => [event, payload.from, payload.to])).toEqual([
      ['digest.due', '2025-12-29', '2026-01-05'],
    ]);
    expect(await send(await read('weekly'), '2026-01-12T06:00:00Z')).toBe(true);
    expect(await send(digest, '2026-01-12T06:00:00Z')).toBe(false);
    expect(await listMessages('weekly')).toHaveLength(2);
  });

  it('has the figures of the report for the same filters and time', async () => {
    const digest = await create('monthly', 'month', '2026-01-10T00:00:00Z');
    expect(await send(digest, '2026-02-01T06:00:00Z')).toBe(true);
    const [message] = await listMessages('monthly');
    const content = message?.payload as unknown as DigestContent;
    const { database } = installation.database;
    const request = { from: '2026-01-01', to: '2026-02-01', timeZone: 'UTC', subagents: 'include' as const };
    const { filter } = await resolveReportFilter(database, TEST_WORKSPACE, { ...request, model: 'sonnet' });
    const { totals } = await readUsageReport(database, filter, { limit: 1 });
    expect(totals.own.total_tokens).toBeGreaterThan(0);
    const figures = { cost_usd: totals.own.cost_usd, total_tokens: totals.own.total_tokens, sessions: 1 };
    expect(content).toMatchObject({ from: '2026-01-01', to: '2026-02-01', totals: figures });
    expect(content.previous).toMatchObject({ cost_usd: 0, total_tokens: 0, sessions: 0 });
    const people = content.groups.find(({ by }) => by === 'person');
    expect(people).toMatchObject({ rows: [{ name: 'ada <b>', ...figures }], truncated: false });
    const { subject, text, html } = describeDigest(content);
    expect(subject).toMatch(/^monthly: the month from 2026-01-01, \$\d+\.\d\d$/);
    expect(text).toMatch(/\nPeople\n +\$\d+\.\d\d {2}ada <b> \(/);
    expect(html).toContain('ada &lt;b&gt;');
    expect(html).not.toContain('<b>');
  });

  it('has no people where the workspace hides their names, and pseudonyms in its filters', async () => {
    const { database } = installation;
    const filters = { person: ['ada <b>', 'adda <b>'], machine: 'laptopp-of-ada', cost_centre: 'ada-4711' };
    const digest = await create('hidden', 'month', '2026-01-10T00:00:00Z', filters);
    await database.withTransaction((transaction) =>
      changeWorkspaceSettings(transaction, TEST_WORKSPACE, { namesFromPeople: 5 }),
    );
    expect(await send(digest, '2026-02-01T06:00:00Z')).toBe(true);
    await database.withTransaction((transaction) =>
      changeWorkspaceSettings(transaction, TEST_WORKSPACE, { namesFromPeople: null }),
    );
    const [message] = await listMessages('hidden');
    expect(message?.payload.groups).toMatchObject([{ by: 'repository' }, { by: 'model' }]);
    expect(message?.payload).toMatchObject({
      filters: { person: Array(2).fill(expect.stringMatching(/^person-[0-9a-f]{10}$/)) },
      totals: { sessions: expect.any(Number) },
      unmatched: [],
    });
    expect(JSON.stringify(message?.payload)).not.toContain('ada');
  });

  it('has names of people in teams that are large enough, and pseudonyms of others', async () => {
    const { database } = installation;
    await installation.receive(toTranscript('b', 4), { person: 'bob' });
    await installation.work();
    const digest = await create('teams', 'month', '2026-01-10T00:00:00Z', {});
    const scope = { workspaceId: TEST_WORKSPACE, actor: 'system' } as const;
    await database.withTransaction(async (transaction) => {
      await createTeam(transaction, scope, { name: 'Core' });
      await createPerson(transaction, scope, { displayName: 'Ada', names: ['ada <b>'], team: 'Core' });
      await changeWorkspaceSettings(transaction, TEST_WORKSPACE, { namesFromPeople: 1 });
    });
    expect(await send(digest, '2026-02-01T06:00:00Z')).toBe(true);
    await database.withTransaction((transaction) =>
      changeWorkspaceSettings(transaction, TEST_WORKSPACE, { namesFromPeople: null }),
    );
    const [message] = await listMessages('teams');
    const content = message?.payload as unknown as DigestContent;
    const people = content.groups.find(({ by }) => by === 'person')?.rows.map(({ name }) => name);
    expect(people?.sort()).toEqual(['Ada', expect.stringMatching(/^person-[0-9a-f]{10}$/)]);
  });

  it('begins periods in its time zone', () => {
    const at = Date.parse('2026-03-01T03:00:00Z');
    expect(findLastPeriod({ period: 'month', time_zone: 'UTC' }, at)).toEqual({ from: '2026-02-01', to: '2026-03-01' });
    const inNewYork = { period: 'month' as const, time_zone: 'America/New_York' };
    expect(findLastPeriod(inNewYork, at)).toEqual({ from: '2026-01-01', to: '2026-02-01' });
    expect(findLastPeriod({ period: 'week', time_zone: 'UTC' }, at)).toEqual({ from: '2026-02-16', to: '2026-02-23' });
  });
});
