import type { Outline, SessionCosts, SessionDetail, SessionList } from '@recount/contract';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { findBrowser } from './browser.ts';
import { SESSION, uploadSamples } from './samples.ts';
import { type Dashboard, startDashboard } from './start-dashboard.ts';

const executablePath = findBrowser();

let dashboard: Dashboard;

beforeAll(async () => {
  if (executablePath === undefined) return;
  dashboard = await startDashboard();
  await uploadSamples(dashboard.api);
});
afterAll(() => dashboard?.close());
afterEach(() => dashboard?.closePages());

describe.skipIf(executablePath === undefined)('a session in the dashboard', () => {
  it('is renamed, starred, tagged and noted on its page, and found by star and tag', async () => {
    const page = await dashboard.open(`/sessions/${SESSION}`);
    await page.getByRole('button', { name: 'Starred' }).click();
    await page.getByRole('button', { name: 'Starred', pressed: true }).waitFor();
    await page.getByRole('button', { name: 'Edit title, tags and note' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Title').fill('The invoice');
    await dialog.getByLabel('Tags, separated by commas').fill('money, billing, money');
    await dialog.getByLabel('Note').fill('Shows the fault');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: 'The invoice' }).waitFor();
    await page.getByText('Shows the fault').waitFor();
    expect(await dashboard.ask<SessionDetail>(`/v1/sessions/${SESSION}`)).toMatchObject({
      ...{ title: 'The invoice', is_starred: true, tags: ['billing', 'money'], note: 'Shows the fault' },
    });
    await page.getByRole('link', { name: 'billing', exact: true }).click();
    await page.waitForURL(/tag=billing/);
    const rows = page.locator('.body [role=row]');
    await expect.poll(() => rows.count()).toBe(1);
    await expect.poll(() => rows.first().textContent()).toContain('The invoice');
    await page.getByRole('combobox', { name: /^Tag/ }).selectOption('');
    await expect.poll(() => rows.count()).toBeGreaterThan(1);
    await page.getByRole('button', { name: 'Starred', pressed: false }).click();
    await expect.poll(() => rows.count()).toBe(1);
  });

  it('says what its cost is made of, as the API does, and leads to its most expensive turn', async () => {
    const costs = await dashboard.ask<SessionCosts>(`/v1/sessions/${SESSION}/costs`);
    const page = await dashboard.open(`/sessions/${SESSION}`);
    await page.getByText('Where the cost comes from').click();
    const parts = page.getByRole('table', { name: 'Cost by token class and model, at list prices' });
    const values = parts.locator('tbody tr td:nth-child(5) data');
    await expect.poll(() => values.count()).toBe(costs.parts.length);
    expect(await values.evaluateAll((all) => all.map((each) => Number(each.getAttribute('value'))))).toEqual(
      costs.parts.map(({ cost_usd }) => cost_usd),
    );
    await page.getByRole('table', { name: 'Most expensive turns' }).getByRole('link').first().click();
    await page.waitForURL(new RegExp(`message=${costs.most_expensive[0]?.message_id}`));
  });

  it('has the figures of all turns below each other, whatever actions a turn has', async () => {
    const page = await dashboard.open(`/sessions/${SESSION}`);
    const costs = page.locator('.turn-answer .turn-figures data');
    await costs.nth(1).waitFor();
    const edges = await costs.evaluateAll((all) => all.map((each) => Math.round(each.getBoundingClientRect().right)));
    expect(new Set(edges).size).toBe(1);
  });

  it('lists its prompts beside the conversation, and the command that resumes it', async () => {
    const { turns } = await dashboard.ask<Outline>(`/v1/sessions/${SESSION}/outline`);
    const prompts = turns.filter(({ kind }) => kind === 'prompt');
    const page = await dashboard.open(`/sessions/${SESSION}`);
    const items = page.getByRole('navigation', { name: 'Prompts' }).getByRole('button');
    await expect.poll(() => items.count()).toBe(prompts.length);
    await items.last().click();
    await page.locator(`[data-message="${prompts.at(-1)?.id}"][data-selected=true]`).waitFor();
    await page.getByText(`claude --resume ${SESSION}`, { exact: true }).waitFor();
  });

  it('lists the sessions it was opened from, in their order, and steps through them', async () => {
    const query = 'sort=cost_estimate_usd&order=asc';
    const { sessions } = await dashboard.ask<SessionList>(`/v1/sessions?is_subagent=false&${query}`);
    const ids = sessions.map(({ session_id }) => session_id);
    const page = await dashboard.open(`/sessions?${query}`);
    await page.locator('.body [role=row] a').first().click();
    await page.getByRole('button', { name: 'Session list' }).click();
    const links = page.getByRole('complementary', { name: 'Session list' }).getByRole('link');
    const readIds = (): Promise<(string | undefined)[]> =>
      links.evaluateAll((all) => all.map((each) => each.getAttribute('href')?.split('?')[0]?.split('/').at(-1)));
    await expect.poll(readIds).toEqual(ids);
    const isAt = (index: number): Promise<void> =>
      page.waitForURL((url) => url.pathname === `/sessions/${ids[index]}` && url.search.includes(query));
    await isAt(0);
    await expect.poll(() => links.nth(0).getAttribute('aria-current')).toBe('page');
    await page.getByText(`1 of ${ids.length}`, { exact: true }).waitFor();
    expect(await page.getByRole('button', { name: 'Previous session' }).getAttribute('aria-disabled')).toBe('true');
    await page.getByRole('button', { name: 'Next session' }).click();
    await isAt(1);
    await page.getByText(`2 of ${ids.length}`, { exact: true }).waitFor();
    // The search in a session keeps its list.
    await page.getByLabel('Find in this session').fill('the');
    await page.waitForURL(/find=the/);
    await page.getByText(`2 of ${ids.length}`, { exact: true }).click();
    await page.keyboard.press('Shift+J');
    await isAt(2);
    await page.getByText(`3 of ${ids.length}`, { exact: true }).waitFor();
    await page.keyboard.press('Shift+K');
    await isAt(1);
    await links.nth(2).focus();
    await page.keyboard.press('Enter');
    await isAt(2);
    await page.reload();
    await expect.poll(readIds).toEqual(ids);
    await page.getByRole('button', { name: 'Close the session list' }).click();
    await expect.poll(() => links.count()).toBe(0);
    await page.locator('.session-header').getByRole('link', { name: 'Sessions', exact: true }).click();
    await page.waitForURL((url) => url.pathname === '/sessions' && url.search.includes(query));
  });

  it('shows the conversation if its list is refused', async () => {
    const page = await dashboard.open(`/sessions/${SESSION}?min_cost_usd=nothing`);
    await page.locator('.turn').first().waitFor();
    await page.getByRole('button', { name: 'Expand all' }).waitFor();
  });

  it('shows the session list over the page in narrow windows, until one is chosen', async () => {
    const page = await dashboard.open(`/sessions/${SESSION}`, { viewport: { width: 390, height: 844 } });
    await page.getByRole('button', { name: 'Session list' }).click();
    const links = page.getByRole('dialog', { name: 'Sessions' }).getByRole('link');
    await links.nth(1).waitFor();
    await page.keyboard.press('Escape');
    await expect.poll(() => links.count()).toBe(0);
    await page.getByRole('button', { name: 'Session list' }).click();
    const other = links.and(page.locator(':not([aria-current])')).first();
    const href = await other.getAttribute('href');
    await other.click();
    await page.waitForURL((url) => url.pathname === href);
    await expect.poll(() => links.count()).toBe(0);
  });

  it('names the agent that started a sub-agent as the author of its prompts', async () => {
    const { sessions } = await dashboard.ask<SessionList>('/v1/sessions?is_subagent=true');
    const page = await dashboard.open(`/sessions/${encodeURIComponent(sessions[0]?.session_id ?? '')}`);
    await page.locator('.turn-prompt .turn-who', { hasText: 'Main agent' }).first().waitFor();
    expect(await page.locator('.turn-prompt .turn-who', { hasText: 'You' }).count()).toBe(0);
  });
});
