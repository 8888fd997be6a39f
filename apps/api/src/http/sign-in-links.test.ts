import { expect, it } from 'vitest';
import { createSignInLinks } from './sign-in-links.ts';

it('redeems a code for its key once', () => {
  const links = createSignInLinks();
  const code = links.create('rk_a');
  expect(links.redeem('other')).toBeUndefined();
  expect(links.redeem(code)).toBe('rk_a');
  expect(links.redeem(code)).toBeUndefined();
});

it('forgets codes after a day, and the oldest ones above a limit', () => {
  let nowMs = 0;
  const links = createSignInLinks(() => nowMs);
  const first = links.create('rk_first');
  const second = links.create('rk_second');
  for (let index = 0; index < 99; index++) links.create('rk_more');
  expect(links.redeem(first)).toBeUndefined();
  nowMs = 24 * 60 * 60_000;
  expect(links.redeem(second)).toBeUndefined();
});
