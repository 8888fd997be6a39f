import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { inject } from 'vitest';
import './browser-global-setup.ts';
import type { StorageState } from './sign-in.ts';

const WAIT_MS = 120_000;
export const DESKTOP = { width: 1280, height: 800 };
export const PHONE = { width: 360, height: 740 };
/** A document that runs nothing, and has the storage of its origin. */
const BLANK_PATH = '/favicon.svg';
const HAS_ITS_CLOCK = '/native code/.test(Date.now.toString())';
/** Events that tests listen to. */
const EVENTS = ['console', 'dialog', 'download', 'pageerror', 'popup', 'request', 'response'] as const;

/** The appearance of a page, and the state of its browser (nothing by default). */
export interface PageOptions {
  locale?: string;
  timezoneId?: string;
  viewport?: { width: number; height: number };
  colorScheme?: 'light' | 'dark';
  storageState?: StorageState;
}

/** Of this worker, which all its test files share. */
let connection: Promise<Browser> | undefined;
/**
 * Pages that no test uses, by what cannot be changed in them. A new context with a page takes two seconds of processor
 * time, which was most of what a test took.
 */
const idle = new Map<string, Page[]>();

async function connect(): Promise<Browser> {
  const answer = await fetch(inject('browserUrl'));
  const text = await answer.text();
  if (!answer.ok) throw new Error(`The browser could not be started: ${text}`);
  const browser = await chromium.connect(text);
  browser.on('disconnected', () => {
    connection = undefined;
    idle.clear();
  });
  return browser;
}

/** The one browser of the run. A test closes its contexts, never the browser. */
export async function useBrowser(): Promise<Browser> {
  connection ??= connect();
  try {
    return await connection;
  } catch (error) {
    connection = undefined;
    throw error;
  }
}

async function createPage(locale: string, timezoneId: string): Promise<Page> {
  const browser = await useBrowser();
  const context = await browser.newContext({ locale, timezoneId, viewport: DESKTOP });
  context.setDefaultTimeout(WAIT_MS);
  const page = await context.newPage();
  const rate = Number(process.env.RECOUNT_TEST_CPU_SLOWDOWN ?? 1);
  if (rate > 1) await (await context.newCDPSession(page)).send('Emulation.setCPUThrottlingRate', { rate });
  return page;
}

/** Leaves nothing of the test that used the page. */
async function clearPage(page: Page): Promise<void> {
  const context: BrowserContext = page.context();
  for (const event of EVENTS) page.removeAllListeners(event);
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  await Promise.all(context.pages().map((each) => (each === page ? undefined : each.close())));
  await context.clearCookies();
  // Also of an origin whose server is gone.
  await page.evaluate('[localStorage, sessionStorage].forEach((storage) => storage.clear())');
}

/**
 * A page of the server at this URL, before it has loaded anything of the dashboard. `release` leaves it to the next
 * test.
 */
export async function openPage(
  url: string,
  options: PageOptions,
): Promise<{ page: Page; release: () => Promise<void> }> {
  const { locale = 'en-US', timezoneId = 'UTC', viewport = DESKTOP, colorScheme = 'light', storageState } = options;
  const key = `${locale} ${timezoneId}`;
  const page = idle.get(key)?.pop() ?? (await createPage(locale, timezoneId));
  await page.setViewportSize(viewport);
  await page.emulateMedia({ media: null, colorScheme, contrast: null, forcedColors: null, reducedMotion: null });
  await page.mouse.move(0, 0);
  await page.goto(url + BLANK_PATH);
  const { cookies = [], origins = [] } = storageState ?? {};
  await page.context().addCookies(cookies);
  const items = origins.flatMap(({ origin, localStorage }) => (origin === url ? localStorage : []));
  for (const { name, value } of items)
    await page.evaluate(`localStorage.setItem(${JSON.stringify(name)}, ${JSON.stringify(value)})`);
  return {
    page,
    async release() {
      try {
        await page.goto(url + BLANK_PATH);
        // A context keeps the clock that a test has set.
        if (!(await page.evaluate<boolean>(HAS_ITS_CLOCK))) return await page.context().close();
        await clearPage(page);
        idle.set(key, [...(idle.get(key) ?? []), page]);
      } catch {
        await page.context().close();
      }
    },
  };
}
