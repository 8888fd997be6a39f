import type { TestApi } from '@recount/api/testing/test-api';
import type {
  FindingsReport,
  ModelsReport,
  Outline,
  Reprice,
  SessionChanges,
  SessionDetail,
  SessionList,
  UsageReport,
  WorkspacePrices,
} from '@recount/contract';
import { runRepricing } from '@recount/ingest';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { findBrowser } from './browser.ts';
import { SESSION, toUnfinishedTranscript, UNFINISHED, uploadSamples } from './samples.ts';
import { readSignedInUrl } from './sign-in.ts';
import { type Dashboard, startDashboard } from './start-dashboard.ts';

const executablePath = findBrowser();

let dashboard: Dashboard;
let api: TestApi;
let open: Dashboard['open'];
let ask: Dashboard['ask'];

beforeAll(async () => {
  if (executablePath === undefined) return;
  dashboard = await startDashboard();
  ({ api, open, ask } = dashboard);
  await uploadSamples(api);
});
afterAll(() => dashboard?.close());
afterEach(() => dashboard?.closePages());

/** The marked texts of a page, in lower case. */
const readMarks = (page: Page): Promise<string[]> =>
  page.evaluate(
    '[...CSS.highlights.values()].flatMap((each) => [...each]).map((range) => range.toString().toLowerCase())',
  );

