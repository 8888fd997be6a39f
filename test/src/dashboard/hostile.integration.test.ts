import { readFile } from 'node:fs/promises';
import { toLine } from '@recount/api/testing/transcript-lines';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { findBrowser } from './browser.ts';
import { PAYLOADS } from './hostile-session.ts';
import { HOSTILE, uploadSamples } from './samples.ts';
import { type Dashboard, startDashboard } from './start-dashboard.ts';

const executablePath = findBrowser();

/** Whatever shows a text, name or path of a transcript. */
const PATHS = [
  '/sessions?subagents=include&columns=agent,project,branch,models,person,machine',
  '/search?q=script',
  '/search?q=onerror&mode=substring',
  '/?period=all&by=project',
  '/?period=all&by=person',
  ...['tools', 'files', 'projects', 'models', 'subagents', 'people', 'insights'].map((page) => `/${page}?period=all`),
  '/uploads',
  '/admin?view=prices',
];

let dashboard: Dashboard;

beforeAll(async () => {
  if (executablePath === undefined) return;
  dashboard = await startDashboard(executablePath);
  await uploadSamples(dashboard.api);
});
afterEach(() => dashboard?.closePages());
afterAll(() => dashboard?.close());

describe.skipIf(executablePath === undefined)('hostile transcripts in a browser', () => {
  it('runs nothing of what transcripts hold, and asks nobody else', async () => {
    const page = await dashboard.open('/sessions');
    for (const path of PATHS) {
      await page.goto(dashboard.api.url + path);
      await page.waitForLoadState('networkidle');
      expect(await page.evaluate('window.hostile')).toBeUndefined();
    }
    await page.goto(`${dashboard.api.url}/sessions/${HOSTILE}`);
    await page.locator('.turn').first().waitFor();
    const title = await page.title();
    await page.getByRole('button', { name: 'Expand all' }).click();
    for (let turn = 0; turn < 14; turn++) {
      await page.keyboard.press('j');
      for (const button of await page.locator('button.more').all())
        await button.click({ timeout: 2000 }).catch(() => undefined);
      await page.locator('.turn b, .tool-name').first().hover();
    }
    await page.keyboard.press('G');
    await page.waitForLoadState('networkidle');
    expect(await page.evaluate('window.hostile')).toBeUndefined();
    expect(await page.title()).toBe(title);
    const links = await page
      .locator('main a')
      .evaluateAll((all) => all.map((each) => new URL(each.getAttribute('href') ?? '', 'http://a').protocol));
    expect(links.filter((protocol) => !/^(https?|mailto):$/.test(protocol))).toEqual([]);
    expect(
      await page.locator('main iframe, main script, main style, main form[action], main img[src^=http]').count(),
    ).toBe(0);
    await expect.poll(() => page.locator('main').textContent()).toContain('⟨U+202E⟩');
  });

  it('shows an attachment that a result points to as text, bounded, and the rest as a download', async () => {
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
    expect(await readFile(await download.path(), 'utf8')).toBe(text);
    expect(download.suggestedFilename()).toBe('b1.txt');
  });

  it('links a repository only if it is a web page, and shows no password', async () => {
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
      expect(await facts.textContent()).toContain(shown);
      expect(await page.content()).not.toContain('s3cret');
      const links = await facts
        .locator('a[target=_blank]')
        .evaluateAll((all) => all.map((each) => each.getAttribute('href')));
      expect(links).toEqual(isLink ? ['https://example.org/ada/%3Cb%3Eheron%3C/b%3E.git'] : []);
      expect(await page.evaluate('window.hostile')).toBeUndefined();
    }
  });
});
