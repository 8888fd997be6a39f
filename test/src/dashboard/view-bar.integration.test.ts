import type { UsageReport } from '@recount/contract';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { listOwn, toFigures } from '../fleet/expected-usage.ts';
import { generateFleet } from '../fleet/generate-fleet.ts';
import { findBrowser } from './browser.ts';
import { toPerson, uploadFleet } from './fleet-breakdowns.ts';
import { type Dashboard, startDashboard } from './start-dashboard.ts';

const executablePath = findBrowser();
const { files, facts } = generateFleet(20_261_129);
const OWN = listOwn(facts);
const MODELS = [...new Set(OWN.flatMap(({ model }) => model ?? []))].sort();
const FIGURE_PAGES = [
  '/',
  '/projects',
  '/models',
  '/people',
  '/tools',
  '/files',
  '/subagents',
  '/insights',
  '/sessions',
];

let dashboard: Dashboard;

beforeAll(async () => {
  if (executablePath === undefined) return;
  dashboard = await startDashboard();
  await uploadFleet(dashboard.api, files);
});
afterEach(() => dashboard?.closePages());
afterAll(() => dashboard?.close());

/** The known cost of the responses that pass, to 12 digits. */
function expectCost(passes: (copy: (typeof OWN)[number]) => boolean): number {
  const { cost_usd: cost } = toFigures(OWN.filter(passes).map(({ response }) => response)) as { cost_usd: number };
  return Number(cost.toPrecision(12));
}

/** The cost that a page shows as its total, to 12 digits; null if it shows none. */
async function readCost(page: Page): Promise<number | null> {
  const text = (await page.evaluate(`[...document.querySelectorAll('.totals > div')]
    .find((each) => each.querySelector('dt')?.textContent === 'Cost')?.querySelector('data')?.value ?? null`)) as
    | string
    | null;
  return text === null ? null : Number(Number(text).toPrecision(12));
}

const openChoice = async (page: Page, name: string, panel = name): Promise<void> => {
  await page
    .getByRole('search', { name: 'Time and filters' })
    .getByRole('button', { name: new RegExp(`^${name}( \\(\\d+\\))?$`) })
    .first()
    .click();
  await page.getByRole('group', { name: panel, exact: true }).waitFor();
};
const toQuery = (page: Page, name: string): string[] => new URL(page.url()).searchParams.getAll(name);

