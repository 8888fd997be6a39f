import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { toTranscript } from '@recount/api/testing/transcript-lines';
import type { Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { findBrowser } from './browser.ts';
import { type Dashboard, startDashboard } from './start-dashboard.ts';

const executablePath = findBrowser();

interface Dragged {
  /** Names in the test's folder. */
  files?: string[];
  items?: { mimeType: string; data: string }[];
}

let dashboard: Dashboard;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'recount-drops-'));
  await mkdir(join(folder, 'project/session/subagents'), { recursive: true });
  await mkdir(join(folder, 'nothing'));
  await writeFile(join(folder, 'alone.jsonl'), toTranscript('alone', 2));
  await writeFile(join(folder, 'project/inner.jsonl'), toTranscript('inner', 2));
  await writeFile(join(folder, 'project/notes.md'), 'no transcript');
  await writeFile(join(folder, 'empty.jsonl'), '');
  if (executablePath !== undefined) dashboard = await startDashboard();
});
afterEach(() => dashboard?.closePages());
afterAll(async () => {
  await dashboard?.close();
  await rm(folder, { recursive: true });
});

/**
 * Counts drags over the page and drops, keeps all drops but the first from the page, and notes whether the page left
 * the first to the browser, which would open it in a tab.
 */
const COUNT_DROPS = `
  if (window.dropCount === undefined) {
    addEventListener('dragover', () => { window.dragCount++; }, true);
    addEventListener('drop', (event) => {
      if (window.dropCount++ === 0) {
        setTimeout(() => { window.isLeftToBrowser = !event.defaultPrevented; });
        return;
      }
      event.preventDefault();
      event.stopImmediatePropagation();
    }, true);
  }
  window.dragCount = 0;
  window.dropCount = 0;
  window.isLeftToBrowser = undefined;`;

/** Drops from another program, so that the browser does whatever the page leaves to it. */
async function drop(page: Page, { files = [], items = [] }: Dragged, shown: Locator): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const data = { items, files: files.map((name) => join(folder, name)), dragOperationsMask: 1 };
  await page.evaluate(COUNT_DROPS);
  const send = async (type: 'dragEnter' | 'dragOver' | 'drop'): Promise<void> => {
    await session.send('Input.dispatchDragEvent', { type, x: 600, y: 300, data });
  };
  const count = (name: 'dragCount' | 'dropCount') => page.evaluate<number>(`window.${name}`);
  // The browser takes a drop for a cancelled drag, or opens a tab, until the page has answered the events before it.
  const isDropped = async (): Promise<boolean> => {
    await send('dragEnter');
    const before = await count('dragCount');
    const dragOver = async (): Promise<number> => {
      await send('dragOver');
      return await count('dragCount');
    };
    await expect.poll(dragOver).toBeGreaterThan(before + 2);
    await send('drop');
    return (await count('dropCount')) > 0;
  };
  await expect.poll(isDropped).toBe(true);
  await shown.waitFor();
  // Tabs say less: a slow machine's browser opens one for a drop that it never gave to the page.
  await expect.poll(() => page.evaluate('window.isLeftToBrowser')).toBe(false);
}

describe.skipIf(executablePath === undefined)('what is dropped on a page of the dashboard', () => {
  const rowOf = (page: Page, name: string): Locator => page.locator('.panel tr', { hasText: name });

  it('is uploaded from any page if it is a file or a folder', async () => {
    const { api } = dashboard;
    const page = await dashboard.open('/');
    await drop(page, { files: ['alone.jsonl'] }, rowOf(page, 'alone.jsonl'));
    expect(page.url()).toBe(`${api.url}/uploads`);
    await drop(page, { files: ['project'] }, rowOf(page, 'project/inner.jsonl'));
    await page.getByText('2 of 2 stored; left out: 1 by name').waitFor();
    await api.work();
    expect((await api.fetch('/v1/sessions/alone')).status).toBe(200);
    expect((await api.fetch('/v1/sessions/inner')).status).toBe(200);
  });

  it('is named if it cannot be read or contains nothing', async () => {
    const page = await dashboard.open('/sessions');
    const shown = rowOf(page, 'gone.jsonl').getByText('It changed or disappeared. Choose it again');
    await drop(page, { files: ['gone.jsonl', 'nothing', 'empty.jsonl'] }, shown);
    await rowOf(page, 'nothing').getByText('It contains no file').waitFor();
    await rowOf(page, 'empty.jsonl').getByText('It is empty').waitFor();
  });

  it('is refused with a reason, in the same tab, if it is no file or the visitor is signed out', async () => {
    const page = await dashboard.open('/projects');
    const refusal = page.getByRole('alert');
    for (const item of [
      { mimeType: 'text/plain', data: 'a text' },
      { mimeType: 'text/uri-list', data: `${dashboard.api.url}/docs` },
    ]) {
      await drop(page, { items: [item] }, refusal.getByText('Only files and folders'));
      await refusal.getByRole('button', { name: 'Close' }).click();
    }
    expect(page.url()).toContain('/projects');
    const signedOut = await dashboard.open('/sign-in', {}, false);
    await drop(signedOut, { files: ['alone.jsonl'] }, signedOut.getByText('Sign in first'));
  });
});
