import { GENAI_PRICES_DATE } from '@recount/prices';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { expectProblem } from '../testing/expect-problem.ts';
import { createTestApi, type TestApi } from '../testing/test-api.ts';

let api: TestApi;

beforeAll(async () => {
  api = await createTestApi();
});
afterAll(() => api.close());

const OVERRIDE = {
  model: 'house-model*',
  startsAt: '2026-01-01T00:00:00.000Z',
  inputUsdPerMillion: 1.5,
  outputUsdPerMillion: 6,
  longContext: { thresholdTokens: 100_000, inputUsdPerMillion: 3, outputUsdPerMillion: 12 },
};

const put = (body: unknown, key?: string): Promise<Response> =>
  api.fetch('/v1/prices', {
    method: 'PUT',
    body: typeof body === 'string' ? body : JSON.stringify(body),
    headers: { 'content-type': 'application/json', ...(key !== undefined && { authorization: `Bearer ${key}` }) },
  });
const read = async (key = api.keys.read): Promise<Record<string, unknown>> =>
  (await (await api.fetch('/v1/prices', { headers: { authorization: `Bearer ${key}` } })).json()) as never;

describe('/v1/prices', () => {
  beforeEach(() => put({ currency_label: 'USD', overrides: [] }));

  it('sets the given overrides, leaves the others, and returns them as they were sent', async () => {
    const before = await read();
    const lists = { price_date: GENAI_PRICES_DATE, price_file: null };
    expect(before).toEqual({ currency_label: 'USD', price_version: expect.any(String), ...lists, overrides: [] });
    const changed = await put({ overrides: [OVERRIDE, { ...OVERRIDE, model: 'b', startsAt: '2026-02-01' }] });
    expect(changed.status).toBe(200);
    const after = (await changed.json()) as { price_version: string };
    expect(after).toEqual({
      currency_label: 'USD',
      price_version: expect.stringContaining(`${before.price_version}+`),
      ...lists,
      overrides: [{ ...OVERRIDE, model: 'b', startsAt: '2026-02-01T00:00:00.000Z' }, OVERRIDE],
    });
    await put({ currency_label: ' EUR ' });
    expect(await read()).toEqual({ ...after, currency_label: 'EUR' });
    await put({ overrides: [] });
    expect(await read()).toEqual({ ...before, currency_label: 'EUR' });
  });

  it('applies to the key’s workspace alone', async () => {
    await put({ overrides: [OVERRIDE] });
    expect(await read(api.keys.other)).toMatchObject({ currency_label: 'USD', overrides: [] });
  });

  it('accepts all overrides or none, and reports what is wrong with each', async () => {
    await put({ overrides: [OVERRIDE] });
    const wrong = await put({ overrides: [OVERRIDE, { model: 'x', inputUsdPerMillion: -1, outputUsdPerMillon: 1 }] });
    const problem = await expectProblem(wrong, 400, 'invalid-request');
    expect(problem.errors?.map(({ field }) => field)).toEqual(
      expect.arrayContaining([
        'overrides[1].outputUsdPerMillon',
        'overrides[1].outputUsdPerMillion',
        'overrides[1].inputUsdPerMillion',
      ]),
    );
    expect((await read()).overrides).toEqual([OVERRIDE]);
  });

  it.each([
    ['no JSON'],
    ['[]'],
    ['{"currency":"EUR"}'],
    ['{"currency_label":""}'],
    ['{"currency_label":"a\\u0007"}'],
    // A value that would be accepted if it were shorter.
    [`{"overrides":[]}${' '.repeat(1024 * 1024)}`],
  ])('refuses a body such as %.20s', async (body) => {
    const answer = await put(body);
    expect(answer.status).toBe(400);
    await answer.text();
  });

  it('allows only admins to set prices', async () => {
    await expectProblem(await put({ overrides: [] }, api.keys.read), 403, 'missing-scope');
  });
});
