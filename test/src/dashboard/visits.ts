import type { Page, Request } from 'playwright-core';
import { expect } from 'vitest';
import { SESSION } from './samples.ts';
import type { Dashboard } from './start-dashboard.ts';

const isNight = process.env.RECOUNT_TEST_STAGE === 'night';

/** The content of a complete page, or the steps that complete it. */
type Ready = string | ((page: Page) => Promise<void>);

/** Every page and every view of one, by path. Tests that visit them fail if one is missing here. */
export const VISITS: Readonly<Record<string, Ready>> = {
  '/': '.legend li',
  '/?period=all&metric=tokens&by=project': '.legend li',
  '/sessions?subagents=include&columns=agent,project,branch,models,person,machine,version': '.body [role=row]',
  [`/sessions/${SESSION}`]: async (page) => {
    await page.locator('.turn').first().waitFor();
    await page.locator('.session-more summary', { hasText: 'changed file' }).click();
  },
  '/search?q=rounding': '.found mark',
  '/tools?period=all': '.body [role=row]',
  '/tools?period=all&view=programs': '.body [role=row]',
  '/tools?period=all&view=mcp': 'main h1',
  '/tools?period=all&view=skills': 'main h1',
  '/tools?period=all&view=refused': 'main h1',
  '/files?period=all': '.body [role=row]',
  '/projects?period=all': '.body [role=row]',
  '/projects?period=all&view=project': '.body [role=row]',
  '/projects?period=all&view=agent': '.body [role=row]',
  '/models?period=all': '.body [role=row]',
  '/subagents?period=all': '.body [role=row]',
  '/people?period=all': '.body [role=row]',
  '/people?period=all&view=machine': '.body [role=row]',
  '/people?period=all&view=team': 'main h1',
  '/people?period=all&view=cost_centre': 'main h1',
  '/projects?period=all&view=kind_of_work': 'main h1',
  '/repository?repository=harbor&period=all': 'main h1',
  '/project?project=billing&period=all': 'main h1',
  '/agent?agent=claude-code&period=all': '.subject-sessions .body [role=row]',
  '/person?person=x&period=all': 'main h1',
  '/machine?machine=x&period=all': 'main h1',
  '/team?team=x&period=all': 'main h1',
  '/cost_centre?cost_centre=x&period=all': 'main h1',
  '/kind_of_work?kind_of_work=coding&period=all': 'main h1',
  '/model?model=claude&period=all': '.subject-sessions .body [role=row]',
  '/tool?tool=Bash&period=all': '.subject-sessions .body [role=row]',
  '/insights?period=all': '.finding-kind',
  '/insights?period=all&kind=large-result': '.finding-kind',
  ...Object.fromEntries(
    [
      ...['day', 'person', 'team', 'machine', 'model', 'agent', 'session'],
      ...['bill-month', 'bill-day', 'bill-model'],
    ].map((view) => [`/reconciliation?period=all&view=${view}`, 'main h1']),
  ),
  '/uploads': '.body [role=row]',
  ...Object.fromEntries(
    ['waiting', 'failed', 'ingested', 'superseded', 'issues'].map((view) => [`/uploads?view=${view}`, 'main h1']),
  ),
  '/admin': '.plain-table tbody tr',
  '/admin?view=browsers': '.plain-table tbody tr',
  '/admin?view=links': 'main h2',
  '/admin?view=workspaces': '.plain-table tbody tr, main h2',
  '/admin?view=checks': 'main h2',
  ...Object.fromEntries(
    ['people', 'budgets', 'plans', 'alerts', 'digests', 'repositories', 'links'].map((view) => [
      `/admin?view=${view}`,
      'main h2',
    ]),
  ),
  ...Object.fromEntries(
    ['waiting', 'sent', 'failed'].map((state) => [`/admin?view=digests&messages=${state}`, 'main h3']),
  ),
  '/admin?view=prices': async (page) => {
    const override = { model: 'claude-*', inputUsdPerMillion: 3, outputUsdPerMillion: 15 };
    await page.getByText('All as JSON').click();
    await page.getByLabel('Overrides of the list prices').fill(JSON.stringify([override]));
    await page.locator('.price-changes').getByText('at this price').first().waitFor();
    await page.locator('.plain-table tbody tr').first().waitFor();
  },
  '/admin?view=settings': 'main h1',
  '/admin?view=jobs': 'main h2',
  '/admin?view=audit': '.plain-table tbody tr',
  // Signed-in users can open it as well.
  '/sign-in': '#key',
  '/sign-in/acme': '#key',
};

