import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { newTestStreamId, sendLive } from '@recount/api/testing/live-client';
import type { Outline, SessionDetail, SessionList, TranscriptList } from '@recount/contract';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { findCorpus } from '../corpus.ts';
import { findBrowser } from './browser.ts';
import { dropFiles } from './drop-files.ts';
import { type Dashboard, startDashboard } from './start-dashboard.ts';

const executablePath = findBrowser();
const corpus = findCorpus();

/** From several agents, a few megabytes in total. */
const ARCHIVES = [
  'claude-code__obra+episodic-memory.tar.gz',
  'codex-rollout__jnarowski+agentcmd.tar.gz',
  'copilot-cli__EntityProcess+agentv.tar.gz',
  'opencode__dayhaysoos+nimbus.tar.gz',
  'amp__empathic+toolpath.tar.gz',
];
/** A run as printed by its agent. */
const STREAM = { archive: 'codex-exec__banteg+takopi.tar.gz', file: 'codex.jsonl', agent: 'codex' };
const READ_TURNS = 8;
const MAX_LINE_BYTES = 8 * 1024 * 1024;

let dashboard: Dashboard;

beforeAll(async () => {
  if (executablePath !== undefined && corpus !== undefined) dashboard = await startDashboard();
});
afterEach(() => dashboard?.closePages());
afterAll(() => dashboard?.close());

/** Each agent's session with the most messages, among those that people began. */
async function listLongest(): Promise<SessionDetail[]> {
  const { sessions } = await dashboard.ask<SessionList>('/v1/sessions?limit=200&sort=total_messages&is_subagent=false');
  const asked = sessions.filter(({ initial_prompt: prompt }) => (prompt ?? '') !== '');
  const longest = [...Map.groupBy(asked, ({ agent }) => agent).values()].flatMap(([first]) => first ?? []);
  return await Promise.all(
    longest.map(({ session_id: id }) => dashboard.ask<SessionDetail>(`/v1/sessions/${encodeURIComponent(id)}`)),
  );
}

/** Consecutive words of a session's first prompt. */
function toPhrase({ initial_prompt: prompt }: SessionDetail): string {
  const [phrase] = /[a-z]{2,12}(?: [a-z]{2,12}){2,4}/i.exec(prompt ?? '') ?? [];
  if (phrase === undefined) throw new Error('The prompt has no words that could be looked for');
  return phrase;
}

async function findAndOpen(page: Page, session: SessionDetail): Promise<void> {
  await page.goto(`${dashboard.api.url}/search?agent=${session.agent}`);
  await page.getByLabel('Search all sessions').pressSequentially(`"${toPhrase(session)}"`);
  const path = `/sessions/${encodeURIComponent(session.session_id)}`;
  await page
    .locator(`.found a.found-text[href^="${path}"]`, { has: page.locator('mark') })
    .first()
    .click();
  await page.waitForURL((url) => url.pathname === path);
  await page.locator('.turn[data-selected=true]').waitFor();
}

async function expectHeader(page: Page, session: SessionDetail): Promise<void> {
  const figures =
    (await page.evaluate(`Object.fromEntries([...document.querySelectorAll('.strip > div')].map((item) => [
    item.querySelector('dt').textContent,
    item.querySelector('data') === null ? null : Number(item.querySelector('data').value),
  ]))`)) as Record<string, number | null>;
  expect(figures).toMatchObject({
    Cost: session.cost_estimate_usd,
    ...(session.usage.shared.responses > 0 && { Own: session.usage.own.cost_usd }),
    Input: session.tokens_in,
    'Cache read': session.cache_read,
    'Cache write': session.cache_write,
    Output: session.tokens_out,
    Messages: session.total_messages,
    'Tool calls': session.tool_use_count,
  });
}

/**
 * Scrolls down the conversation with everything expanded, like a reader. Each turn is there, and calls have their
 * results.
 */
async function readConversation(page: Page, session: SessionDetail): Promise<void> {
  const { turns } = await dashboard.ask<Outline>(`/v1/sessions/${encodeURIComponent(session.session_id)}/outline`);
  await page.getByRole('button', { name: 'Expand all' }).click();
  await page.keyboard.press('g');
  let tools = 0;
  for (const turn of turns.slice(0, READ_TURNS)) {
    await page.locator(`.turn[data-selected=true][data-message="${turn.id}"]`).waitFor();
    tools += await page.locator('.turn[data-selected=true] .tool').count();
    await page.keyboard.press('j');
  }
  if (session.tool_use_count > READ_TURNS) expect(tools, session.agent).toBeGreaterThan(0);
  const [word = ''] = toPhrase(session)
    .split(' ')
    .toSorted((a, b) => b.length - a.length);
  await page.getByLabel('Find in this session').fill(word);
  await page
    .locator('.find [role=status]')
    .getByText(/^([1-9][\d,]* of )?[1-9][\d,]* messages?$/)
    .waitFor();
}

