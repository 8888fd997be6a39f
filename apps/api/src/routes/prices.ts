import {
  type WorkspacePrices,
  type WorkspacePricesChange,
  workspacePricesChangeSchema,
  workspacePricesSchema,
} from '@recount/contract';
import { changePriceSettings, type PriceSettings, type PriceSettingsChange, readPriceSettings } from '@recount/ingest';
import type { PriceSource } from '@recount/prices';
import type { ApiApp, ApiDependencies } from '../api-dependencies.ts';
import { actorOf, workspaceOf } from '../plugins/authentication.ts';
import { addJsonRoutes } from '../plugins/json-bodies.ts';
import { ProblemError } from '../problems/problem-error.ts';

/** Far more than the overrides of a workspace may take. */
const MAX_BODY_BYTES = 1024 * 1024;

const GET_PRICES = {
  config: { scope: 'read', reveals: 'nothing' },
  schema: {
    operationId: 'getPrices',
    summary: 'Read the prices of the workspace',
    description: 'Its overrides of the list prices, its currency label, and which lists hold.',
    tags: ['operations'],
    response: { 200: workspacePricesSchema },
  },
} as const;

const PUT_PRICES = {
  config: { scope: 'admin', reveals: 'nothing' },
  schema: {
    operationId: 'putPrices',
    summary: 'Set the prices of the workspace',
    description: 'They apply to new data. Stored costs do not change until `recount reprice`.',
    tags: ['operations'],
    body: workspacePricesChangeSchema,
    response: { 200: workspacePricesSchema },
  },
} as const;

export async function addPriceRoutes(
  parent: ApiApp,
  { database, priceSource }: Pick<ApiDependencies, 'database' | 'priceSource'>,
): Promise<void> {
  await addJsonRoutes(parent, { maxBytes: MAX_BODY_BYTES }, (app) => {
    app.get('/v1/prices', GET_PRICES, async (request) =>
      toAnswer(await readPriceSettings(database.database, workspaceOf(request), priceSource?.file), priceSource),
    );

    app.put('/v1/prices', PUT_PRICES, async (request) => {
      const change = await toChange(request.body);
      const file = priceSource?.file;
      const settings = await changePriceSettings({ database }, workspaceOf(request), change, actorOf(request), file);
      return toAnswer(settings, priceSource);
    });
  });
}

function toAnswer(
  { currencyLabel, priceVersion, priceDate, overrides }: PriceSettings,
  source: PriceSource | undefined,
): WorkspacePrices {
  return {
    currency_label: currencyLabel,
    price_version: priceVersion,
    price_date: priceDate,
    price_file: source === undefined ? null : toPriceFile(source),
    overrides,
  };
}

function toPriceFile({ location, file, error }: PriceSource): WorkspacePrices['price_file'] {
  return {
    location,
    format: file?.format ?? null,
    date: file?.date ?? null,
    model_count: file?.modelCount ?? 0,
    invalid_count: file?.issueCount ?? 0,
    invalid: file?.issues ?? [],
    error: error ?? null,
  };
}

/** Rejects with ProblemError `invalid-request` that says what is wrong with the override. */
async function toChange({
  currency_label: currencyLabel,
  overrides,
}: WorkspacePricesChange): Promise<PriceSettingsChange> {
  if (overrides === undefined) return { currencyLabel };
  const { parsePriceOverrides } = await import('@recount/prices');
  const parsed = parsePriceOverrides(overrides);
  if ('overrides' in parsed) return { currencyLabel, overrides: parsed.overrides };
  const errors = parsed.issues.map(({ path, message }) => ({
    location: 'body' as const,
    field: `overrides${path}`,
    message,
  }));
  throw new ProblemError('invalid-request', 'The overrides are not valid', { extensions: { errors } });
}