describe.skipIf(executablePath === undefined)('the bar of time and filters', () => {
  it.each(FIGURE_PAGES)('is on %s with every dimension of the registry, by its names', async (path) => {
    const page = await dashboard.open(path);
    const bar = page.getByRole('search', { name: 'Time and filters' });
    for (const name of ['Repository', 'Folder', 'Agent', 'Person', 'Machine', 'Model'])
      await bar.getByRole('button', { name, exact: false }).first().waitFor();
  });

  it('filters by several values with their counts, keeps them from page to page, and removes them', async () => {
    const [one = '', other = ''] = MODELS;
    const page = await dashboard.open('/models?period=all');
    await openChoice(page, 'Model');
    const panel = page.getByRole('group', { name: 'Model', exact: true });
    await panel.locator(`label[title="${one}"] input`).check();
    const ofOne = facts.responses.filter(({ model }) => model === one);
    const sessions = new Set(ofOne.flatMap(({ holders }) => [...holders])).size;
    await expect.poll(() => panel.locator(`label[title="${one}"]`).textContent()).toContain(`${sessions} session`);
    await panel.locator(`label[title="${other}"] input`).check();
    await expect.poll(() => toQuery(page, 'model')).toEqual([one, other]);
    await page.keyboard.press('Escape');
    await expect.poll(() => panel.count()).toBe(0);
    const cost = expectCost(({ model }) => model === one || model === other);
    await expect.poll(() => readCost(page)).toBe(cost);
    for (const [link, place] of [
      ['Projects', '/projects'],
      ['People and machines', '/people'],
      ['Overview', '/'],
    ] as const) {
      await page.getByRole('navigation').getByRole('link', { name: link, exact: true }).click();
      await page.waitForURL((url) => url.pathname === place);
      await page.getByRole('heading', { level: 1, name: link, exact: true }).waitFor();
      expect(toQuery(page, 'model')).toEqual([one, other]);
      await expect.poll(() => readCost(page), { message: place }).toBe(cost);
    }
    await page
      .getByRole('button', { name: /^Model: .*remove this filter/ })
      .first()
      .click();
    await expect.poll(() => toQuery(page, 'model')).toEqual([other]);
    await expect.poll(() => readCost(page)).toBe(expectCost(({ model }) => model === other));
    await page.getByRole('button', { name: 'Clear', exact: true }).click();
    await expect.poll(() => new URL(page.url()).search).toBe('?period=all');
    await expect.poll(() => readCost(page)).toBe(expectCost(() => true));
  });

  it('combines filters, and leads from a row to its page and its sessions with the others kept', async () => {
    const [person = ''] = [...new Set(facts.sessions.map(({ id }) => toPerson(id)))];
    const [model = ''] = OWN.filter(({ session }) => toPerson(session.id) === person).flatMap(
      (each) => each.model ?? [],
    );
    const page = await dashboard.open(`/models?period=all&person=${encodeURIComponent(person)}`);
    const passes = (copy: (typeof OWN)[number]) => toPerson(copy.session.id) === person;
    await expect.poll(() => readCost(page)).toBe(expectCost(passes));
    const row = page.locator('.body [role=row]').filter({ has: page.locator(`a[title="${model}"]`) });
    for (const [link, place] of [
      [`a[title="${model}"]`, '/model'],
      ['a[title="Its sessions"]', '/sessions'],
    ] as const) {
      await row.locator(link).click();
      await page.waitForURL((url) => url.pathname === place);
      expect([toQuery(page, 'person'), toQuery(page, 'model')]).toEqual([[person], [model]]);
      await page.goBack();
    }
  });

  it('means all names that a typed part matches, and says what matches nothing instead of an error', async () => {
    const part = 'claude';
    const page = await dashboard.open('/models?period=all');
    await openChoice(page, 'Model');
    await page.getByRole('searchbox', { name: 'Search model' }).fill(part);
    await page.getByText(`All with “${part}”`).click();
    await expect.poll(() => toQuery(page, 'model')).toEqual([part]);
    await expect.poll(() => readCost(page)).toBe(expectCost(({ model }) => model?.includes(part) === true));
    for (const path of FIGURE_PAGES) {
      await page.goto(`${dashboard.api.url}${path}?model=xyzzy&period=all`);
      await page.getByText('No model matches "xyzzy"').first().waitFor();
      expect(await page.getByRole('alert').count(), path).toBe(0);
    }
  });

  it('chooses days with a date picker, and named periods', async () => {
    const page = await dashboard.open('/projects?period=all');
    await openChoice(page, 'All time', 'Time');
    await page.getByLabel('From', { exact: true }).fill('2026-10-25');
    await page.getByLabel('To', { exact: true }).fill('2026-10-24');
    await page.getByRole('button', { name: 'Show these days' }).click();
    await page.waitForURL(`${dashboard.api.url}/projects?from=2026-10-24&to=2026-10-25`);
    await page.getByRole('button', { name: '2026-10-24 to 2026-10-25' }).click();
    for (const name of [
      'Today',
      'This week',
      'Last week',
      'This month',
      'Last month',
      '7 days',
      '90 days',
      '12 months',
    ])
      await expect.poll(() => page.getByRole('button', { name, exact: true }).count()).toBe(1);
    await page.getByRole('button', { name: 'Last month', exact: true }).click();
    await page.waitForURL(`${dashboard.api.url}/projects?period=last-month`);
  });

  it('opens, chooses and closes with the keyboard, and closes on a click outside', async () => {
    const page = await dashboard.open('/projects?period=all');
    const button = page.getByRole('search').getByRole('button', { name: 'Person' });
    await button.focus();
    await page.keyboard.press('Enter');
    const panel = page.getByRole('group', { name: 'Person', exact: true });
    await panel.getByRole('checkbox').first().waitFor();
    await expect.poll(() => page.evaluate('document.activeElement.type')).toBe('search');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Space');
    await expect.poll(() => toQuery(page, 'person').length).toBe(1);
    await page.keyboard.press('Escape');
    await expect.poll(() => panel.count()).toBe(0);
    expect(await page.evaluate('document.activeElement.textContent')).toContain('Person (1)');
    await page.keyboard.press('Enter');
    await panel.waitFor();
    await page.locator('h1').click();
    await expect.poll(() => panel.count()).toBe(0);
  });

  it('fits on a phone', async () => {
    const page = await dashboard.open('/models?period=all', { viewport: { width: 390, height: 844 } });
    for (const name of ['All time', 'Repository', 'Folder', 'Agent', 'Person', 'Machine', 'Model']) {
      await page.getByRole('search').getByRole('button', { name, exact: false }).first().click();
      const { x = -1, width = 999 } = (await page.locator('.dropdown-panel:popover-open').boundingBox()) ?? {};
      expect(x, name).toBeGreaterThanOrEqual(0);
      expect(x + width, name).toBeLessThanOrEqual(390);
      await page.keyboard.press('Escape');
    }
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
  });

  it('says beside the total how exact it is, and tells all in a dialog', async () => {
    const unpriced = OWN.filter(({ response }) => response.basis === 'unpriced');
    const page = await dashboard.open('/models?period=all');
    const line = page.locator('.trust-line');
    await line.getByText('Cost is an estimate at list prices').waitFor();
    expect(unpriced.length).toBeGreaterThan(0);
    await line.getByText('tokens unpriced').waitFor();
    const { caveats } = await dashboard.ask<UsageReport>('/v1/analytics/usage?group_by=');
    expect(caveats.unfinalised.estimated_cost_usd).toBeGreaterThan(0);
    await line.getByRole('button', { name: 'How exact is this?' }).click();
    const dialog = page.getByRole('dialog', { name: 'How exact is this?' });
    await dialog.getByText('no price').waitFor();
    await dialog.getByText(/the agent wrote its own total|No agent reported a total/).waitFor();
    await page.keyboard.press('Escape');
    await expect.poll(() => dialog.count()).toBe(0);
    await page.goto(`${dashboard.api.url}/tools?period=all`);
    await page.locator('.body [role=row]').first().waitFor();
    expect(await line.count()).toBe(0);
  });
});

