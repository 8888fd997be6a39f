import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { ModelsReport, WorkspacePrices, WorkspacePricesChange } from '@recount/contract';
import type { PriceOverride } from '@recount/prices';
import { Command, InvalidArgumentError } from 'commander';
import type { ApiClient } from '../connection/api-client.ts';
import { addPlaceOptions, type PlaceOptions } from '../connection/place-options.ts';
import { withClient } from '../connection/with-client.ts';
import { type CliContext, note, print, printJson } from '../terminal/cli-context.ts';
import { CliError, UsageError } from '../terminal/cli-error.ts';
import { formatCountOf, formatUsd } from '../terminal/format-values.ts';
import { parseSince } from '../terminal/option-values.ts';
import { toPrintWidth } from '../terminal/print-width.ts';
import { toSingleLine, wrapToWidth } from '../terminal/text-width.ts';

interface PricesOptions extends PlaceOptions {
  currency?: string;
  all?: boolean;
  input?: number;
  output?: number;
  cacheRead?: number;
  cacheWrite?: number;
  from?: string;
  replace?: boolean;
  yes?: boolean;
}

interface DiffOptions {
  hosts?: boolean;
  at?: string;
  json?: boolean;
}

const REPRICE_HINT = 'New transcripts use these prices; `recount reprice` applies them to stored ones.';

const HELP = `
A file holds an array of prices in dollars per million tokens; a model's name may end in *:

  [{ "model": "house-model*", "startsAt": "2026-01-01", "inputUsdPerMillion": 1.5, "outputUsdPerMillion": 6 }]

cacheReadUsdPerMillion, cacheWrite5mUsdPerMillion and cacheWrite1hUsdPerMillion are 0.1, 1.25 and 2 times the input by
default; there are also webSearchUsdPerThousand and longContext ({ thresholdTokens, … }).

A server needs an API key with the scope admin for changes.

A newer price list without a newer recount: set RECOUNT_PRICE_FILE for API and workers to a path or an https:// URL of a
list of genai-prices (data.json) or LiteLLM (model_prices_and_context_window.json). It precedes the built-in list;
\`recount reprice\` applies it to stored transcripts, and \`recount usage --prices FILE\` takes it as well.

Examples:
  $ recount prices list --all --json | jq '.list[] | select(.model == "gpt-6.1-sol")'
  $ recount prices check prices.json
  $ recount prices check model_prices_and_context_window.json
  $ recount prices set house-model --input 4 --output 20 --from 2026-03-01
  $ recount prices set prices.json --currency EUR
  $ recount prices unset 'house-model*'
  $ recount prices diff model_prices_and_context_window.json`;

export function createPricesCommand(context: CliContext): Command {
  const prices = new Command('prices')
    .description('Show and set prices of the list and of the workspace')
    .addHelpText('after', HELP);
  addPlaceOptions(prices.command('list'))
    .description('Show the workspace’s own prices')
    .option('--all', 'also show the price list')
    .option('--json', 'print JSON')
    .action((options: PricesOptions) => listPrices(context, options));
  addPlaceOptions(prices.command('set'))
    .description('Set the price of a model, or add the prices in a file')
    .argument('[model or file]', 'name of a model, which may end in *; a file of JSON; - for stdin')
    .option('--input <usd>', 'dollars per million input tokens', dollars)
    .option('--output <usd>', 'dollars per million output tokens', dollars)
    .option(
      '--cache-read <usd>',
      'dollars per million tokens read from the cache (default: 0.1 times the input)',
      dollars,
    )
    .option('--cache-write <usd>', 'dollars per million tokens written to it (default: 1.25 times the input)', dollars)
    .option('--from <date>', 'the price applies from this date on (default: always)')
    .option('--currency <label>', 'what costs are called; nothing is converted')
    .option('--replace', 'the prices of the file replace all existing ones')
    .option('--yes', 'apply the prices to stored transcripts without asking')
    .action((file: string | undefined, options: PricesOptions) => setPrices(context, file, options));
  addPlaceOptions(prices.command('unset'))
    .description('Remove prices of the workspace')
    .argument('[model]', 'as `recount prices list` shows it')
    .option('--all', 'remove all prices')
    .action((model: string | undefined, options: PricesOptions) => unsetPrices(context, model, options));
  prices
    .command('check')
    .description('Check a file of prices, the workspace’s own or a price list, without setting them')
    .argument('<file>', 'JSON, or - for stdin; also a list of genai-prices or LiteLLM, by path or https:// URL')
    .action(async (file: string) => {
      const json = file === '-' || isUrl(file) ? undefined : await readJson(context, file, MAX_FOREIGN_CHARACTERS);
      if (isUrl(file) || isPriceList(json)) return await checkPriceFile(context, file);
      const overrides = await checkOverrides(file, json ?? (await readJson(context, file)));
      note(context, `${file}: ${formatCountOf(overrides.length, 'valid price')}.`);
    });
  prices
    .command('diff')
    .description('Compare the price list with a file of LiteLLM’s (model_prices_and_context_window.json)')
    .argument('<file>', 'JSON, or - for stdin')
    .option('--hosts', 'also the prices of other hosts, such as Azure and Bedrock')
    .option('--at <date>', 'rates of this date; default: the latest', (text) =>
      new Date(parseSince(text)).toISOString(),
    )
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExits with 1 if prices differ. What the file does not state is not compared.')
    .action((file: string, options: DiffOptions) => diffPrices(context, file, options));
  return prices;
}

