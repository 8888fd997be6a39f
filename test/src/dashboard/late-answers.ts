import type { Page, Request } from 'playwright-core';
import { expect } from 'vitest';

/** Answers of the API and scripts. Running sessions come in a stream without an end. */
const LATE = /\/v1\/(?!live)|\/assets\/.*\.js$/;
/** Nothing is painted before the styles are there. */
const isUnderWay = (url: string): boolean => LATE.test(url) || url.endsWith('.css');
/** A page that has waited for nothing in so many frames asks for nothing more. */
const IDLE_FRAMES = 10;
/** So long after the last answer. */
const QUIET_MS = 500;
/** Waits for the next frame, and notes what of the page is hidden in it that was shown in the frames before. */
const NEXT_FRAME = `new Promise((resolve) => requestAnimationFrame(() => {
  const seen = (window.seenParts ??= new Set());
  const hidden = (window.hiddenParts ??= []);
  for (const part of document.querySelectorAll('main :is(.in-order, .together, .session-page) > *')) {
    if (getComputedStyle(part).visibility === 'visible') seen.add(part);
    else if (seen.delete(part)) hidden.push(part.className + ' ' + part.textContent.slice(0, 30));
  }
  resolve();
}))`;

/**
 * Holds the requests of pages that are opened from now on, from their first question to the API, and answers one at a
 * time, each a frame after the one before, the last asked first: what is below on a page is there before what is above.
 */
export class LateAnswers {
  readonly #page: Page;
  readonly #underWay = new Set<Request>();
  #held: { request: Request; release: () => Promise<void> }[] = [];
  #hasAsked = false;

  private constructor(page: Page) {
    this.#page = page;
  }

  static async of(page: Page): Promise<LateAnswers> {
    const late = new LateAnswers(page);
    // Parts that wait for others above them do so however slow this machine is.
    await page.addInitScript(`new CSSStyleSheet().replace('* { animation-play-state: paused !important }').then((sheet) => {
      document.adoptedStyleSheets = [sheet];
    })`);
    const end = (request: Request): void => void late.#underWay.delete(request);
    page.on('request', (request) => isUnderWay(request.url()) && late.#underWay.add(request));
    page.on('requestfinished', end).on('requestfailed', end);
    await page.route(LATE, async (route) => {
      const request = route.request();
      late.#hasAsked ||= request.url().includes('/v1/');
      // The first scripts come before anything is shown.
      if (late.#hasAsked) late.#held.push({ request, release: () => route.continue() });
      else await route.continue();
    });
    return late;
  }

  async open(url: string): Promise<void> {
    this.#hasAsked = false;
    await this.#page.goto(url, { waitUntil: 'commit' });
  }

  /** Answers until the condition holds, or, without one, until the page waits for nothing. */
  async answer(isEnough: () => Promise<boolean> = async () => false): Promise<void> {
    let lastAnswerMs = performance.now();
    for (let idle = 0; idle < IDLE_FRAMES; idle++) {
      await this.#page.evaluate(NEXT_FRAME);
      if (await isEnough()) return;
      const next = this.#held.pop();
      if (next === undefined) {
        // React may show a part a third of a second later, which then asks for more.
        const waits = this.#underWay.size > 0 || (await this.#page.locator('.loading').count()) > 0;
        if (waits || performance.now() - lastAnswerMs < QUIET_MS) idle = 0;
        continue;
      }
      idle = 0;
      await next.release();
      await expect.poll(() => this.#underWay.has(next.request), { message: next.request.url() }).toBe(false);
      lastAnswerMs = performance.now();
    }
  }
}

/**
 * The cumulative layout shift since the page was opened, without what the user caused, the elements that moved, and those
 * that were hidden after they were shown, which browsers do not count.
 */
export async function readShifts(page: Page): Promise<{ sum: number; moved: string[]; hidden: string[] }> {
  return await page.evaluate(`new Promise((resolve) => {
    const toName = (node) => node === null ? 'gone' : (node.className ?? node.nodeName) + ' ' + (node.textContent ?? '').trim().slice(0, 30);
    const toPlace = ({ y, height }) => Math.round(y) + ' + ' + Math.round(height);
    const done = (entries) => resolve({
      hidden: window.hiddenParts ?? [],
      sum: entries.reduce((sum, { value }) => sum + value, 0),
      moved: entries.flatMap(({ sources }) => sources.map(({ node, previousRect, currentRect }) =>
        toName(node) + ': ' + toPlace(previousRect) + ' to ' + toPlace(currentRect))),
    });
    const listShifts = (entries) => entries.filter(({ hadRecentInput }) => !hadRecentInput);
    const observer = new PerformanceObserver((list) => done(listShifts(list.getEntries())));
    observer.observe({ type: 'layout-shift', buffered: true });
    // It is told of nothing if nothing moved.
    requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => done(listShifts(observer.takeRecords())))));
  })`);
}
