import type { AssemblySink } from './assembly.ts';
import { setUsageColumns } from './message-rows.ts';
import { joinProgress, priceResponse, toApiResponses } from './open-response.ts';
import type { PriceTable } from './price-table.ts';
import type { HeldItem } from './response-window.ts';
import type { TranscriptTotals } from './transcript-totals.ts';

interface EmissionContext {
  prices: PriceTable;
  totals: TranscriptTotals;
  sink: AssemblySink;
  /** Only API responses are needed. */
  isUsageOnly: boolean;
}

/**
 * Emits an item that no later line can change (its message with its usage, and its API responses, priced and added to
 * the totals).
 */
export function emitItem(
  { message, progress }: HeldItem,
  { prices, totals, sink, isUsageOnly }: EmissionContext,
): void {
  const response = message?.response;
  const price = response && priceResponse(response, prices);
  if (message !== undefined && !isUsageOnly) {
    if (response !== undefined) setUsageColumns(message.row, response, price);
    sink.addMessage(message.row);
  }
  const isMetered = response?.usage !== undefined || message?.row.tokens_in != null;
  if (message?.row.message_type === 'assistant' && !isMetered) totals.addUnmetered();
  const told = response && progress ? joinProgress(response, progress) : (response ?? progress);
  if (told === undefined) return;
  const toldPrice = told === response ? price : priceResponse(told, prices);
  for (const row of toApiResponses(told, toldPrice, prices)) {
    totals.addResponse(row);
    sink.addApiResponse(row);
  }
}