async function diffPrices(context: CliContext, file: string, options: DiffOptions): Promise<void> {
  const [{ compareWithLiteLlm, createListPrices }, { formatComparison }] = await Promise.all([
    import('@recount/prices'),
    import('../prices/price-table.ts'),
  ]);
  const compareOptions = { timestamp: options.at, includesHosts: options.hosts };
  const content = await readJson(context, file, MAX_FOREIGN_CHARACTERS);
  const comparison = compareWithLiteLlm(content, createListPrices(), compareOptions);
  if (comparison === undefined) throw new CliError(`${file} is not a price list of LiteLLM.`);
  if (options.json) printJson(context, comparison);
  else for (const line of formatComparison(comparison, toPrintWidth(context))) print(context, line);
  if (comparison.differences.length > 0) context.exitCode = 1;
}

async function listPrices(context: CliContext, options: PricesOptions): Promise<void> {
  const prices = await withClient(context, options, (client) => send(client));
  if (options.json) {
    const { listKnownModels } = await import('@recount/prices');
    return printJson(context, options.all ? { ...prices, list: listKnownModels() } : prices);
  }
  const { formatPrices } = await import('../prices/price-table.ts');
  const layout = { withList: options.all ?? false, maxWidth: toPrintWidth(context) };
  for (const line of await formatPrices(prices, layout)) print(context, line);
}

function dollars(text: string): number {
  const value = Number(text);
  if (!/^\d+(\.\d+)?$/.test(text)) throw new InvalidArgumentError('Give dollars, such as 1.5.');
  return value;
}

async function setPrices(context: CliContext, given: string | undefined, options: PricesOptions): Promise<void> {
  const { currency, input, output } = options;
  const isModel = input !== undefined || output !== undefined;
  if (given === undefined && currency === undefined)
    throw new UsageError('Pass a model with --input and --output, a file, or --currency.');
  if (isModel && (given === undefined || input === undefined || output === undefined)) {
    throw new UsageError('A price needs a model, --input and --output.');
  }
  const added =
    given === undefined
      ? undefined
      : isModel
        ? await checkOverrides('the price', [toOverride(given, options)])
        : await readOverrides(context, given);
  await withClient(context, options, async (client) => {
    const kept =
      options.replace || added === undefined
        ? []
        : (await send(client)).overrides.filter((old) => !added.some((price) => isSame(price, old)));
    const effects = isModel && given !== undefined ? await readEffects(client, given, options) : [];
    const maxWidth = toPrintWidth({ ...context, stdout: context.stderr });
    for (const line of effects.flatMap((effect) => wrapToWidth(effect, maxWidth))) note(context, line);
    const change: WorkspacePricesChange = {
      ...(added !== undefined && { overrides: [...kept, ...added] }),
      ...(currency !== undefined && { currency_label: currency }),
    };
    const { overrides, currency_label: label } = await send(client, change);
    note(context, `${formatCountOf(overrides.length, 'custom price')}; currency ${label}.`);
  });
  if (added !== undefined) await offerReprice(context, options, options.replace ? [] : added.map(({ model }) => model));
}

const isSame = (a: NamedPrice, b: NamedPrice): boolean =>
  a.model === b.model && (a.startsAt ?? '') === (b.startsAt ?? '');

interface NamedPrice {
  model: string;
  startsAt?: string | undefined;
}

const toOverride = (model: string, { input, output, cacheRead, cacheWrite, from }: PricesOptions) => ({
  model,
  inputUsdPerMillion: input,
  outputUsdPerMillion: output,
  ...(cacheRead !== undefined && { cacheReadUsdPerMillion: cacheRead }),
  ...(cacheWrite !== undefined && { cacheWrite5mUsdPerMillion: cacheWrite, cacheWrite1hUsdPerMillion: cacheWrite }),
  ...(from !== undefined && { startsAt: from }),
});

/** The effect of the price on the stored responses of the model. */
async function readEffects(client: ApiClient, name: string, options: PricesOptions): Promise<string[]> {
  const { input = 0, output = 0, cacheRead, cacheWrite, from } = options;
  const report = await client.request<ModelsReport>('/v1/analytics/models', { query: { from, limit: 10_000 } });
  const { estimatePriceEffect } = await import('@recount/contract/price-effect');
  const price = {
    model: name,
    inputUsdPerMillion: input,
    outputUsdPerMillion: output,
    cacheReadUsdPerMillion: cacheRead,
    cacheWrite5mUsdPerMillion: cacheWrite,
  };
  const effects = estimatePriceEffect(price, report?.rows ?? []);
  if (effects.length === 0) return [`No stored response uses ${name}: the price is for future ones.`];
  return effects.map(
    ({ model, responses, tokens, costUsd, estimatedUsd }) =>
      `${model}: ${formatCountOf(responses, 'response')}, ${formatCountOf(tokens, 'token')}, ${formatUsd(costUsd)} now, about ${formatUsd(estimatedUsd)} at this price`,
  );
}

