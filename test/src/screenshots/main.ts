/**
 * Takes docs/screenshots again, with every page, light and dark, on a desktop and on a phone, of the samples and of the
 * demo's company. `npm run screenshots`, or `npm run screenshots -- insights` for some by their names.
 */
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { provideDashboard } from '@recount/cli/dashboard';
import { createApiKey } from '@recount/db';
import { openDemo } from '@recount/ingest';
import { type Browser, chromium, type Page } from 'playwright-core';
import { BROWSER_FLAGS, findBrowser } from '../dashboard/browser.ts';
import { signIn } from '../dashboard/sign-in.ts';
import { findFreePort } from '../find-free-port.ts';
import { startTestBackend } from '../test-backend.ts';
import { PICTURES, type Picture } from './pictures.ts';

const ROOT = join(import.meta.dirname, '../../..');
const SAMPLES = join(ROOT, 'samples/claude-projects');
const TARGET = join(ROOT, 'docs/screenshots');
const QUALITY = 64;
const SETTLING_MS = 800;
const VIEWS = [
  { suffix: 'light', colorScheme: 'light', viewport: { width: 1280, height: 860 } },
  { suffix: 'dark', colorScheme: 'dark', viewport: { width: 1280, height: 860 } },
  { suffix: 'phone', colorScheme: 'light', viewport: { width: 360, height: 740 } },
  { suffix: 'phone-dark', colorScheme: 'dark', viewport: { width: 360, height: 740 } },
] as const;

const executablePath = findBrowser();
if (executablePath === undefined) process.exit(1);
const backend = await startTestBackend('screenshots', {});
try {
  const url = await startServer();
  const { key } = await createApiKey(backend.database.database, {
    workspaceId: await makeCompany(),
    name: 'the owner',
    scopes: ['admin', 'read', 'ingest', 'operator'],
  });
  await upload(url, key);
  const browser = await chromium.launch({ executablePath, args: BROWSER_FLAGS });
  try {
    await takePictures(browser, url, key);
  } finally {
    await browser.close();
  }
} finally {
  await backend.stop();
}

async function startServer(): Promise<string> {
  const port = String(await findFreePort());
  const dashboard = (await provideDashboard((line) => console.log(line))) ?? '';
  await backend.start('worker');
  await backend.start('api', { RECOUNT_PORT: port, RECOUNT_DASHBOARD_DIRECTORY: dashboard });
  return `http://127.0.0.1:${port}`;
}

/** Makes the demo's company, as a workspace like any other, and returns its id. */
async function makeCompany(): Promise<string> {
  const { workspaceId } = await openDemo(backend, { nowMs: Date.now(), actor: 'system' });
  const rename = "UPDATE recount.workspaces SET name = 'tidewater', demo_ends_at = NULL WHERE id = $1";
  await backend.database.pool.query(rename, [workspaceId]);
  return workspaceId;
}

async function upload(url: string, key: string): Promise<void> {
  const headers = { authorization: `Bearer ${key}` };
  const send = async (body: string, query: Record<string, string>): Promise<void> => {
    const answer = await fetch(`${url}/v1/transcripts?${new URLSearchParams(query)}`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/x-ndjson' },
      body,
    });
    if (!answer.ok) throw new Error(`${query.path}: ${answer.status} ${await answer.text()}`);
  };
  for (const name of ['ci-runner-2', 'maya-laptop', 'grafana']) {
    const body = JSON.stringify({ name, scopes: [name === 'grafana' ? 'read' : 'ingest'] });
    const type = { 'content-type': 'application/json' };
    const made = await fetch(`${url}/v1/keys`, { method: 'POST', headers: { ...headers, ...type }, body });
    if (!made.ok) throw new Error(`${name}: ${made.status} ${await made.text()}`);
  }
  for (const name of await readdir(SAMPLES, { recursive: true })) {
    if (!name.endsWith('.jsonl')) continue;
    const person = `${name.includes('maya') ? 'maya.lindqvist' : 'jonas.weber'}@tidewater.example`;
    await send(await readFile(join(SAMPLES, name), 'utf8'), { path: join(SAMPLES, name), person });
  }
  for (;;) {
    const answer = await fetch(`${url}/v1/ingestion`, { headers });
    const { transcripts } = (await answer.json()) as { transcripts: Record<string, number> };
    if ((transcripts.queued ?? 0) + (transcripts.processing ?? 0) === 0) break;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

async function takePictures(browser: Browser, url: string, key: string): Promise<void> {
  const wanted = process.argv.slice(2);
  const chosen = PICTURES.filter(({ name }) => wanted.length === 0 || wanted.includes(name));
  if (wanted.length === 0) await rm(TARGET, { recursive: true, force: true });
  await mkdir(TARGET, { recursive: true });
  for (const { suffix, colorScheme, viewport } of VIEWS) {
    const storageState = await signIn(url, key);
    const place = { locale: 'en-US', timezoneId: 'Europe/Berlin' };
    const context = await browser.newContext({ viewport, colorScheme, storageState, ...place });
    const page = await context.newPage();
    for (const picture of chosen) {
      await show(page, url, picture);
      const session = await context.newCDPSession(page);
      const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: QUALITY });
      await writeFile(join(TARGET, `${picture.name}-${suffix}.webp`), Buffer.from(data, 'base64'));
      await session.detach();
    }
    await context.close();
    console.log(`${chosen.length} pictures: ${suffix}`);
  }
}

async function show(page: Page, url: string, { path, ready, prepare }: Picture): Promise<void> {
  await page.goto(url + path);
  await page.locator(ready).first().waitFor();
  await prepare?.(page);
  // Some pages poll continuously and are never without a request.
  await page.waitForTimeout(SETTLING_MS);
  while ((await page.locator('.loading').count()) > 0) await page.waitForTimeout(50);
}
