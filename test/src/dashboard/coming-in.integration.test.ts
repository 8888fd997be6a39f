import { newTestStreamId, openLive, sendLive } from '@recount/api/testing/live-client';
import { toStreamLines } from '@recount/api/testing/stream-lines';
import { toLine, toTranscript } from '@recount/api/testing/transcript-lines';
import type { TranscriptList } from '@recount/contract';
import type { Locator } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { findBrowser } from './browser.ts';
import { dropFiles } from './drop-files.ts';
import { type Dashboard, startDashboard } from './start-dashboard.ts';

const executablePath = findBrowser();
const RUNNING = '55555555-2222-4333-8444-555555555555';
const CODE = 'window.hostile = 1';

let dashboard: Dashboard;

beforeAll(async () => {
  if (executablePath !== undefined) dashboard = await startDashboard();
});
afterEach(() => dashboard?.closePages());
afterAll(() => dashboard?.close());

describe.skipIf(executablePath === undefined)('new transcripts in a browser', () => {
  it('include what a running agent says while it runs, then its transcript', async () => {
    const { api } = dashboard;
    const target = { url: api.url, key: api.keys.ingest };
    const headers = { 'recount-stream': newTestStreamId() };
    const lines = toStreamLines(RUNNING);
    const first = lines.slice(0, 5);
    const live = openLive(target, RUNNING, headers);
    await live.write(first.join(''));
    const overview = await dashboard.open('/');
    await overview.locator('.running a').first().click();
    await overview.waitForURL(`${api.url}/sessions/${RUNNING}`);
    const story = overview.getByRole('region', { name: 'Running now' });
    await story.getByText('Ich sehe nach.').waitFor();
    await story.getByText('prüfe die Zähler').waitFor();
    // Pieces become the whole text, and a call waits for its result.
    await live.write(lines.slice(5, 8).join(''));
    await story.locator('.tool-name', { hasText: 'Read' }).waitFor();
    await story.getByText('no result yet').waitFor();
    await expect.poll(() => story.getByText('Ich sehe nach.').count()).toBe(1);
    const hostile = { type: 'text', text: `<img src=x onerror="${CODE}"> [x](javascript:${CODE})` };
    const answer = JSON.parse(lines[5] ?? '') as { message: object };
    await live.write(
      `${JSON.stringify({ ...answer, message: { ...answer.message, id: 'msg_odd', content: [hostile] } })}\n`,
    );
    await live.write(lines.slice(8, 11).join(''));
    await story.getByText('onerror').waitFor();
    await story.getByText('no result yet').waitFor({ state: 'detached' });
    expect(await overview.evaluate('window.hostile')).toBeUndefined();
    const requests: string[] = [];
    overview.on('request', (request) => requests.push(request.url()));
    live.end();
    const { body } = await live.answer;
    await sendLive(target, RUNNING, lines.slice(11).join(''), {
      ...headers,
      'recount-offset': String(body.stored_bytes),
      'recount-complete': '?1',
    });
    await story.getByText('Fertig').waitFor();
    await api.work();
    await story.waitFor({ state: 'detached' });
    await overview.locator('.turn-prompt').first().waitFor();
    await overview.locator('.turn').getByText('Fertig').first().waitFor();
    // The earlier connection delivered everything; at most one more, for the page of the session with figures.
    expect(requests.filter((url) => url.includes('/events')).length).toBeLessThanOrEqual(1);
  });

  it('come from dropped files, with bad lines reported, ingestion repeated, and deletion', async () => {
    const { api } = dashboard;
    const page = await dashboard.open('/uploads');
    const broken = `${toLine('broken', 0)}{"type":"user", <b>not JSON</b>\n${toLine('broken', 1)}`;
    await dropFiles(page, page.locator('.drop-zone'), [
      { name: 'whole.jsonl', bytes: toTranscript('whole', 4) },
      { name: 'broken.jsonl', bytes: broken },
      { name: 'notes.jsonl', bytes: '{"a":1}\n' },
    ]);
    const rowOf = (name: string): Locator => page.locator('.panel tr', { hasText: name });
    await page.getByText('2 of 3 stored, 1 not taken').waitFor();
    await rowOf('notes.jsonl').getByText('Not recognised', { exact: false }).waitFor();
    await rowOf('whole.jsonl')
      .getByText(/queued|waits/i)
      .waitFor();
    await api.work();
    await rowOf('whole.jsonl').getByRole('link', { name: 'Open the session' }).waitFor();
    const admin = await dashboard.open('/admin?view=jobs');
    await admin.locator('.ingestion div', { hasText: 'Warnings' }).getByRole('link').click();
    const listed = admin.locator('.transcripts .body [role=row]');
    await listed.filter({ hasText: 'broken.jsonl' }).waitFor();
    expect(await listed.filter({ hasText: 'whole.jsonl' }).count()).toBe(0);
    await rowOf('broken.jsonl').getByRole('link', { name: 'What is wrong' }).click();
    const dialog = page.getByRole('dialog', { name: 'Transcript' });
    await dialog.getByRole('button', { name: 'Line 2' }).click();
    await dialog.locator('.issue-line').getByText('<b>not JSON</b>').waitFor();
    await dialog.getByRole('button', { name: 'Ingest again' }).click();
    await dialog.getByText(/queued|waits/i).waitFor();
    await api.work();
    await dialog.getByText('ingested').first().waitFor();
    await dialog.getByRole('button', { name: 'Delete', exact: true }).click();
    await dialog.getByRole('button', { name: 'Keep it' }).click();
    await dialog.getByRole('button', { name: 'Delete', exact: true }).click();
    await dialog.getByRole('button', { name: 'Delete permanently' }).click();
    await dialog.waitFor({ state: 'detached' });
    const { transcripts } = await dashboard.ask<TranscriptList>('/v1/transcripts');
    expect(transcripts.map(({ path }) => path)).not.toContain('broken.jsonl');
    expect((await api.fetch('/v1/sessions/broken')).status).toBe(404);
    expect((await api.fetch('/v1/sessions/whole')).status).toBe(200);
  });
});
