import type { Budget, Digest } from '@recount/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectProblem } from '../testing/expect-problem.ts';
import { createTestApi, type TestApi } from '../testing/test-api.ts';

let api: TestApi;

beforeAll(async () => {
  api = await createTestApi();
});
afterAll(() => api.close());

const send = (method: string, path: string, body: unknown, key = api.keys.admin): Promise<Response> =>
  api.fetch(path, {
    method,
    ...(body !== undefined && { body: JSON.stringify(body) }),
    headers: { ...(body !== undefined && { 'content-type': 'application/json' }), authorization: `Bearer ${key}` },
  });

describe('/v1/budgets', () => {
  it('creates, reads, changes and deletes a budget of the key’s workspace', async () => {
    const created = await send('POST', '/v1/budgets', { name: 'all', amount: 600, thresholds: [100, 50] });
    expect(created.status).toBe(201);
    const budget = (await created.json()) as Budget;
    expect(budget).toMatchObject({ thresholds: [50, 100], period: 'month', unit: 'usd', forecast_percent: 100 });
    expect(budget.status).toMatchObject({ spent: 0, spent_share: 0, unpriced_responses: 0, unmatched: [] });
    const path = `/v1/budgets/${budget.id}`;
    expect(await (await api.fetch(path)).json()).toEqual(budget);
    const { budgets } = (await (await api.fetch('/v1/budgets')).json()) as { budgets: Budget[] };
    expect(budgets.filter(({ name }) => name === 'all')).toEqual([budget]);
    expect(await (await send('GET', '/v1/budgets', undefined, api.keys.other)).json()).toEqual({ budgets: [] });
    const changed = (await (await send('PATCH', path, { amount: 700, anomaly_factor: null })).json()) as Budget;
    expect(changed).toEqual({ ...budget, amount: 700, anomaly_factor: null, updated_at: changed.updated_at });
    expect(await (await api.fetch(`${path}/history`)).json()).toEqual({ crossings: [], next_cursor: null });
    await expectProblem(await api.fetch(`${path}/history?cursor=e30`), 400, 'invalid-cursor');
    expect((await send('DELETE', path, undefined)).status).toBe(204);
    await expectProblem(await api.fetch(path), 404, 'not-found');
  });

  it('sends warnings to destinations of the key’s workspace that a budget names, or to all', async () => {
    const add = async (name: string, key?: string): Promise<string> => {
      const body = { kind: 'email', name, addresses: ['ada@example.org'] };
      return ((await (await send('POST', '/v1/destinations', body, key)).json()) as { id: string }).id;
    };
    const [team, managers, foreign] = [await add('team'), await add('managers'), await add('team', api.keys.other)];
    const budget = { name: 'named', amount: 5, destination_ids: [team, managers, team] };
    const made = (await (await send('POST', '/v1/budgets', budget)).json()) as Budget;
    expect(made.destination_ids).toEqual([team, managers]);
    const path = `/v1/budgets/${made.id}`;
    for (const destination_ids of [[foreign], [team, 'unknown'], []]) {
      await expectProblem(await send('PATCH', path, { destination_ids }), 400, 'invalid-request');
      await expectProblem(
        await send('POST', '/v1/budgets', { ...budget, name: 'x', destination_ids }),
        400,
        'invalid-request',
      );
    }
    expect((await send('DELETE', `/v1/destinations/${managers}`, undefined)).status).toBe(204);
    await expectProblem(await send('DELETE', `/v1/destinations/${team}`, undefined), 409, 'destination-in-use');
    expect(await (await api.fetch(path)).json()).toMatchObject({ destination_ids: [team] });
    expect(await (await send('PATCH', path, { destination_ids: null })).json()).toMatchObject({
      destination_ids: null,
    });
    expect((await send('DELETE', `/v1/destinations/${team}`, undefined)).status).toBe(204);
  });

  it('forecasts dollars of months, and nothing else', async () => {
    const budget = { name: 'weekly', amount: 5, period: 'week' };
    expect(await (await send('POST', '/v1/budgets', budget)).json()).toMatchObject({ forecast_percent: null });
    const withForecast = { ...budget, name: 'no', forecast_percent: 90 };
    const answer = await send('POST', '/v1/budgets', withForecast);
    await expectProblem(answer, 400, 'invalid-request');
  });

  it('refuses a name that is taken', async () => {
    const budget = { name: 'once', amount: 5 };
    const { id } = (await (await send('POST', '/v1/budgets', budget)).json()) as Budget;
    await expectProblem(await send('POST', '/v1/budgets', budget), 409, 'name-taken');
    await send('POST', '/v1/budgets', { ...budget, name: 'twice' });
    await expectProblem(await send('PATCH', `/v1/budgets/${id}`, { name: 'twice' }), 409, 'name-taken');
    expect((await send('PATCH', `/v1/budgets/${id}`, { name: 'once', amount: 6 })).status).toBe(200);
  });

  it.each([
    { name: 'x' },
    { name: 'x', amount: 0 },
    { name: 'x', amount: 1e-11 },
    { name: ' x', amount: 1 },
    { name: 'x', amount: 1, thresholds: [0] },
    { name: 'x', amount: 1, thresholds: [50, 50] },
    { name: 'x', amount: 1, time_zone: 'CET' },
    { name: 'x', amount: 1, filters: { persons: ['a'] } },
    { name: 'x', amount: 1, filters: { from: '2026-01-01' } },
    { name: 'x', amount: 1, period: 'year' },
  ])('refuses %j', async (budget) => {
    await expectProblem(await send('POST', '/v1/budgets', budget), 400, 'invalid-request');
  });
});