describe.skipIf(executablePath === undefined)('the dashboard in a browser', () => {
  it('signs in with a key, returns to the requested page, and signs out', async () => {
    const page = await open('/sessions?agent=claude-code', {}, false);
    await page.waitForURL(/\/sign-in\?next=/);
    await page.fill('#key', 'rk_wrong');
    await page.click('button[type=submit]');
    await expect.poll(() => page.getByRole('alert').textContent()).toMatch(/^[^`]*unknown, or revoked[^`]*$/);
    await page.fill('#key', api.keys.read);
    await page.click('button[type=submit]');
    await page.waitForURL(`${api.url}/sessions?agent=claude-code`);
    await page.locator('.body [role=row]').first().waitFor();
    expect(await page.evaluate('document.cookie')).toBe('');
    const whoami = `${await readSignedInUrl(page)}/v1/whoami`;
    const [{ name = '', value = '' } = {}] = await page.context().cookies(whoami);
    const headers = { cookie: `${name}=${value}` };
    expect((await fetch(whoami, { headers })).status).toBe(200);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.waitForURL(/\/sign-in/);
    expect((await fetch(whoami, { headers })).status).toBe(401);
    expect(await page.context().cookies(whoami)).toEqual([]);
    expect(await page.evaluate("localStorage.getItem('recount-page')")).toBeNull();
  });

  it('keeps the row that keys select in sight, also in a low window', async () => {
    const [session] = (await ask<SessionList>('/v1/sessions?limit=1')).sessions;
    const sessions = Array.from({ length: 40 }, (_, index) => ({ ...session, session_id: `s-${index}` }));
    const page = await open('/uploads', { viewport: { width: 1280, height: 420 } });
    await page.route('**/v1/sessions?*', (route) => route.fulfill({ json: { sessions, next_cursor: null } }));
    await page.goto(`${api.url}/sessions`);
    const rows = page.locator('.data-table .body [role=row]');
    await rows.first().waitFor();
    /** The number of the selected row, if it is below the head and above the lower edge of the table. */
    const readSelectedInSight = () =>
      page.evaluate<string | null>(`(() => {
        const row = document.querySelector('.data-table .body [data-selected=true]');
        const table = document.querySelector('.data-table').getBoundingClientRect();
        const head = document.querySelector('.data-table .head').getBoundingClientRect();
        const { top, bottom } = row?.getBoundingClientRect() ?? { top: -1, bottom: -1 };
        return top >= head.bottom - 1 && bottom <= table.bottom + 1 ? row.ariaRowIndex : null;
      })()`);
    for (const [key, rowIndex] of [
      ['G', '41'],
      ['g', '2'],
      ['j', '3'],
      ['G', '41'],
      ['k', '40'],
    ] as const) {
      await page.keyboard.press(key);
      await page
        .locator(`.data-table [data-selected=true][aria-rowindex="${rowIndex}"]`)
        .waitFor({ state: 'attached' });
      await expect.poll(readSelectedInSight, { message: key }).toBe(rowIndex);
    }
  });

  it('names each page in the title of its tab', async () => {
    const page = await open('/models');
    await expect.poll(() => page.title()).toBe('Models · recount');
    await page.goto(`${api.url}/sessions/${SESSION}`);
    const { title } = await ask<SessionDetail>(`/v1/sessions/${SESSION}`);
    await expect.poll(() => page.title()).toBe(`${title} · recount`);
  });

  it('shows all time where nothing was used in the last month, and keeps a chosen time from page to page', async () => {
    const page = await open('/models');
    await page.getByRole('search').getByRole('button', { name: 'All time' }).waitFor();
    await page.locator('.body [role=row]').first().waitFor();
    await page.goto(`${api.url}/models?from=2024-01-01&to=2030-12-31`);
    await page.getByRole('link', { name: 'Tools', exact: true }).click();
    await page.waitForURL(`${api.url}/tools?from=2024-01-01&to=2030-12-31`);
    await page.getByText('2024-01-01 to 2030-12-31').waitFor();
  });

  it('names the dates that another page chose in the filters of sessions, and lets them be replaced', async () => {
    const page = await open('/models?from=2026-01-01&to=2026-12-31');
    await page.getByRole('navigation').getByRole('link', { name: 'Sessions', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Sessions' }).waitFor();
    await page.getByRole('search').getByRole('button', { name: '2026-01-01 to 2026-12-31' }).click();
    await page.getByRole('button', { name: '90 days' }).click();
    await page.waitForURL(/\/sessions\?period=90d$/);
  });

  it('shows no names of the grouping before in the legend of a chart', async () => {
    const page = await open('/?period=all&by=model');
    await page.locator('.legend li').first().waitFor();
    let release = (): void => undefined;
    let held = Promise.resolve();
    await page.route(/\/v1\/analytics\/usage\?/, async (route) => {
      await held;
      await route.continue();
    });
    for (const by of ['project', 'agent']) {
      held = new Promise((resolve) => {
        release = resolve;
      });
      await page.getByRole('combobox', { name: 'by' }).selectOption(by);
      await expect.poll(() => page.locator('.legend li').allTextContents()).toEqual([]);
      release();
      await page.locator('.legend li').first().waitFor();
    }
    const texts = await page.locator('.legend li').allTextContents();
    expect(new Set(texts).size).toBe(texts.length);
  });

  it('keeps the results of the command palette within its frame', async () => {
    const page = await open('/');
    await page.keyboard.press('/');
    await page.getByRole('combobox', { name: 'Search or go to' }).fill('invoice');
    await expect.poll(() => page.getByRole('option').count()).toBeGreaterThan(1);
    const dialog = await page.getByRole('dialog').boundingBox();
    const list = await page.getByRole('listbox').boundingBox();
    expect(list?.width).toBeLessThanOrEqual(dialog?.width ?? 0);
  });

  it('sends a single search for what is typed into the command palette', async () => {
    const page = await open('/');
    const searches: (string | null)[] = [];
    page.on('request', (request) => {
      const { pathname, searchParams } = new URL(request.url());
      if (pathname.endsWith('/v1/search')) searches.push(searchParams.get('q'));
    });
    await page.keyboard.press('/');
    const field = page.getByRole('combobox', { name: 'Search or go to' });
    await field.waitFor();
    // A clock that stands still, so typing takes no time on a busy machine either.
    const nowMs = Date.now();
    await page.clock.install({ time: nowMs });
    await page.clock.pauseAt(nowMs + 60_000);
    await field.pressSequentially('invoice');
    expect(searches).toEqual([]);
    await page.clock.runFor(10_000);
    const countOptions = async (): Promise<number> => {
      // An answer that comes later is shown after a timeout, too.
      await page.clock.runFor(100);
      return await page.getByRole('option').count();
    };
    await expect.poll(countOptions).toBeGreaterThan(1);
    expect(searches).toEqual(['invoice']);
  });

  it('finds, opens and reads a session with the keyboard alone', async () => {
    const page = await open('/sessions');
    await page.locator('.body [role=row]').first().waitFor();
    await page.keyboard.press('/');
    await page.getByRole('combobox', { name: 'Search or go to' }).fill('one-cent');
    await page.getByRole('option', { name: /Search for/ }).waitFor();
    await page.keyboard.press('Escape');
    await page.goto(`${api.url}/sessions?prompt=Finance+says`);
    await page.locator('.body [role=row]').first().waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    // Its address says the list, too.
    await page.waitForURL(`${api.url}/sessions/${SESSION}?prompt=Finance+says`);
    await page.locator('.turn').first().waitFor();
    await page.keyboard.press(']');
    await page.locator('.turn-prompt[data-selected=true]').waitFor();
    await page.keyboard.press('j');
    const selected = page.locator('.turn[data-selected=true]');
    await selected.locator('.fold[data-open=false]').first().waitFor();
    await page.keyboard.press('e');
    await selected.locator('.fold[data-open=true] .result').first().waitFor();
    await page.keyboard.press('n');
    await page.locator('.turn[data-selected=true] .tool-failed').waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Shortcuts' }).waitFor();
  });

  it('shows calls with their results, edits as diffs, sub-agents in place, and the raw line', async () => {
    const page = await open(`/sessions/${SESSION}`);
    await page.getByRole('button', { name: 'Expand all' }).click();
    const readSelected = () =>
      page.evaluate<string | undefined>("document.querySelector('.turn[data-selected=true]')?.dataset.message");
    // Elements out of sight are not in the document, so each turn is selected, and shown with its parts.
    await page.keyboard.press('G');
    await expect.poll(readSelected).toBeDefined();
    const last = await readSelected();
    // Parts that load late are there the next time round.
    const walkTo = async (selector: string): Promise<void> => {
      for (;;) {
        await expect.poll(() => page.locator('.loading, [aria-busy=true]').count()).toBe(0);
        if ((await page.locator(selector).count()) > 0) return;
        const before = await readSelected();
        await page.keyboard.press(before === last ? 'g' : 'j');
        await expect.poll(readSelected, { message: `no ${selector}` }).not.toBe(before);
      }
    };
    for (const selector of ['.subagent .turn', '.diff .diff-added', '.terminal', '.result-failed'])
      await walkTo(selector);
    await page.locator('.turn[data-selected=true]').getByRole('button', { name: 'Raw' }).first().click();
    await expect.poll(() => page.locator('.raw').textContent()).toContain('"sessionId"');
  });

  it('shows the pull requests of a session, and what it changed', async () => {
    const page = await open(`/sessions/${SESSION}`);
    const link = page.locator('.session-facts a', { hasText: '#482' });
    await link.waitFor();
    await expect
      .poll(() => link.getAttribute('href'))
      .toBe('https://github.com/tidewater-example/billing-service/pull/482');
    const changes = await ask<SessionChanges>(`/v1/sessions/${SESSION}/changes`);
    const readFigures = () =>
      page
        .locator('.strip .changed-lines data')
        .evaluateAll((all) => all.map((each) => Number(each.getAttribute('value'))));
    expect(changes.lines_added).toBeGreaterThan(0);
    await expect.poll(readFigures).toEqual([changes.lines_added, changes.lines_removed]);
    await page.getByText('changed file').click();
    const [file] = changes.by_file;
    await page.getByRole('link', { name: file?.file_path ?? '' }).click();
    await page.locator('.body [role=row]').first().waitFor();
    const { sessions } = await ask<SessionList>(`/v1/sessions?file=${encodeURIComponent(file?.file_path ?? '')}`);
    await expect.poll(() => page.locator('.body [role=row]').count()).toBe(sessions.length);
  });

  it('has a page of all turns for printing', async () => {
    const page = await open(`/sessions/${SESSION}`);
    const opened = page.waitForEvent('popup');
    await page.getByRole('link', { name: 'Printable page' }).click();
    const printable = await opened;
    await printable.locator('article').first().waitFor();
    await printable.emulateMedia({ media: 'print' });
    const { turns } = await ask<Outline>(`/v1/sessions/${SESSION}/outline`);
    // Turns of sub-agents are in separate sections.
    await expect.poll(() => printable.locator('main > article:visible').count()).toBe(turns.length);
    await page.emulateMedia({ media: 'print' });
    await page.locator('.print-note').waitFor();
  });

  it('links models without a price to their sessions', async () => {
    const page = await open('/?period=all');
    await page.getByRole('button', { name: 'How exact is this?' }).click();
    await page.locator('.caveats a').first().click();
    await page.locator('.body [role=row]').first().waitFor();
    const model = new URL(page.url()).searchParams.get('model') ?? '';
    const { sessions } = await ask<SessionList>(`/v1/sessions?model=${encodeURIComponent(model)}`);
    await expect.poll(() => page.locator('.body [role=row]').count()).toBe(sessions.length);
  });

  it('opens the message of a search result', async () => {
    const page = await open('/search?q=rounding');
    await page.locator('.found mark').first().waitFor();
    await page.locator('.found', { hasText: 'Find one-cent' }).locator('.found-text').last().click();
    await page.locator('.turn[data-selected=true]').waitFor();
    expect(new URL(page.url()).searchParams.get('message')).toMatch(/^[0-9A-Z]{26}$/);
    await expect.poll(() => readMarks(page)).toContain('rounding');
  });

  it('marks what was searched for in the message that the command palette opens', async () => {
    const page = await open('/');
    await page.keyboard.press('/');
    await page.getByRole('combobox', { name: 'Search or go to' }).fill('rounding');
    await page.getByRole('option', { name: 'Find one-cent' }).last().click();
    await page.locator('.turn[data-selected=true]').waitFor();
    await expect.poll(() => readMarks(page)).toContain('rounding');
  });

  it('finds a text within a session, says which of the messages it is, and opens and marks it', async () => {
    const page = await open(`/sessions/${SESSION}`);
    await page.locator('.turn').first().waitFor();
    await page.getByLabel('Find in this session').fill('rounding');
    const position = page.locator('.find [role=status]');
    await position.getByText(/messages?$/).waitFor();
    await page.getByLabel('Find in this session').press('Enter');
    await position.getByText(/^\d+ of \d+ messages?$/).waitFor();
    await expect.poll(() => readMarks(page)).toContain('rounding');
    const isInSight = `[...CSS.highlights.values()].flatMap((each) => [...each]).some((range) => {
      const { top, bottom } = range.getBoundingClientRect();
      return range.startContainer.parentElement.closest('.turn[data-selected=true]') && top >= 0 && bottom <= innerHeight;
    })`;
    await expect.poll(() => page.evaluate(isInSight)).toBe(true);
  });

  it('counts the same sessions in the row of a table, in a report, and in the list that the row opens', async () => {
    const page = await open('/models?period=all');
    const row = page.locator('.body [role=row]').first();
    const model = (await row.locator('a').first().getAttribute('title')) ?? '';
    const link = row.getByTitle('Its sessions');
    const count = Number(await link.locator('data').getAttribute('value'));
    const report = await ask<UsageReport>(`/v1/analytics/usage?model=${encodeURIComponent(model)}`);
    expect([count, report.totals.sessions]).toEqual([report.totals.sessions, count]);
    await link.click();
    await page.getByText(`Total of ${count} session${count === 1 ? '' : 's'}`).waitFor();
    expect(await page.locator('.body [role=row]').count()).toBe(count);
  });

  it.each(['America/Los_Angeles', 'Pacific/Auckland'])('shows the figures of the API in %s', async (timezoneId) => {
    const page = await open('/?period=all&step=day', { timezoneId });
    await page.locator('.legend li').first().waitFor();
    const report = await ask<UsageReport>(`/v1/analytics/usage?time_zone=${timezoneId}&group_by=day`);
    const { own, sessions } = report.totals;
    const figures = await page
      .locator('.totals data')
      .evaluateAll((all) => all.map((each) => Number(each.getAttribute('value'))));
    expect(figures).toEqual([
      own.cost_usd,
      sessions,
      own.responses,
      own.total_tokens,
      own.tokens_out,
      own.cache_hit_ratio,
    ]);
    const byModel = await ask<UsageReport>('/v1/analytics/usage?group_by=model');
    const legend = await page
      .locator('.legend data')
      .evaluateAll((all) => all.map((each) => Number(each.getAttribute('value'))));
    expect(legend).toEqual(byModel.rows.flatMap(({ own: { cost_usd: cost } }) => (cost === null ? [] : [cost])));
    await page.locator('.heat-day:not(.heat-0)').first().waitFor();
    const days = await page
      .locator('.heat-day:not(.heat-0)')
      .evaluateAll((all) => all.map((each) => each.getAttribute('title')?.slice(0, 10)));
    const since = (await page.locator('.heat-day').first().getAttribute('title'))?.slice(0, 10) ?? '';
    expect(days).toEqual(report.rows.flatMap(({ day }) => (day != null && day >= since ? [day] : [])));
  });

  it('shows the API’s figures of each session', async () => {
    const page = await open('/sessions?subagents=include&columns=cost,messages,out');
    const { sessions } = await ask<SessionList>('/v1/sessions?limit=200');
    await expect.poll(() => page.locator('.body [role=row]').count()).toBe(sessions.length);
    const shown = await page
      .locator('.body [role=row]')
      .evaluateAll((rows) =>
        rows.map((row) => [...row.querySelectorAll('data')].map((each) => Number(each.getAttribute('value')))),
      );
    expect(shown).toEqual(
      sessions.map(({ total_messages, tokens_out, cost_estimate_usd }) =>
        [total_messages, tokens_out, cost_estimate_usd].filter((figure) => figure !== null),
      ),
    );
  });

  it('links figures to their sessions, and findings to their messages', async () => {
    const page = await open('/?period=all');
    await page.locator('.totals a').first().click();
    await page.waitForURL(/\/sessions\?.*period=all/);
    await page.locator('.body [role=row]').first().waitFor();
    await page.goto(`${api.url}/insights?period=all&kind=unfinished-session`);
    const findings = await ask<FindingsReport>('/v1/analytics/findings?kind=unfinished-session');
    const [finding] = findings.rows;
    expect(finding?.session_id).toBe(UNFINISHED);
    const shown = page.locator('.findings .body [role=row]');
    await shown.first().waitFor();
    await expect.poll(() => shown.count()).toBe(findings.rows.length);
    // The session and what it costs lead, and the others are for wide windows.
    const heads = await page.locator('.findings [role=columnheader]').allTextContents();
    expect(heads.slice(0, 3)).toEqual(['Session', 'Cost', 'Last call']);
    expect(Number(await shown.first().locator('data').first().getAttribute('value'))).toBe(finding?.cost_usd);
    await shown.first().locator('a').click();
    await page.locator('.turn[data-selected=true]').waitFor();
    expect(new URL(page.url()).searchParams.get('message')).toBe(finding?.message_id);
  });

  it('creates a key, shows its secret once, and revokes it', async () => {
    const page = await open('/admin');
    await page.locator('summary', { hasText: 'Create key' }).click();
    await page.getByLabel('Name', { exact: true }).fill('made in a browser');
    await page.getByRole('button', { name: 'Create key' }).click();
    const secret = (await page.locator('.shown-once').textContent()) ?? '';
    const upload = (key: string) => api.fetch('/v1/key', { headers: { authorization: `Bearer ${key}` } });
    expect((await upload(secret)).status).toBe(200);
    await page.getByRole('button', { name: 'I have it' }).click();
    await page.getByRole('button', { name: 'Revoke made in a browser' }).click();
    await page.getByRole('button', { name: 'Revoke it' }).click();
    await page.locator('tr', { hasText: 'made in a browser' }).getByText('revoked').waitFor();
    expect((await upload(secret)).status).toBe(401);
    expect(await page.content()).not.toContain(secret);
  });

  it('shows what a price changes before it is saved', async () => {
    const { rows } = await ask<ModelsReport>('/v1/analytics/models');
    const row = rows.find(({ model, tokens_in: tokens }) => model?.startsWith('claude-') && tokens > 0);
    if (row === undefined) throw new Error('The samples have no model');
    const page = await open('/admin?view=prices');
    await page.getByText('All as JSON').click();
    await page.getByRole('button', { name: 'Start from the example' }).click();
    const changes = page.locator('.price-changes');
    await changes.getByText('No stored response uses my-model-*').waitFor();
    const field = page.getByLabel('Overrides of the list prices');
    await field.fill('[{ "model":');
    await page.getByText('This is not valid JSON yet.').waitFor();
    const rates = { inputUsdPerMillion: 1000, outputUsdPerMillion: 0, cacheReadUsdPerMillion: 0 };
    await field.fill(JSON.stringify([{ model: row.model, ...rates, cacheWrite5mUsdPerMillion: 0 }]));
    await changes.getByText('at this price').waitFor();
    const figures = await changes
      .locator('data')
      .evaluateAll((all) => all.map((each) => Number(each.getAttribute('value'))));
    const tokens = row.tokens_in + row.tokens_out + row.cache_read + row.cache_write;
    expect(figures).toEqual([row.responses, tokens, row.cost_usd, row.tokens_in / 1000]);
    expect((await ask<WorkspacePrices>('/v1/prices')).overrides).toEqual([]);
    await page.getByRole('button', { name: 'Save overrides' }).click();
    await page.getByText('Saved. New data has this price.').waitFor();
    await changes.waitFor({ state: 'detached' });
    await field.fill('');
    await changes.getByText('goes back to its list price').waitFor();
    await page.getByRole('button', { name: 'Save overrides' }).click();
    await expect.poll(async () => (await ask<WorkspacePrices>('/v1/prices')).overrides).toEqual([]);
  });

  it('sets a price by the form, reprices what uses the model, edits and deletes it', async () => {
    const { rows } = await ask<ModelsReport>('/v1/analytics/models');
    const row = rows.find(({ model, tokens_in: tokens }) => model?.startsWith('claude-') && tokens > 0);
    if (row?.model == null) throw new Error('The samples have no model');
    const readCost = async () =>
      (await ask<ModelsReport>('/v1/analytics/models')).rows.find(({ model }) => model === row.model)?.cost_usd;
    const worker = new AbortController();
    const onFailure = (reason: string) => expect.fail(reason);
    const working = runRepricing(
      { database: api.database, onReport: () => undefined, onFailure },
      { signal: worker.signal, intervalMs: 20 },
    );
    const page = await open('/admin?view=prices');
    await page.getByRole('link', { name: `Set price of ${row.model}`, exact: true }).click();
    await expect.poll(() => page.getByLabel('Model, as in transcripts').inputValue()).toBe(row.model);
    const fill = async (rates: Record<string, string>) => {
      for (const [label, rate] of Object.entries(rates)) await page.getByLabel(label, { exact: true }).fill(rate);
    };
    await fill({
      Input: '1000',
      Output: '0',
      'Cache read': '0',
      'Cache write, 5 minutes': '0',
      'Cache write, 1 hour': '0',
    });
    await page.locator('.price-form').getByText('at this price').waitFor();
    await page.getByRole('button', { name: 'Save price' }).click();
    await page.getByRole('button', { name: 'Reprice now' }).click();
    await page.getByText(/transcripts? repriced\. All costs:/).waitFor();
    const { run } = await ask<Reprice>('/v1/prices/reprice');
    expect(run).toMatchObject({ state: 'done', models: [row.model], done: run?.total });
    expect(await readCost()).toBeCloseTo(row.tokens_in / 1000, 6);
    await page.getByRole('button', { name: `Edit ${row.model}` }).click();
    await fill({ Input: '2000' });
    await page.getByRole('button', { name: 'Save price' }).click();
    await page.getByRole('cell', { name: '2000' }).waitFor();
    await page.getByRole('button', { name: `Delete ${row.model}` }).click();
    await page.getByRole('dialog').getByText('goes back to its list price').waitFor();
    await page.getByRole('button', { name: 'Delete price' }).click();
    await expect.poll(async () => (await ask<WorkspacePrices>('/v1/prices')).overrides).toEqual([]);
    await page.getByRole('button', { name: 'Reprice everything' }).click();
    await expect.poll(readCost).toBe(row.cost_usd);
    worker.abort();
    await working;
  });

  it('shares a session by a link that is shown once, and revokes it', async () => {
    const page = await open(`/sessions/${SESSION}`);
    await page.getByRole('button', { name: 'Share …' }).click();
    await page.getByLabel('Expires').selectOption('in a week');
    await page.getByLabel('Hide content').check();
    await page.getByRole('button', { name: 'Create link' }).click();
    const link = (await page.locator('.shown-once').textContent()) ?? '';
    expect(link.startsWith(`${api.url}/shared/`)).toBe(true);
    const shared = await (await fetch(link)).text();
    expect(shared).toContain('<!doctype html>');
    expect(shared).not.toContain('Finance says');
    await page.getByRole('button', { name: 'I have it' }).click();
    await page.getByRole('button', { name: 'Share …' }).click();
    const links = page.getByRole('list', { name: 'Links to this session' });
    await links.getByText(/opened 1 time, structure alone/).waitFor();
    await links.getByRole('button', { name: 'Revoke' }).click();
    await links.waitFor({ state: 'detached' });
    expect((await fetch(link)).status).toBe(404);
    expect(await page.content()).not.toContain(link);
  });

  it('shares a view of figures by a link, which shows them without a key until it is revoked', async () => {
    const page = await open('/models?period=all');
    await page.locator('button:has(+ [aria-label="Export Models"])').click();
    await page.getByRole('button', { name: 'Share this view …' }).click();
    await page.getByLabel('Title').fill('Our models');
    await page.getByRole('button', { name: 'Create link' }).click();
    const link = (await page.locator('.shown-once').textContent()) ?? '';
    const html = await (await fetch(link)).text();
    const { totals } = await ask<ModelsReport>('/v1/analytics/models');
    expect(html).toContain('<h1>Our models</h1>');
    expect(html).toContain(`<data value="${totals.cost_usd}"`);
    await page.getByRole('button', { name: 'I have it' }).click();
    await page.goto(`${api.url}/admin?view=links`);
    await page.getByRole('button', { name: 'Revoke Our models' }).click();
    await page.locator('tr', { hasText: 'Our models' }).getByText('revoked').waitFor();
    expect((await fetch(link)).status).toBe(404);
  });

  it('offers no link to a key that may only read', async () => {
    const page = await open(`/sessions/${SESSION}`, {}, false);
    await page.fill('#key', api.keys.read);
    await page.click('button[type=submit]');
    await page.locator('.turn').first().waitFor();
    await page.waitForLoadState('networkidle');
    expect(await page.getByRole('button', { name: 'Share …' }).count()).toBe(0);
  });

  it('saves a view, and deletes the selected sessions once confirmed', async () => {
    await api.upload(toUnfinishedTranscript('to-delete'), { path: '/home/a/.claude/projects/-home-a/to-delete.jsonl' });
    await api.work();
    const page = await open('/sessions?prompt=Wait+for+it&sort=tokens_out');
    await page.locator('.body [role=row]').first().waitFor();
    await page.getByRole('button', { name: 'Views' }).click();
    await page.getByLabel('Name of the view').fill('Waiting');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.goto(`${api.url}/sessions`);
    await page.getByRole('button', { name: 'Views' }).click();
    await page.getByRole('link', { name: 'Waiting' }).click();
    await page.waitForURL(/prompt=Wait/);
    const rows = page.locator('.body [role=row]');
    await expect.poll(() => rows.count()).toBe(2);
    await rows.locator('input').first().check();
    await page.getByRole('button', { name: 'Select all 2 shown' }).click();
    await rows
      .filter({ has: page.locator(`a[href*="${UNFINISHED}"]`) })
      .locator('input')
      .uncheck();
    await page.getByRole('button', { name: 'Delete …' }).click();
    await page.getByRole('dialog').getByText('Wait for it').waitFor();
    await page.getByRole('button', { name: 'Delete permanently' }).click();
    await expect.poll(() => rows.count()).toBe(1);
    expect((await api.fetch('/v1/sessions/to-delete')).status).toBe(404);
    expect((await api.fetch(`/v1/sessions/${UNFINISHED}`)).status).toBe(200);
  });
});