/** Labels of the figures above the rows of a page, in their order. */
const readLabels = (page: Page): Promise<string[]> => page.locator('.totals dt').allTextContents();

const isInSight = (page: Page, selector: string): Promise<boolean> =>
  page.evaluate(`(() => {
    const { top, bottom } = document.querySelector(${JSON.stringify(selector)})?.getBoundingClientRect() ?? { top: -1 };
    return top >= 0 && bottom <= innerHeight;
  })()`);

/** The colour of an element's text. */
const readColour = (page: Page, selector: string): Promise<string> =>
  page.evaluate(`getComputedStyle(document.querySelector(${JSON.stringify(selector)})).color`);

describe.skipIf(executablePath === undefined)('figures, tables and panels of all pages', () => {
  it('have the same names and order of figures, in the colour of text', async () => {
    const page = await dashboard.open('/?period=all');
    await page.locator('.totals data').first().waitFor();
    const ofOverview = await readLabels(page);
    expect(ofOverview[0]).toBe('Cost');
    for (const path of ['/projects', '/models', '/people', '/person?person=ada']) {
      await page.goto(`${dashboard.api.url}${path}${path.includes('?') ? '&' : '?'}period=all`);
      await page.locator('.totals data').first().waitFor();
      const labels = await readLabels(page);
      const shared = ofOverview.filter((label) => label !== 'Tokens');
      expect(
        labels.filter((label) => shared.includes(label)),
        path,
      ).toEqual(shared);
      expect(await readColour(page, '.totals dd a'), path).toBe(await readColour(page, 'h1'));
    }
  });

  it('show all of a few dozen rows without a second place to scroll, and follow the selected row', async () => {
    const page = await dashboard.open('/tools?period=all', { viewport: { width: 1440, height: 420 } });
    const table = page.getByRole('table', { name: 'Tools', exact: true });
    await table.locator('.body > [role=row]').first().waitFor();
    // More than fit into a table that scrolls.
    expect(Number(await table.getAttribute('aria-rowcount'))).toBeGreaterThan(10);
    expect(await table.evaluate((each) => each.scrollHeight - each.clientHeight)).toBe(0);
    await page.keyboard.press('G');
    await expect.poll(() => isInSight(page, '.body > [data-selected=true]')).toBe(true);
  });

  it('close the saved views and the columns of the session list with Escape, and on a click outside', async () => {
    const page = await dashboard.open('/sessions?period=all');
    for (const [button, panel] of [
      ['Views', 'Saved views'],
      ['Columns', 'Columns'],
    ] as const) {
      const open = page.getByRole('button', { name: button, exact: true });
      const group = page.getByRole('group', { name: panel, exact: true });
      await open.click();
      await group.waitFor();
      await page.keyboard.press('Escape');
      await expect.poll(() => group.count()).toBe(0);
      await open.click();
      await group.waitFor();
      await page.locator('h1').click();
      await expect.poll(() => group.count()).toBe(0);
    }
  });

  it('keep tabs in their places when one is chosen', async () => {
    const page = await dashboard.open('/projects?period=all');
    const tabs = page.getByRole('group', { name: 'What to show' });
    const toPlaces = (): Promise<number[]> =>
      tabs.getByRole('button').evaluateAll((all) => all.map((each) => each.getBoundingClientRect().left));
    await page.locator('.body [role=row]').first().waitFor();
    const before = await toPlaces();
    await tabs.getByRole('button', { name: 'Agents' }).click();
    await page.getByRole('table', { name: 'Agents', exact: true }).waitFor();
    expect(await toPlaces()).toEqual(before);
  });

  it('have repository, person, models, tokens and cost of sessions in wide windows', async () => {
    const page = await dashboard.open('/sessions?period=all', { viewport: { width: 1440, height: 900 } });
    const heads = page.getByRole('columnheader');
    await heads.first().waitFor();
    const labels = (await heads.allTextContents()).map((label) => label.replace(/[↑↓]/, '').trim());
    expect(labels).toEqual(expect.arrayContaining(['Repository', 'Person', 'Models', 'Output', 'Cost']));
  });

  it('show the end of the name of an uploaded file', async () => {
    const page = await dashboard.open('/uploads', { viewport: { width: 900, height: 800 } });
    await page.locator('.body .clip-start').first().waitFor();
    const isEndInSight = await page.evaluate(`(() => {
      const link = document.querySelector('.body .clip-start');
      const text = link.querySelector('bdi').firstChild;
      const range = document.createRange();
      range.setStart(text, text.length - '.jsonl'.length);
      range.setEnd(text, text.length);
      const [end, frame] = [range.getBoundingClientRect(), link.getBoundingClientRect()];
      return link.scrollWidth > link.clientWidth && end.left >= frame.left - 1 && end.right <= frame.right + 1;
    })()`);
    expect(isEndInSight).toBe(true);
  });
});
