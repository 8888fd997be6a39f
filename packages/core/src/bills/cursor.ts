import type { JsonObject } from '../lines/json.ts';
import { readObject, readObjects, toNumber } from '../records/fields.ts';
import { type AnsweredRow, readAmount, readCountOf, readDay, readLabel } from './bill.ts';

/**
 * Pages of `POST /teams/filtered-usage-events`, each event one request. They are added up by day, model and kind, so a
 * report must have whole days. https://cursor.com/docs/account/teams/admin-api
 */
export function readCursorPage(page: JsonObject): AnsweredRow[] {
  return readObjects(page.usageEvents).map((event) => {
    const ms = toNumber(event.timestamp);
    const day = readDay(ms === undefined ? event.timestamp : ms / 1000);
    const tokens = readObject(event.tokenUsage) ?? {};
    const kind = readLabel(event.kind) ?? readLabel(event.kindLabel);
    const model = readLabel(event.model);
    return {
      day,
      kind: 'cost',
      model,
      lineItem: kind,
      scope: null,
      serviceTier: null,
      amountUsd: readDollars(event, tokens),
      inputTokens: readCountOf(tokens.inputTokens),
      outputTokens: readCountOf(tokens.outputTokens),
      cacheReadTokens: readCountOf(tokens.cacheReadTokens),
      cacheWriteTokens: readCountOf(tokens.cacheWriteTokens),
      identity: JSON.stringify([day, model, kind]),
      piece: JSON.stringify(event),
    };
  });
}

/** The charge; `-` for requests that a plan includes. */
function readDollars(event: JsonObject, tokens: JsonObject): number {
  if (event.chargedCents !== undefined) return readAmount(event.chargedCents, undefined) / 100;
  if (typeof event.usageBasedCosts === 'string') {
    const text = event.usageBasedCosts.replace('$', '').trim();
    return text === '-' || text === '' ? 0 : readAmount(text, undefined);
  }
  return tokens.totalCents === undefined ? 0 : readAmount(tokens.totalCents, undefined) / 100;
}
