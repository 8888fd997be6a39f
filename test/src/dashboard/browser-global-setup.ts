import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { provideDashboard } from '@recount/cli/dashboard';
import { type BrowserServer, chromium } from 'playwright-core';
import type { TestProject } from 'vitest/node';
import { BROWSER_FLAGS, findBrowser } from './browser.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Answers with the address of the run's browser, which the first request starts. */
    browserUrl: string;
  }
}

/** Far longer than it takes. */
const START_TIMEOUT_MS = 120_000;

/** With the dashboard built, so that the workers find it and none builds it beside another. */
async function startBrowser(): Promise<BrowserServer> {
  await provideDashboard((line) => console.log(line));
  const executablePath = findBrowser() ?? '';
  return await chromium.launchServer({
    executablePath,
    args: BROWSER_FLAGS,
    host: '127.0.0.1',
    timeout: START_TIMEOUT_MS,
  });
}

/** Offers one browser to all test files of the run, and returns the function that closes it. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  let browser: Promise<BrowserServer> | undefined;
  const server = createServer(async (_request, response) => {
    browser ??= startBrowser();
    try {
      response.end((await browser).wsEndpoint());
    } catch (error) {
      browser = undefined;
      response.writeHead(500).end(String(error));
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  project.provide('browserUrl', `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return async () => {
    server.close();
    await (await browser)?.close();
  };
}