describe('/v1/digests', () => {
  it('changes a digest, and sends it by hand without noting that it was sent', async () => {
    const address = { kind: 'email', name: 'readers', addresses: ['ada@example.org'] };
    const { id: readers } = (await (await send('POST', '/v1/destinations', address)).json()) as { id: string };
    const digest = (await (await send('POST', '/v1/digests', { name: 'weekly' })).json()) as Digest;
    await send('POST', '/v1/digests', { name: 'other' });
    const path = `/v1/digests/${digest.id}`;
    const change = {
      period: 'month',
      time_zone: 'Europe/Berlin',
      filters: { person: 'ada' },
      destination_ids: [readers],
    };
    expect(await (await send('PATCH', path, change)).json()).toEqual({ ...digest, ...change });
    await expectProblem(await send('PATCH', path, { name: 'other' }), 409, 'name-taken');
    await expectProblem(await send('PATCH', path, { destination_ids: ['unknown'] }), 400, 'invalid-request');
    await expectProblem(await send('PATCH', path, {}), 400, 'invalid-request');
    await expectProblem(await send('DELETE', `/v1/destinations/${readers}`, undefined), 409, 'destination-in-use');
    const sent = await send('POST', `${path}/send`, {});
    expect(sent.status).toBe(202);
    const { deliveries } = (await sent.json()) as { deliveries: object[] };
    expect(deliveries).toMatchObject([{ destination_id: readers, event: 'digest.due', state: 'waiting' }]);
    expect((await send('POST', `${path}/send`, {})).status).toBe(202);
    await send('POST', `/v1/destinations/${readers}/test`, {});
    const list = (query: string) => send('GET', `/v1/deliveries?destination_id=${readers}${query}`, undefined);
    expect(((await (await list('')).json()) as { deliveries: object[] }).deliveries).toHaveLength(3);
    const ofDigests = ((await (await list('&event=digest.due')).json()) as { deliveries: object[] }).deliveries;
    expect(ofDigests).toMatchObject([{ payload: { digest_id: digest.id } }, { payload: { digest_id: digest.id } }]);
    const { digests } = (await (await send('GET', '/v1/digests', undefined)).json()) as { digests: Digest[] };
    expect(digests.find(({ id }) => id === digest.id)).toEqual({ ...digest, ...change });
  });

  it('are sent by hand, as tests are, 20 times a minute by one key', async () => {
    const address = { kind: 'email', name: 'flooded', addresses: ['eve@example.org'] };
    const { id } = (await (await send('POST', '/v1/destinations', address)).json()) as { id: string };
    const digest = (await (
      await send('POST', '/v1/digests', { name: 'flood', destination_ids: [id] })
    ).json()) as Digest;
    for (const path of [`/v1/destinations/${id}/test`, `/v1/digests/${digest.id}/send`]) {
      let last = Response.error();
      // A minute may end in between.
      for (let count = 0; count < 200 && last.status !== 429; count++) last = await send('POST', path, {});
      await expectProblem(last, 429, 'too-many-requests');
    }
  });
});
