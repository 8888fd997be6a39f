import { buffer, text } from 'node:stream/consumers';
import type { ApiKeyList, SearchResultList } from '@recount/contract';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { expectModels, expectUsage } from '../fleet/expected-usage.ts';
import { sumUnits } from '../fleet/facts.ts';
import { generateFleet } from '../fleet/generate-fleet.ts';
import { findBrowser } from './browser.ts';
import { toFactsOf, uploadFleet } from './fleet-breakdowns.ts';
import { type Dashboard, startDashboard } from './start-dashboard.ts';

const executablePath = findBrowser();
const { files, facts } = generateFleet(20_261_129);
const OF_ADA = toFactsOf(facts, 'ada');
const VIEWPORT = { width: 1440, height: 4000 };

let dashboard: Dashboard;

beforeAll(async () => {
  if (executablePath === undefined) return;
  dashboard = await startDashboard();
  await uploadFleet(dashboard.api, files);
});
afterEach(() => dashboard?.closePages());
afterAll(() => dashboard?.close());

const toDigits = (value: unknown): number | null =>
  value === null || value === undefined || value === '' ? null : Number(Number(value).toPrecision(12));

async function openExport(page: Page, title: string): Promise<void> {
  const label = `[aria-label="Export ${title}"]`;
  await page.locator(`button:has(+ ${label})`).click();
  await page.locator(label).getByRole('button', { name: 'CSV' }).waitFor();
}

/** The file that an export of a table or chart saves. */
async function save(page: Page, title: string, format: 'CSV' | 'JSON'): Promise<string> {
  await openExport(page, title);
  const saved = page.waitForEvent('download');
  await page.getByRole('button', { name: format, exact: true }).click();
  return await text(await (await saved).createReadStream());
}

interface Picture {
  width: number;
  height: number;
  /** Each once, as CSS has them. */
  colours: string[];
}

const readPicture = (page: Page, bytes: Buffer): Promise<Picture> =>
  page.evaluate<Picture>(`(async () => {
    const bytes = Uint8Array.from(atob('${bytes.toString('base64')}'), (each) => each.charCodeAt(0));
    const image = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
    const { width, height } = image;
    const context = Object.assign(document.createElement('canvas'), { width, height }).getContext('2d');
    context.drawImage(image, 0, 0);
    const pixels = new Uint32Array(context.getImageData(0, 0, width, height).data.buffer);
    const toColour = (pixel) => 'rgb(' + [pixel & 255, (pixel >> 8) & 255, (pixel >> 16) & 255].join(', ') + ')';
    return { width, height, colours: [...new Set(pixels)].map(toColour) };
  })()`);

interface SavedJson {
  title: string;
  link: string;
  filters: object;
  rows: Record<string, string | number | null>[];
}

const saveJson = async (page: Page, title: string): Promise<SavedJson> =>
  JSON.parse(await save(page, title, 'JSON')) as SavedJson;

