import { text as readText } from 'node:stream/consumers';
import { toLine } from '@recount/api/testing/transcript-lines';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { findBrowser } from './browser.ts';
import { HOSTILE_CODE, PAYLOADS } from './hostile-session.ts';
import { HOSTILE, shareSession, uploadSamples } from './samples.ts';
import { readSignedInUrl } from './sign-in.ts';
import { type Dashboard, startDashboard } from './start-dashboard.ts';
import { createCoverage, VISITS, visit } from './visits.ts';

const executablePath = findBrowser();
/** One of those with the payloads for their names. */
const NAMES = 'names-1';

/** More of what shows a text, name or path of a transcript. */
const MORE = {
  '/search?q=script': '.found mark',
  '/search?q=onerror&mode=substring': '.found mark',
  '/?period=all&by=project': '.legend li',
  '/?period=all&by=person': '.legend li',
  '/insights?period=all&kind=repeated-error': '.finding-kind',
  '/insights?period=all&kind=unfinished-session': '.finding-kind',
  '/sessions?prompt=script&project=%3Cscript%3E': 'main h1',
  [`/sessions/${NAMES}`]: '.turn',
};

let dashboard: Dashboard;

beforeAll(async () => {
  if (executablePath === undefined) return;
  dashboard = await startDashboard();
  const { api } = dashboard;
  await uploadSamples(api);
  const body = JSON.stringify({ name: HOSTILE_CODE, scopes: ['read'] });
  const made = await api.fetch('/v1/keys', { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  expect(made.status).toBe(201);
});
afterEach(() => dashboard?.closePages());
afterAll(() => dashboard?.close());

/** Nothing has run, no text has become an element or a handler, and what would reorder or hide characters is named. */
async function expectHarmless(page: Page, place: string): Promise<void> {
  const found = await page.evaluate(`(() => {
    const handlers = ['onload', 'onerror', 'onfocus', 'onmouseover', 'onclick', 'onbegin'];
    const elements = 'main :is(script, style, iframe, object, embed, base, meta, link, template, form[action], img[src^="http"], img[src="x"])';
    // An address that is none leads nowhere.
    const links = [...document.querySelectorAll('a[href], a[*|href]')].map((link) => URL.parse(link.href.baseVal ?? link.href, location.href));
    const protocols = links.flatMap((url) => url?.protocol ?? []);
    return {
      hostile: String(window.hostile),
      elements: [...document.querySelectorAll(elements)].map((element) => element.outerHTML.slice(0, 200)),
      handlers: [...document.querySelectorAll(handlers.map((name) => '[' + name + ']').join())].map((element) => element.outerHTML.slice(0, 200)),
      protocols: protocols.filter((protocol) => !/^(https?|mailto|blob):$/.test(protocol)),
      hidden: [...document.body.innerText.matchAll(/.{0,30}[\\u202a-\\u202e\\u2066-\\u2069].{0,30}/g)].map(([text]) => text),
    };
  })()`);
  expect(found, place).toEqual({ hostile: 'undefined', elements: [], handlers: [], protocols: [], hidden: [] });
}

describe.skipIf(executablePath === undefined)('hostile transcripts in a browser', () => {
  it('run nothing on any page, and contact no other host', async () => {
    const page = await dashboard.open('/sessions');
    const coverage = createCoverage();
    for (const [path, ready] of Object.entries({ ...VISITS, ...MORE })) {
      await visit(dashboard, page, path, ready);
      await expectHarmless(page, path);
      await coverage.note(page);
    }
    coverage.expectComplete();
    await page.goto(`${dashboard.api.url}/uploads?view=issues`);
    await page.locator('.transcripts .body a').first().click();
    const dialog = page.getByRole('dialog', { name: 'Transcript' });
    await dialog
      .getByRole('button', { name: /^Line / })
      .first()
      .click();
    await dialog.locator('.issue-line').first().waitFor();
    await expectHarmless(page, 'what is wrong in a transcript');
  });

  it('run nothing from search results while typing', async () => {
    const page = await dashboard.open('/sessions');
    await page.keyboard.press('/');
    await page.getByRole('combobox', { name: 'Search or go to' }).fill('hidden');
    await page.getByRole('option').filter({ hasText: '⟨U+2066⟩' }).first().waitFor();
    await expectHarmless(page, 'what is found while one types');
  });

  it('run nothing in a conversation, whatever is opened in it', async () => {
    const page = await dashboard.open(`/sessions/${HOSTILE}`);
    await page.locator('.turn').first().waitFor();
    const title = await page.title();
    await page.getByRole('button', { name: 'Expand all' }).click();
    for (let turn = 0; turn < 14; turn++) {
      await page.keyboard.press('j');
      await page.evaluate("document.querySelectorAll('button.more').forEach((button) => button.click())");
      await page.locator('.turn b, .tool-name').first().hover();
      await expectHarmless(page, `turn ${turn}`);
    }
    await page.keyboard.press('G');
    await page.waitForLoadState('networkidle');
    await expectHarmless(page, 'the end');
    expect(await page.title()).toBe(title);
    await expect.poll(() => page.locator('main').textContent()).toContain('⟨U+202E⟩');
  });

  it('run nothing in documents and shared pages, which name no other server', async () => {
    const page = await dashboard.open('/sessions');
    const signedIn = await readSignedInUrl(page);
    for (const sessionId of [HOSTILE, ...Array.from({ length: 3 }, (_, index) => `names-${index}`), 'names-15']) {
      const { path } = await shareSession(dashboard.api, sessionId);
      for (const each of [dashboard.api.url + path, `${signedIn}/v1/sessions/${sessionId}/document?download=false`]) {
        await page.goto(each);
        await page.locator('article').first().waitFor();
        await expectHarmless(page, each);
      }
    }
    // As it is opened from a disk, without the server's headers.
    const saved = await dashboard.api.fetch(`/v1/sessions/${HOSTILE}/document`);
    await page.setContent(await saved.text());
    await page.locator('article').first().waitFor();
    await expectHarmless(page, 'a document that was saved');
  });

  it('show a referenced attachment as text, bounded, and the rest as a download', async () => {
    const { api } = dashboard;
    const session = 'with-attachment';
    const text = `the whole result\n${PAYLOADS.join('\n\n')}\n${'more\n'.repeat(100_000)}last line`;
    const stored = await api.fetch(`/v1/sessions/${session}/attachments?agent=claude-code&path=tool-results/b1.txt`, {
      method: 'PUT',
      body: text,
    });
    expect(stored.status).toBe(201);
    const content = `<persisted-output>\nOutput too large (500KB). Full output saved to: /home/ada/.claude/projects/-app/${session}/tool-results/b1.txt\n\nPreview (first 2KB):\n${PAYLOADS[0]}`;
    const call = { type: 'tool_use', id: 'toolu_1', name: 'Bash', input: { command: 'make' } };
    await api.upload(
      toLine(session, 0) +
        toLine(session, 1, {
          message: { id: 'msg-call', role: 'assistant', model: 'claude-sonnet-4-5', content: [call] },
        }) +
        toLine(session, 2, {
          message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content }] },
        }),
    );
    await api.work();
    const page = await dashboard.open(`/sessions/${session}`);
    await page.locator('.tool .fold-summary').first().click();
    await page.getByRole('button', { name: /^Full result, / }).click();
    const shown = page.locator('pre.plain', { hasText: 'the whole result' });
    await shown.waitFor();
    const shownText = (await shown.textContent()) ?? '';
    expect(shownText).toContain(PAYLOADS[0]);
    expect(shownText.length).toBeLessThan(300_000);
    expect(shownText).not.toContain('last line');
    expect(await page.evaluate('window.hostile')).toBeUndefined();
    expect(await page.locator('main iframe, main script, main style').count()).toBe(0);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.locator('.result').getByRole('link', { name: 'Download' }).click(),
    ]);
    expect(await readText(await download.createReadStream())).toBe(text);
    expect(download.suggestedFilename()).toBe('b1.txt');
  });

  it('link a repository only if it is a web page, and show no password', async () => {
    const repositories = [
      ['https://ada:s3cret@example.org/ada/<b>heron</b>.git', 'example.org/ada/<b>heron</b>', true],
      [`javascript:window.hostile='repository'`, `javascript:window.hostile='repository'`, false],
      ['http://example.org/ada/heron', 'http://example.org/ada/heron', false],
      ['git@example.org:ada/"><img src=x onerror="window.hostile=1">', 'git@example.org:ada/">', false],
    ] as const;
    for (const [index, [url]] of repositories.entries()) {
      const git = { repository_url: url, commit_hash: '0123456789abcdef', branch: 'main' };
      const meta = { id: `repository-${index}`, cwd: '/home/a', cli_version: '0.150.0', git };
      const said = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Look' }] };
      const at = { timestamp: '2026-05-05T10:00:00.000Z' };
      const lines = [
        { ...at, type: 'session_meta', payload: meta },
        { ...at, type: 'response_item', payload: said },
      ];
      await dashboard.api.upload(lines.map((line) => `${JSON.stringify(line)}\n`).join(''), {
        path: 'rollout-a.jsonl',
      });
    }
    await dashboard.api.work();
    const page = await dashboard.open('/sessions');
    for (const [index, [, shown, isLink]] of repositories.entries()) {
      await page.goto(`${dashboard.api.url}/sessions/repository-${index}`);
      const facts = page.locator('.session-facts');
      await expect.poll(() => facts.textContent()).toContain('01234567');
      await expect.poll(() => facts.textContent()).toContain(shown);
      expect(await page.content()).not.toContain('s3cret');
      const links = await facts
        .locator('a[target=_blank]')
        .evaluateAll((all) => all.map((each) => each.getAttribute('href')));
      expect(links).toEqual(isLink ? ['https://example.org/ada/%3Cb%3Eheron%3C/b%3E.git'] : []);
      expect(await page.evaluate('window.hostile')).toBeUndefined();
    }
  });
});
