import type { SignedIn } from '@recount/contract';
import type { BrowserContextOptions, Page } from 'playwright-core';

/** The name under which the dashboard keeps the page's secret. */
const PAGE_KEY = 'recount-page';

export type StorageState = Exclude<NonNullable<BrowserContextOptions['storageState']>, string>;

/** The state of a browser after signing in to the server at this URL. */
export async function signIn(url: string, key: string): Promise<StorageState> {
  const response = await fetch(`${url}/v1/sign-in`, { method: 'POST', headers: { authorization: `Bearer ${key}` } });
  if (!response.ok) throw new Error(`Signing in was answered ${response.status}`);
  const { page } = (await response.json()) as SignedIn;
  const [name = '', value = ''] = (response.headers.get('set-cookie')?.split(';', 1)[0] ?? '').split('=');
  const { hostname, origin } = new URL(url);
  const kind = { httpOnly: true, secure: false, sameSite: 'Strict' as const, expires: -1 };
  return {
    cookies: [{ name, value, domain: hostname, path: `/signed-in/${page}`, ...kind }],
    origins: [{ origin, localStorage: [{ name: PAGE_KEY, value: page }] }],
  };
}

/** Signs an open page in with another key; it knows after a reload. */
export async function signInPage(page: Page, url: string, key: string): Promise<void> {
  const { cookies, origins } = await signIn(url, key);
  await page.context().addCookies(cookies);
  const [{ value = '' } = {}] = origins[0]?.localStorage ?? [];
  await page.evaluate(`localStorage.setItem('${PAGE_KEY}', '${value}')`);
}

/** The target of the requests of a dashboard's page. */
export async function readSignedInUrl(page: Page): Promise<string> {
  const secret = await page.evaluate<string>(`localStorage.getItem('${PAGE_KEY}')`);
  return `${new URL(page.url()).origin}/signed-in/${secret}`;
}
