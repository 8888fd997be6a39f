import { createMemoryHistory } from '@tanstack/react-router';
import { describe, expect, it } from 'vitest';
import { NO_VIEW } from './format/dimensions.ts';
import { PAGES } from './pages/pages.ts';
import { router } from './router.tsx';

const LEFT = [
  '/?period=7d',
  '/sessions?from=2026-05-01&to=2026-05-03&project=%2Fcode&project=%2Fa%2Cb&person=ada',
  '/sessions/one?period=all&model=opus',
];

/** The address that a link of a page leads to. */
function follow(from: string, link: { to?: string; href?: string; params?: object; search?: object }) {
  router.update({ ...router.options, history: createMemoryHistory({ initialEntries: [from] }) });
  return new URL(router.buildLocation(link as never).href, 'http://localhost');
}
const toView = ({ searchParams }: URL) =>
  ['period', 'from', 'to', 'project', 'person', 'model', 'machine', 'agent'].map((name) => searchParams.getAll(name));

describe('router', () => {
  it.each(PAGES.map(({ path }) => path))('keeps the time range and the filters on the way to %s', async (to) => {
    for (const from of LEFT) {
      const link = { to, params: { sessionId: 'two', provider: 'acme' } };
      expect(toView(await follow(from, link)), from).toEqual(toView(new URL(from, 'http://localhost')));
    }
  });

  it('keeps both where a command gives an address, and keeps no other parameter', async () => {
    const page = await follow('/sessions?period=90d&project=x&sort=tokens_out', { href: '/models' });
    expect(`${page.pathname}${page.search}`).toBe('/models?period=90d&project=x');
    const result = await follow('/?period=90d', { href: '/sessions/a%2Fb?message=7' });
    expect(result.pathname).toBe('/sessions/a%2Fb');
    expect(Object.fromEntries(result.searchParams)).toEqual({ period: '90d', message: '7' });
  });

  it('leads to the time and the filter that a link says', async () => {
    const day = { from: '2026-05-02', to: '2026-05-02' };
    const dayOf = await follow('/?period=90d', { to: '/sessions', search: day });
    expect(Object.fromEntries(dayOf.searchParams)).toEqual(day);
    const model = await follow('/?period=90d&model=a&person=ada', { to: '/sessions', search: { model: 'b' } });
    expect(Object.fromEntries(model.searchParams)).toEqual({ period: '90d', person: 'ada', model: 'b' });
    const all = await follow('/?period=90d&person=ada', { to: '/sessions', search: { ...NO_VIEW, agent: 'pi' } });
    expect(Object.fromEntries(all.searchParams)).toEqual({ agent: 'pi' });
  });
});