/**
 * Opens a page and waits until it is complete. By day as a link of the open page does, which takes a fifth of the
 * processor time; at night by its address.
 */
export async function visit({ api }: Dashboard, page: Page, path: string, ready: Ready): Promise<void> {
  const isOpen = await page.evaluate<boolean>(
    "window.__TSR_ROUTER__ !== undefined && document.querySelector('h1') !== null",
  );
  if (isOpen && !isNight) await followLink(page, path);
  else await page.goto(api.url + path);
  if (typeof ready === 'string') await page.locator(ready).first().waitFor();
  else await ready(page);
  await expect.poll(() => page.locator('.loading').count(), { message: path }).toBe(0);
}

/** Waits until the page is there with the answers to its first requests, so that nothing of the one before is left. */
async function followLink(page: Page, path: string): Promise<void> {
  const underWay = new Set<Request>();
  const begin = (request: Request) => {
    // Running sessions come in a stream without an end.
    if (/\/v1\/(?!live)/.test(request.url())) underWay.add(request);
  };
  const end = (request: Request) => void underWay.delete(request);
  page.on('request', begin).on('requestfinished', end).on('requestfailed', end);
  try {
    await page.evaluate(`(async () => {
      const router = window.__TSR_ROUTER__;
      const before = router.state.resolvedLocation;
      const hasArrived = () => router.state.status === 'idle' && router.state.resolvedLocation !== before;
      router.history.push(${JSON.stringify(path)});
      const nextFrame = () => new Promise((resolve) => requestAnimationFrame(resolve));
      while (!hasArrived()) await nextFrame();
      await nextFrame();
      await nextFrame();
    })()`);
    await expect.poll(() => underWay.size, { message: path }).toBe(0);
  } finally {
    page.off('request', begin).off('requestfinished', end).off('requestfailed', end);
  }
}

/** Records what the router and its pages offer, and which of it was visited. */
export function createCoverage(): { note(page: Page): Promise<void>; expectComplete(): void } {
  const offered = new Set<string>();
  const visited = new Set<string>();
  return {
    async note(page) {
      const { routes, route, views } = (await page.evaluate(`(() => {
        const router = window.__TSR_ROUTER__;
        const groups = [...document.querySelectorAll('.segments:not([aria-label="Time"])')];
        return {
          routes: Object.keys(router.routesByPath),
          route: router.state.matches.at(-1).fullPath,
          views: groups.flatMap((group) => [...group.querySelectorAll('button')].map((button) => ({
            // Without the count, which is added later.
            name: button.firstChild.textContent.trim(),
            isShown: button.getAttribute('aria-pressed') === 'true',
          }))),
        };
      })()`)) as { routes: string[]; route: string; views: { name: string; isShown: boolean }[] };
      const toPlain = (path: string): string => path.replace(/(?<=.)\/$/, '');
      for (const each of routes) offered.add(toPlain(each));
      visited.add(toPlain(route));
      for (const { name, isShown } of views) {
        offered.add(`${toPlain(route)}: ${name}`);
        if (isShown) visited.add(`${toPlain(route)}: ${name}`);
      }
    },
    expectComplete() {
      expect(offered.size).toBeGreaterThan(20);
      expect([...visited].sort()).toEqual([...offered].sort());
    },
  };
}
