import type { BillVendor, JsonObject } from '@recount/core';
import { retry } from '@recount/service/retry';
import { CliError } from '../terminal/cli-error.ts';

const TIMEOUT_MS = 60_000;
const MAX_ATTEMPTS = 5;
/** Ends a loop of pages that a faulty server never ends. */
const MAX_PAGES = 2000;
const DAY_MS = 24 * 60 * 60_000;
/** The most days that the vendors answer at a time. */
const MAX_DAYS = 30;

interface BillSource {
  key: string;
  /** Address of the vendor's API, without a slash at its end. */
  url: string;
  /** GitHub's organisation. */
  organization?: string | undefined;
  /** First day, and the day after the last one, in UTC. */
  fromMs: number;
  toMs: number;
}

interface VendorApi {
  /** Variable that has the key. */
  variable: string;
  url: string;
  pull(source: BillSource): AsyncGenerator<JsonObject>;
}

/** The API of each vendor, as it documents it. */
export const VENDOR_APIS: Readonly<Record<BillVendor, VendorApi>> = {
  anthropic: { variable: 'ANTHROPIC_ADMIN_KEY', url: 'https://api.anthropic.com', pull: pullAnthropic },
  openai: { variable: 'OPENAI_ADMIN_KEY', url: 'https://api.openai.com', pull: pullOpenAi },
  github: { variable: 'GITHUB_TOKEN', url: 'https://api.github.com', pull: pullGitHub },
  cursor: { variable: 'CURSOR_ADMIN_KEY', url: 'https://api.cursor.com', pull: pullCursor },
};

class VendorError extends CliError {
  override name = 'VendorError';
  readonly status: number;
  readonly afterMs: number | undefined;
  constructor(message: string, status: number, afterMs: number | undefined) {
    super(message);
    this.status = status;
    this.afterMs = afterMs;
  }
}

type Page = JsonObject & { has_more?: boolean; next_page?: string | null };

async function ask(url: URL, init: RequestInit): Promise<Page> {
  return await retry(() => askOnce(url, init), {
    firstMs: 1000,
    longestMs: 30_000,
    maxAttempts: MAX_ATTEMPTS,
    toPassing(error) {
      if (!(error instanceof VendorError)) return error instanceof CliError ? undefined : {};
      return error.status === 429 || error.status >= 500 ? { afterMs: error.afterMs } : undefined;
    },
  }).catch((error: unknown) => {
    if (error instanceof CliError) throw error;
    throw new CliError(`${url.origin} cannot be reached.`);
  });
}

async function askOnce(url: URL, init: RequestInit): Promise<Page> {
  // A redirect could take the key elsewhere.
  const answer = await fetch(url, { ...init, redirect: 'error', signal: AbortSignal.timeout(TIMEOUT_MS) });
  if (!answer.ok) {
    await answer.body?.cancel();
    const seconds = Number(answer.headers.get('retry-after') ?? Number.NaN);
    const hint = answer.status === 401 || answer.status === 403 ? ' Is it an admin key?' : '';
    throw new VendorError(
      `${url.origin}${url.pathname} answered ${answer.status}.${hint}`,
      answer.status,
      Number.isFinite(seconds) ? seconds * 1000 : undefined,
    );
  }
  const text = await answer.text();
  try {
    return JSON.parse(text) as Page;
  } catch {
    throw new CliError(`${url.origin}${url.pathname} answered something other than JSON.`);
  }
}

/** Follows `next_page`. */
async function* askAll(url: URL, headers: Record<string, string>): AsyncGenerator<Page> {
  for (let count = 0, page: string | undefined; count < MAX_PAGES; count++) {
    if (page !== undefined) url.searchParams.set('page', page);
    const answer = await ask(url, { headers });
    yield answer;
    if (answer.has_more !== true || typeof answer.next_page !== 'string') return;
    page = answer.next_page;
  }
  throw new CliError(`${url.origin} has more than ${MAX_PAGES} pages. Ask for fewer days.`);
}

