import fastifyCookie from '@fastify/cookie';
import { fastify } from 'fastify';
import { expect, it } from 'vitest';
import { setSignInCookie } from './credentials.ts';

it.each([
  ['https', true],
  ['http', false],
])('marks the cookie of a sign-in as secure over HTTPS only: %s', async (protocol, isSecure) => {
  const app = fastify({ trustProxy: true });
  await app.register(fastifyCookie);
  app.post('/', async (request, reply) => {
    setSignInCookie(request, reply, { cookie: 'rks_a', page: 'b' }, 60);
  });
  const answer = await app.inject({ method: 'POST', url: '/', headers: { 'x-forwarded-proto': protocol } });
  const [cookie] = answer.cookies;
  expect(cookie).toMatchObject({ name: 'recount_sign_in', httpOnly: true, sameSite: 'Strict', maxAge: 60 });
  expect(cookie?.secure === true).toBe(isSecure);
});
