import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { BillList, BillReceipt } from '@recount/contract';
import { BILL_VENDORS } from '@recount/contract/choices';
import type { BillRow, BillVendor } from '@recount/core';
import { Command, Option } from 'commander';
import { addPlaceOptions, type PlaceOptions } from '../connection/place-options.ts';
import { withClient } from '../connection/with-client.ts';
import { type CliContext, note, print, printJson } from '../terminal/cli-context.ts';
import { CliError, UsageError } from '../terminal/cli-error.ts';
import { formatCountOf, formatUsd } from '../terminal/format-values.ts';
import { toSingleLine } from '../terminal/text-width.ts';

interface BillOptions extends PlaceOptions {
  vendor: BillVendor;
  from?: string;
  to?: string;
  organization?: string;
  url?: string;
  yes?: boolean;
}

const DAY_MS = 24 * 60 * 60_000;
const DEFAULT_DAYS = 30;
/** Lines of one request, unless a day has more. */
const CHUNK_ROWS = 2000;
/** The most lines that the server takes in one. */
const MAX_ROWS = 5000;

const vendorOption = (): Option =>
  new Option('--vendor <name>', 'whose bill it is').choices(BILL_VENDORS).makeOptionMandatory();

export function createBillCommand(context: CliContext): Command {
  const bill = new Command('bill')
    .description('Import the bills of vendors, to compare them with transcripts')
    .addHelpText(
      'after',
      `
\`recount report bills\` compares them with telemetry and transcripts. No other figure uses a bill. Importing needs the
scope admin, and is safe to repeat: a line that is known gets the new figures.

\`pull\` asks the vendor, with the key in ANTHROPIC_ADMIN_KEY, OPENAI_ADMIN_KEY, GITHUB_TOKEN or CURSOR_ADMIN_KEY, which
goes nowhere else.

Examples:
  $ recount bill pull --vendor anthropic
  $ recount bill pull --vendor github --organization acme --from 2026-10-01
  $ recount bill import costs.json usage.json --vendor openai
  $ recount bill list
  $ recount report bills --by model --from 2026-11-01`,
    );
  addPlaceOptions(bill.command('import'))
    .description('Import answers of a vendor’s API from files')
    .argument('<file...>', 'JSON: an answer, an array of answers, or one a line')
    .addOption(vendorOption())
    .option('--json', 'print JSON')
    .action((files: string[], options: BillOptions) => importFiles(context, files, options));
  addPlaceOptions(bill.command('pull'))
    .description('Ask a vendor for its costs and usage, and import them')
    .addOption(vendorOption())
    .option('--from <date>', `first day, in UTC; default: ${DEFAULT_DAYS} days ago`)
    .option('--to <date>', 'day after the last one; default: today, which is not over yet')
    .option('--organization <name>', 'GitHub’s organisation')
    .option('--url <url>', 'another address of the vendor’s API, such as a proxy’s')
    .option('--json', 'print JSON')
    .action((options: BillOptions) => pull(context, options));
  addPlaceOptions(bill.command('list'))
    .description('Show what is imported')
    .option('--json', 'print JSON')
    .action((options: BillOptions) => list(context, options));
  addPlaceOptions(bill.command('delete'))
    .description('Delete lines of a vendor’s bill')
    .addOption(vendorOption())
    .option('--from <date>', 'only from this day on')
    .option('--to <date>', 'only before this day')
    .option('--yes', 'required, because it cannot be undone')
    .option('--json', 'print JSON')
    .action((options: BillOptions) => remove(context, options));
  return bill;
}

async function importFiles(context: CliContext, files: readonly string[], options: BillOptions): Promise<void> {
  const texts: string[] = [];
  for (const file of files) {
    const path = resolve(context.workingDirectory, file);
    texts.push(
      await readFile(path, 'utf8').catch((cause: unknown) => {
        throw new CliError(`${file} cannot be read: ${(cause as { code?: string }).code ?? 'unknown reason'}.`);
      }),
    );
  }
  const { requireSameGroups } = await import('@recount/core');
  const rows: BillRow[] = [];
  for (const [index, text] of texts.entries()) {
    const name = files[index] ?? '';
    const own = await readText(options.vendor, text, name);
    await explain(name, () => requireSameGroups(own, rows));
    rows.push(...own);
  }
  await store(context, options, mergeRows(rows));
}

async function readText(vendor: BillVendor, text: string, name: string): Promise<BillRow[]> {
  const { readBill } = await import('@recount/core');
  return await explain(name, () => readBill(vendor, text));
}

/** Names the file at fault. */
async function explain<Result>(name: string, read: () => Result): Promise<Result> {
  const { BillError } = await import('@recount/core');
  try {
    return read();
  } catch (error) {
    if (!(error instanceof BillError)) throw error;
    throw new CliError(`${name}: ${error.message}.`);
  }
}