function toAddress(base: string, path: string, query: readonly (readonly [string, string])[]): URL {
  const url = new URL(base + path);
  for (const [name, value] of query) url.searchParams.append(name, value);
  return url;
}

async function* pullAnthropic({ url, key, fromMs, toMs }: BillSource): AsyncGenerator<JsonObject> {
  const headers = { 'x-api-key': key, 'anthropic-version': '2023-06-01' };
  const times = [
    ['starting_at', new Date(fromMs).toISOString()],
    ['ending_at', new Date(toMs).toISOString()],
    ['bucket_width', '1d'],
    ['limit', '31'],
  ] as const;
  const groups = (...names: string[]) => names.map((name) => ['group_by[]', name] as const);
  const costs = [...times, ...groups('workspace_id', 'description')];
  yield* askAll(toAddress(url, '/v1/organizations/cost_report', costs), headers);
  const usage = [...times, ...groups('workspace_id', 'model', 'service_tier')];
  yield* askAll(toAddress(url, '/v1/organizations/usage_report/messages', usage), headers);
}

async function* pullOpenAi({ url, key, fromMs, toMs }: BillSource): AsyncGenerator<JsonObject> {
  const headers = { authorization: `Bearer ${key}` };
  const times = [
    ['start_time', String(fromMs / 1000)],
    ['end_time', String(toMs / 1000)],
    ['bucket_width', '1d'],
    ['limit', '31'],
  ] as const;
  const groups = (...names: string[]) => names.map((name) => ['group_by[]', name] as const);
  const costs = [...times, ...groups('line_item', 'project_id')];
  yield* askAll(toAddress(url, '/v1/organization/costs', costs), headers);
  const usage = [...times, ...groups('model', 'project_id', 'batch')];
  yield* askAll(toAddress(url, '/v1/organization/usage/completions', usage), headers);
}

/** Whole months, because only these are answered by day. */
async function* pullGitHub({ url, key, organization, fromMs, toMs }: BillSource): AsyncGenerator<JsonObject> {
  if (organization === undefined) throw new CliError('Name the organisation with --organization.');
  const headers = {
    authorization: `Bearer ${key}`,
    accept: 'application/vnd.github+json',
    'x-github-api-version': '2022-11-28',
  };
  const path = `/organizations/${encodeURIComponent(organization)}/settings/billing/usage`;
  const first = new Date(fromMs);
  for (let month = first.getUTCMonth(); Date.UTC(first.getUTCFullYear(), month, 1) < toMs; month++) {
    const start = new Date(Date.UTC(first.getUTCFullYear(), month, 1));
    const query = [
      ['year', String(start.getUTCFullYear())],
      ['month', String(start.getUTCMonth() + 1)],
    ] as const;
    yield await ask(toAddress(url, path, query), { headers });
  }
}

async function* pullCursor({ url, key, fromMs, toMs }: BillSource): AsyncGenerator<JsonObject> {
  const headers = {
    authorization: `Basic ${Buffer.from(`${key}:`).toString('base64')}`,
    'content-type': 'application/json',
  };
  for (let startMs = fromMs; startMs < toMs; startMs += MAX_DAYS * DAY_MS) {
    const endDate = Math.min(toMs, startMs + MAX_DAYS * DAY_MS) - 1;
    for (let page = 1, hasMore = true; hasMore; page++) {
      if (page > MAX_PAGES) throw new CliError(`${url} has more than ${MAX_PAGES} pages. Ask for fewer days.`);
      const body = JSON.stringify({ startDate: startMs, endDate, page, pageSize: 1000 });
      const answer = await ask(new URL('/teams/filtered-usage-events', url), { method: 'POST', headers, body });
      yield answer;
      hasMore = (answer.pagination as { hasNextPage?: boolean } | undefined)?.hasNextPage === true;
    }
  }
}
