export type { ListedModel } from './list-prices.ts';
export { listKnownModels } from './list-prices.ts';
export type { ModelMaker } from './model-name.ts';
export type { AppliedRates, ModelPriceTable, Multipliers } from './model-price-table.ts';
export { createListPrices, createPriceTable } from './model-price-table.ts';
export type { PriceOverrideIssue } from './parse-price-overrides.ts';
export { parsePriceOverrides } from './parse-price-overrides.ts';
export type { OverrideRates, PriceOverride } from './price-overrides.ts';
export type { RateBand, RatePeriod, Rates } from './rates.ts';