describe.skipIf(executablePath === undefined)('an exported table or chart', () => {
  it('has the rows as they are shown, with exact figures and the filters', async () => {
    const page = await dashboard.open('/models?person=ada&period=all', { timezoneId: 'UTC', viewport: VIEWPORT });
    const { rows } = expectModels(OF_ADA, { timeZone: 'UTC', groupBy: [] });
    const [header, ...lines] = (await save(page, 'Models', 'CSV')).trim().split('\r\n');
    const figures = 'Model,Cost,Sessions,Responses,Input,Output,Cache read,Cache write,Cache hit rate';
    expect(header).toBe(`${figures},filter.time_zone,filter.person,filter.subagents`);
    const known = (rows as Record<string, number | string | null>[]).map((row) =>
      [row.model ?? '', row.sessions, row.responses, row.tokens_out, toDigits(row.cost_usd), 'ada'].join(),
    );
    const read = lines.map((line) => {
      const [model, cost, sessions, responses, , output, , , , , person] = line.split(',');
      return [model, sessions, responses, output, toDigits(cost), person].join();
    });
    expect(read.sort()).toEqual(known.sort());
    const json = await saveJson(page, 'Models');
    expect(json).toMatchObject({ title: 'Models', link: page.url(), filters: { person: ['ada'], from: null } });
    expect(json.rows).toHaveLength(rows.length);
  });

  it('has all that the API says of the rows of Admin, and search results without their texts', async () => {
    const page = await dashboard.open('/admin', { viewport: VIEWPORT });
    await page.locator('.plain-table tbody tr').first().waitFor();
    const { keys } = await dashboard.ask<ApiKeyList>('/v1/keys');
    const saved = (await saveJson(page, 'API keys')).rows;
    expect(saved.map(({ id }) => id)).toEqual(keys.map(({ id }) => id));
    expect(saved[0]).toMatchObject({ name: keys[0]?.name, scopes: keys[0]?.scopes.join('; ') });
    await page.goto(`${dashboard.api.url}/search?q=look`);
    const found = await dashboard.ask<SearchResultList>('/v1/search?q=look&limit=50');
    await page.locator('.found mark').first().waitFor();
    const { rows, filters } = await saveJson(page, 'Search results');
    expect(filters).toMatchObject({ q: 'look', mode: 'text' });
    expect(rows.map(({ message_id }) => message_id)).toEqual(found.results.map(({ message_id }) => message_id));
    for (const row of rows) expect(Object.keys(row)).not.toContain('snippet');
    const [{ link = '', message_id: message } = {}] = rows;
    await page.goto(String(link));
    await page.locator(`[data-message="${message}"]`).waitFor();
  });

  it('leads to a link that shows the figures of a table of sessions, and of waste', async () => {
    const page = await dashboard.open('/sessions?person=ada&period=all', { viewport: VIEWPORT });
    await page.locator('.body [role=row]').first().waitFor();
    await openExport(page, 'Sessions');
    await page.getByRole('button', { name: 'Share this view' }).waitFor();
    await page.goto(`${dashboard.api.url}/sessions?person=ada&min_cost_usd=0.000001&period=all`);
    await page.locator('.body [role=row]').first().waitFor();
    await openExport(page, 'Sessions');
    await page.getByRole('button', { name: 'CSV', exact: true }).waitFor();
    expect(await page.getByRole('button', { name: 'Share this view' }).count()).toBe(0);
    await page.goto(`${dashboard.api.url}/insights?period=all`);
    await page.locator('.waste-total').waitFor();
    await openExport(page, 'Potential waste');
    await page.getByRole('button', { name: 'Share this view' }).click();
    await page.getByRole('button', { name: 'Create link' }).click();
    const link = await page.getByRole('dialog').getByText(`${dashboard.api.url}/`).textContent();
    const shared = await (await fetch(link ?? '')).text();
    const { totals } = await dashboard.ask<{ totals: { waste_usd: number; findings: number } }>('/v1/analytics/waste');
    expect(shared).toContain(`<data value="${totals.waste_usd}"`);
    expect(shared).toContain(`<data value="${totals.findings}"`);
  });

  it('has the figures of each part of a page', async () => {
    const page = await dashboard.open('/person?person=ada&period=all', { timezoneId: 'UTC', viewport: VIEWPORT });
    await page.locator('.subject-sessions').waitFor();
    for (const title of ['Folders', 'Agents', 'Machines', 'Models', 'Tools']) {
      const cells = page.locator(`section[aria-label="${title}"] tbody data`);
      await cells.first().waitFor();
      const shown = await cells.evaluateAll((all) => all.map((each) => each.getAttribute('value')));
      const { rows } = await saveJson(page, title);
      const figures = rows.flatMap((row) => Object.values(row).filter((value) => typeof value === 'number'));
      expect(figures.map(String), title).toEqual(shown);
      expect(shown.length, title).toBeGreaterThan(0);
    }
    const { totals, rows: weeks } = expectUsage(OF_ADA, { timeZone: 'UTC', groupBy: ['week'] });
    const cost = (totals as { own: { cost_usd: number } }).own.cost_usd;
    for (const [title, count] of [
      ['Cost by week', weeks.length],
      ['Sessions', expectUsage(OF_ADA, { timeZone: 'UTC', groupBy: ['session'] }).rows.length],
    ] as const) {
      const { rows } = await saveJson(page, title);
      expect(rows, title).toHaveLength(count);
      expect(
        rows.reduce((sum, row) => sum + Number(row.Cost), 0),
        title,
      ).toBeCloseTo(cost, 9);
    }
  });

  it('is a picture of a chart, with its title, bars, axes and legend', async () => {
    const page = await dashboard.open('/?period=all&step=month', { timezoneId: 'UTC', viewport: VIEWPORT });
    for (const [title, shape, property] of [
      ['Cost by month', '.usage-chart .bar .series-1', 'fill'],
      ['Cost by day, the last 12 months', '.heat-day', 'backgroundColor'],
    ] as const) {
      await page.locator(shape).first().waitFor({ state: 'attached' });
      const colours = await page.evaluate<string[]>(
        `[...document.querySelectorAll('${shape}')].map((each) => getComputedStyle(each).${property})`,
      );
      await openExport(page, title);
      const saved = page.waitForEvent('download');
      await page.getByRole('button', { name: 'PNG', exact: true }).click();
      const download = await saved;
      expect(download.suggestedFilename()).toBe(`${title.toLowerCase().replaceAll(/[, ]+/g, '-')}.png`);
      const bytes = await buffer(await download.createReadStream());
      const picture = await readPicture(page, bytes);
      const figure = await page.locator(shape).first().locator('xpath=ancestor::figure').boundingBox();
      expect(picture.width).toBeGreaterThan(2 * (figure?.width ?? Number.NaN));
      expect(picture.height).toBeGreaterThan(2 * (figure?.height ?? Number.NaN));
      expect(picture.colours, title).toEqual(expect.arrayContaining(colours));
      // Texts have many shades between their colour and the background.
      expect(picture.colours.length).toBeGreaterThan(20);
    }
  });

  it('has a row of totals over all sessions that pass, though the list loads page by page', async () => {
    const page = await dashboard.open('/sessions?person=ada&subagents=include', { timezoneId: 'UTC' });
    const total = page.locator('[role=row].total');
    await total.waitFor();
    const shown = await total
      .locator('data')
      .evaluateAll((all) => all.map((each) => Number(each.getAttribute('value'))));
    const units = OF_ADA.sessions.flatMap(({ responses }) => responses).map(({ costs }) => sumUnits(costs));
    expect(shown[0]).toBe(OF_ADA.sessions.length);
    expect(toDigits(shown.at(-1))).toBe(toDigits(units.reduce((sum, each) => sum + each, 0) / 1e10));
  });

  it('can be shared by a link that says its time and filters', async () => {
    const path = '/person?person=ada&from=2026-01-01&to=2026-12-31';
    const page = await dashboard.open(path, { viewport: VIEWPORT });
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.locator('.subject-sessions').waitFor();
    await openExport(page, 'Sessions');
    await page.getByRole('button', { name: 'Copy link' }).click();
    await page.getByRole('button', { name: 'Link copied' }).waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(dashboard.api.url + path);
  });
});
