import { fastify } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { expect, it, vi } from 'vitest';
import { createDocumentation } from './documentation.ts';
import { addOpenapi } from './openapi.ts';

vi.mock('./documentation.ts', { spy: true });

it('is made anew where making it failed, as where no file could be opened, and once for all who ask then', async () => {
  const app = fastify().withTypeProvider<ZodTypeProvider>();
  addOpenapi(app, '1.0.0');
  vi.mocked(createDocumentation).mockRejectedValueOnce(new Error('EMFILE'));
  expect(await app.inject('/openapi.json')).toMatchObject({ statusCode: 500 });
  const answers = await Promise.all([app.inject('/openapi.json'), app.inject('/docs/'), app.inject('/docs/json')]);
  expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200]);
  expect(createDocumentation).toHaveBeenCalledTimes(2);
  await app.close();
});