/** If several files have the same line, the last file's counts. */
const mergeRows = (rows: readonly BillRow[]): BillRow[] => [
  ...new Map(rows.map((row) => [row.identity, row])).values(),
];

async function pull(context: CliContext, options: BillOptions): Promise<void> {
  const { VENDOR_APIS } = await import('../bills/pull-bill.ts');
  const api = VENDOR_APIS[options.vendor];
  const key = context.environment[api.variable];
  if (key === undefined || key === '') throw new UsageError(`Set ${api.variable} to an admin key of the vendor.`);
  const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  const toMs = options.to === undefined ? today : toDay(options.to);
  const fromMs = options.from === undefined ? toMs - DEFAULT_DAYS * DAY_MS : toDay(options.from);
  if (fromMs >= toMs) throw new UsageError('--from must be before --to.');
  const pages: string[] = [];
  const source = { key, url: toBase(options.url ?? api.url), organization: options.organization, fromMs, toMs };
  for await (const page of api.pull(source)) pages.push(JSON.stringify(page));
  await store(context, options, await readText(options.vendor, pages.join('\n'), 'The answer of the vendor'));
}

function toDay(text: string): number {
  const ms = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  if (Number.isNaN(ms)) throw new UsageError(`${toSingleLine(text)} is no date such as 2026-11-01.`);
  return ms;
}

function toBase(text: string): string {
  const url = URL.parse(text);
  const isLocal = url !== null && ['127.0.0.1', 'localhost', '[::1]'].includes(url.hostname);
  if (url === null || !(url.protocol === 'https:' || (url.protocol === 'http:' && isLocal))) {
    throw new UsageError('--url must begin with https://, because the key is sent there.');
  }
  return url.href.replace(/\/+$/, '');
}

/** Parts of a bill. A day is in one, because the server compares how days are grouped. */
function toChunks(rows: readonly BillRow[]): BillRow[][] {
  const chunks: BillRow[][] = [];
  for (const [, ofDay] of Map.groupBy(rows, ({ day }) => day)) {
    const last = chunks.at(-1);
    if (last === undefined || last.length + ofDay.length > CHUNK_ROWS) {
      for (let start = 0; start < ofDay.length; start += MAX_ROWS) chunks.push(ofDay.slice(start, start + MAX_ROWS));
    } else last.push(...ofDay);
  }
  return chunks;
}

async function store(context: CliContext, options: BillOptions, rows: readonly BillRow[]): Promise<void> {
  const { vendor } = options;
  await withClient(context, options, async (client) => {
    for (const chunk of toChunks(rows)) {
      const json = { vendor, rows: chunk };
      const receipt = await client.request<BillReceipt>('/v1/bills', { method: 'POST', json });
      if (receipt === undefined) throw new CliError('The server does not know bills. Update it.');
    }
  });
  const days = rows.map(({ day }) => day).sort();
  const amountUsd = rows.reduce((sum, row) => sum + (row.amountUsd ?? 0), 0);
  const result = {
    vendor,
    lines: rows.length,
    first_day: days[0] ?? null,
    last_day: days.at(-1) ?? null,
    amount_usd: amountUsd,
  };
  if (options.json) return printJson(context, result);
  if (rows.length === 0) return note(context, 'The bill has no lines in this time.');
  note(
    context,
    `${formatCountOf(rows.length, 'line')} of ${vendor} imported, ${formatUsd(amountUsd)}, ${days[0]} to ${days.at(-1)}. \`recount report bills\` compares them.`,
  );
}

async function list(context: CliContext, options: BillOptions): Promise<void> {
  const answer = await withClient(context, options, (client) => client.request<BillList>('/v1/bills'));
  const bills = answer?.bills ?? [];
  if (options.json) return printJson(context, bills);
  if (bills.length === 0) return note(context, 'No bill is imported. `recount bill --help` says how.');
  for (const { vendor, lines, first_day, last_day, amount_usd } of bills) {
    print(
      context,
      `${vendor.padEnd(10)}  ${first_day} to ${last_day}  ${formatUsd(amount_usd)}  ${formatCountOf(lines, 'line')}`,
    );
  }
}

async function remove(context: CliContext, options: BillOptions): Promise<void> {
  if (!options.yes) throw new UsageError('This deletes lines of a bill. Say --yes.');
  const query = {
    vendor: options.vendor,
    ...(options.from !== undefined && { first_day: new Date(toDay(options.from)).toISOString().slice(0, 10) }),
    ...(options.to !== undefined && { last_day: new Date(toDay(options.to) - DAY_MS).toISOString().slice(0, 10) }),
  };
  const receipt = await withClient(context, options, (client) =>
    client.request<BillReceipt>('/v1/bills', { method: 'DELETE', query }),
  );
  if (options.json) return printJson(context, receipt);
  note(context, `${formatCountOf(receipt?.lines ?? 0, 'line')} of ${options.vendor} deleted.`);
}
