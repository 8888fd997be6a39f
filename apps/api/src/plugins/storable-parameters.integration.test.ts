import { afterAll, beforeAll, expect, it } from 'vitest';
import { expectProblem } from '../testing/expect-problem.ts';
import { createTestApi, type TestApi } from '../testing/test-api.ts';

interface Operation {
  parameters?: { name: string; in: string }[];
}

let api: TestApi;
beforeAll(async () => {
  api = await createTestApi();
});
afterAll(() => api.close());

it('no parameter of any operation with NUL in it causes an internal error', async () => {
  const { paths } = (await (await fetch(`${api.url}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, Operation>>;
  };
  const failed: string[] = [];
  let count = 0;
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, { parameters = [] }] of Object.entries(operations)) {
      const queries = parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => `?${name}=a%00b`);
      for (const query of path.includes('{') ? ['', ...queries] : queries) {
        const target = path.replaceAll(/\{\w+\}/g, query === '' ? '%00' : '01JCZ8Q4M2V7T3N5R9W0XYABCD') + query;
        const { status } = await api.fetch(target, { method: method.toUpperCase() });
        count++;
        if (status >= 500) failed.push(`${method} ${target}: ${status}`);
      }
    }
  }
  expect(failed).toEqual([]);
  expect(count).toBeGreaterThan(200);
});

it('refuses a body with half of a character, and takes a whole one, also as two escapes', async () => {
  const put = (name: string) =>
    api.fetch('/v1/plans', {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: `{"plans":[{"name":"${name}","person":"ada","agent":"codex","monthly_usd":1}]}`,
    });
  for (const half of ['\\ud800', 'a\\uDFFF', '\\\\\\ud800'])
    await expectProblem(await put(half), 400, 'invalid-request');
  for (const whole of ['\\ud83d\\ude00', '\\\\ud800', '😀']) expect((await put(whole)).status, whole).toBe(200);
});

it('a parameter with NUL in it is named, and so is a cursor that contains NUL', async () => {
  await expectProblem(await api.fetch('/v1/shares/%00', { method: 'DELETE' }), 404, 'not-found');
  const problem = await expectProblem(await api.fetch('/v1/search?q=a%00b'), 400, 'invalid-request');
  expect(problem.errors).toEqual([{ location: 'query', field: 'q', message: 'NUL characters are not allowed' }]);
  for (const [list, cursor] of [
    ['audit', { entry: '\0' }],
    ['shares', { share: '\0' }],
  ] as const) {
    const text = Buffer.from(JSON.stringify(cursor)).toString('base64url');
    await expectProblem(await api.fetch(`/v1/${list}?cursor=${text}`), 400, 'invalid-cursor');
  }
});