/** Applies the prices of the models, or of all if there are none, to stored usage if the user agrees. */
async function offerReprice(context: CliContext, options: PricesOptions, model: string[]): Promise<void> {
  if (!options.yes && context.stdin.isTTY !== true) return note(context, REPRICE_HINT);
  const { confirm } = await import('../terminal/confirm.ts');
  if (!(await confirm(context, 'Apply the prices to stored transcripts?', options.yes ?? false)))
    return note(context, REPRICE_HINT);
  const { MAX_REPRICED_MODELS } = await import('@recount/contract');
  const { reprice } = await import('./reprice.ts');
  await reprice(context, { ...options, model: model.length > MAX_REPRICED_MODELS ? [] : model });
}

async function unsetPrices(context: CliContext, model: string | undefined, options: PricesOptions): Promise<void> {
  if ((model === undefined) === (options.all !== true)) throw new UsageError('Pass a model, or --all.');
  const { left, removed } = await withClient(context, options, async (client) => {
    const { overrides } = await send(client);
    const kept = overrides.filter((override) => model !== undefined && override.model !== model);
    if (kept.length === overrides.length && model !== undefined) {
      throw new CliError(`The workspace has no price for ${model}; \`recount prices list\` shows those that it has.`);
    }
    await send(client, { overrides: kept });
    return { left: kept.length, removed: overrides.length - kept.length };
  });
  note(context, `${removed} removed, ${left} left. ${REPRICE_HINT}`);
}

/** Changes the given prices, and returns the resulting prices. */
async function send(client: ApiClient, change?: WorkspacePricesChange): Promise<WorkspacePrices> {
  const request = change === undefined ? {} : { method: 'PUT' as const, json: change };
  const prices = await client.request<WorkspacePrices>('/v1/prices', request);
  if (prices === undefined) throw new CliError(`${client.place.url} does not support prices. Is it an older version?`);
  return prices;
}

const isUrl = (file: string): boolean => /^[a-z][a-z0-9+.-]+:\/\//i.test(file);

/** The workspace's own prices are an array of objects with the name of a model. */
const isPriceList = (json: unknown): boolean =>
  Array.isArray(json)
    ? json.some((entry) => typeof entry === 'object' && entry !== null && 'models' in entry)
    : typeof json === 'object' && json !== null;

/** Says what RECOUNT_PRICE_FILE would take from a file, and names each invalid entry; exits with 1 if there is one. */
async function checkPriceFile(context: CliContext, file: string): Promise<void> {
  const { readPriceFile } = await import('../prices/price-file.ts');
  const read = await readPriceFile(context, file);
  if (read === undefined) throw new UsageError('Pass a file.');
  const { format, modelCount, date, version, issues, issueCount } = read;
  for (const { path, message } of issues) note(context, `  ${toSingleLine(path)} ${message}`);
  if (issueCount > issues.length) note(context, `  … and ${issueCount - issues.length} more`);
  const invalid = formatCountOf(issueCount, 'invalid figure');
  note(context, `${file}: ${format}, ${formatCountOf(modelCount, 'model')} priced by tokens, ${invalid}.`);
  note(context, `It dates from ${date ?? 'an unknown day'}. Price version: ${version}`);
  if (issueCount > 0) context.exitCode = 1;
}

async function readOverrides(context: CliContext, file: string): Promise<PriceOverride[]> {
  return await checkOverrides(file, await readJson(context, file));
}

async function checkOverrides(file: string, json: unknown): Promise<PriceOverride[]> {
  const { parsePriceOverrides } = await import('@recount/prices');
  const parsed = parsePriceOverrides(json);
  if ('overrides' in parsed) return parsed.overrides;
  const issues = parsed.issues.map(({ path, message }) => `  ${path || 'the file'} ${message}`);
  throw new CliError([`${file} is not valid:`, ...issues].join('\n'));
}

async function readJson(context: CliContext, file: string, maxCharacters = MAX_FILE_CHARACTERS): Promise<unknown> {
  let text: string;
  try {
    text =
      file === '-'
        ? await readAll(context.stdin, maxCharacters)
        : await readFile(resolve(context.workingDirectory, file), 'utf8');
  } catch (error) {
    throw new CliError(`Cannot read ${file}: ${(error as Error).message}`);
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new CliError(`${file} is not JSON.`);
  }
}

const MAX_FILE_CHARACTERS = 1024 * 1024;
/** LiteLLM's file has about 2 MB. */
const MAX_FOREIGN_CHARACTERS = 64 * 1024 * 1024;

async function readAll(stream: NodeJS.ReadableStream, maxCharacters: number): Promise<string> {
  let text = '';
  for await (const chunk of stream) {
    text += chunk;
    if (text.length > maxCharacters) throw new Error('it is larger than a list of prices');
  }
  return text;
}