// In this order, because the last one shares and deletes what the first one has dropped into the dashboard.
const inOrder = { shuffle: false };
describe.skipIf(executablePath === undefined || corpus === undefined)('real transcripts in a browser', inOrder, () => {
  it('are ingested from dropped archives, and one session of each agent is found, opened and read', async () => {
    const { api } = dashboard;
    const page = await dashboard.open('/uploads');
    const files = await Promise.all(
      ARCHIVES.map(async (name) => ({ name, bytes: await readFile(join(corpus ?? '', name)) })),
    );
    await dropFiles(page, page.locator('.drop-zone'), files);
    const status = page.locator('[aria-labelledby=this-visit] [role=status]');
    await expect
      .poll(async () => {
        const text = (await status.textContent()) ?? '';
        const [, sent, all, refused = '0'] = /^(\d+) of (\d+) stored(?:, (\d+) not taken)?/.exec(text) ?? [];
        return !text.includes('reading more') && Number(sent) + Number(refused) === Number(all) && Number(sent) > 20;
      })
      .toBe(true);
    await api.work({ maxLineBytes: MAX_LINE_BYTES });
    const { transcripts } = await dashboard.ask<TranscriptList>('/v1/transcripts?limit=200');
    expect(transcripts.map(({ status }) => status)).not.toContain('failed');
    const sessions = await listLongest();
    expect(sessions.length).toBe(ARCHIVES.length);
    for (const session of sessions) {
      await findAndOpen(page, session);
      await expectHeader(page, session);
      await readConversation(page, session);
    }
  });

  it('appear as a run while it is printed, and then as its transcript', async () => {
    const { api } = dashboard;
    const text = execFileSync('tar', ['-xzOf', join(corpus ?? '', STREAM.archive), STREAM.file], { encoding: 'utf8' });
    const lines = text.split(/(?<=\n)/);
    const { thread_id: sessionId } = JSON.parse(lines[0] ?? '') as { thread_id: string };
    const target = { url: api.url, key: api.keys.ingest };
    const headers = { 'recount-stream': newTestStreamId() };
    const half = lines.slice(0, lines.length / 2).join('');
    const begun = await sendLive(target, sessionId, half, headers, { agent: STREAM.agent });
    expect(begun.status).toBeLessThan(300);
    const page = await dashboard.open(`/sessions/${sessionId}`);
    const story = page.getByRole('region', { name: 'Running now' });
    await story.locator('.tool').first().waitFor();
    const calls = await story.locator('.tool').count();
    await sendLive(
      target,
      sessionId,
      lines.slice(lines.length / 2).join(''),
      { ...headers, 'recount-offset': String(begun.body.stored_bytes), 'recount-complete': '?1' },
      { agent: STREAM.agent },
    );
    await expect.poll(() => story.locator('.tool').count()).toBeGreaterThan(calls);
    await api.work({ maxLineBytes: MAX_LINE_BYTES });
    await story.waitFor({ state: 'detached' });
    await page.locator('.turn .tool').first().waitFor();
  });

  it('are shared with a person without a key, and deleted for everyone', async () => {
    const { api } = dashboard;
    const session = (await listLongest()).at(-1);
    if (session === undefined) throw new Error('There is no session');
    const path = `/sessions/${encodeURIComponent(session.session_id)}`;
    const page = await dashboard.open(path);
    await page.getByRole('button', { name: 'Share …' }).click();
    await page.getByRole('button', { name: 'Create link' }).click();
    const link = new URL((await page.locator('.shown-once').textContent()) ?? '');
    const guest = await dashboard.open(link.pathname, {}, false);
    await guest.locator('article').first().waitFor();
    expect((await guest.request.get(`${api.url}/v1${path}`)).status()).toBe(401);
    await page.goto(`${api.url}/sessions?period=all&subagents=include&agent=${session.agent}`);
    const row = page.locator('.body [role=row]', { has: page.locator(`a[href^="${path}"]`) });
    await row.locator('input').check();
    await page.getByRole('button', { name: 'Delete …' }).click();
    await page.getByRole('button', { name: 'Delete permanently' }).click();
    await row.waitFor({ state: 'detached' });
    expect((await api.fetch(`/v1${path}`)).status).toBe(404);
    expect((await fetch(link)).status).toBe(404);
  });
});
