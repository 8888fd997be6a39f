import {
  type ApiResponse,
  COST_UNITS_PER_USD,
  DEFAULT_MAX_INLINE_CONTENT_BYTES,
  type JsonValue,
  type ToolCall,
  type TranscriptBatch,
  type TranscriptStats,
  type TranscriptSummary,
} from '@recount/core';

/** Session ids and identifiers have at most 512 UTF-16 units; a key combines two of them. */
const MAX_KEY_LENGTH = 1100;
/** Postgres allows 2,704 bytes in a B-tree entry, which also contains the workspace and the agent. */
const MAX_INDEXED_KEY_BYTES = 2500;
const MAX_DETAILS_LENGTH = 8192;
const MAX_TIMESTAMP_LENGTH = 24;

const COUNTS = [
  'tokens_in',
  'tokens_out',
  'cache_read',
  'cache_write',
  'cache_write_5m',
  'cache_write_1h',
  'thinking_tokens',
  'web_search_requests',
  'web_fetch_requests',
] as const satisfies (keyof ApiResponse)[];
const COSTS = [
  'cost_input_usd',
  'cost_output_usd',
  'cost_cache_read_usd',
  'cost_cache_write_usd',
  'cost_web_search_usd',
] as const satisfies (keyof ApiResponse)[];

export interface RowChecker {
  addBatch(batch: TranscriptBatch): void;
  /** Compares the summary with the rows seen. */
  finish(summary: TranscriptSummary): void;
  readonly rowCount: number;
}

/**
 * Checks what must hold for the rows of any input. Figures are counts, keys exist and can be indexed, Postgres accepts
 * texts, totals are the sums of the rows. Throws an Error that names the field, not its value.
 */
export function createRowChecker(): RowChecker {
  const sums = { responses: 0, unfinalised: 0, unpriced: 0, costUnits: 0 };
  const counts = Object.fromEntries(COUNTS.map((name) => [name, 0])) as Record<(typeof COUNTS)[number], number>;
  const messageIds = new Set<string>();
  /** Message ids of blocks and calls, whose messages may come later. */
  const namedIds = new Set<string>();
  let rowCount = 0;

  const addResponse = (response: ApiResponse): void => {
    checkResponse(response);
    sums.responses += 1;
    if (response.is_unfinalised) sums.unfinalised += 1;
    if (response.price_basis === 'unpriced') sums.unpriced += 1;
    sums.costUnits += toUnits(response.cost_usd);
    for (const name of COUNTS) counts[name] += response[name];
    if (response.message_id !== null) check(messageIds.has(response.message_id), 'ApiResponse.message_id');
  };

  return {
    get rowCount() {
      return rowCount;
    },
    addBatch(batch) {
      for (const message of batch.messages) {
        check(message.ordinal === messageIds.size, 'TranscriptMessage.ordinal');
        messageIds.add(message.id);
      }
      for (const block of batch.contentBlocks) {
        namedIds.add(block.message_id);
        for (const name of ['content_text', 'thinking_text', 'result_text'] as const) {
          const isBounded = Buffer.byteLength(block[name] ?? '') <= DEFAULT_MAX_INLINE_CONTENT_BYTES;
          check(isBounded, `ParsedContentBlock.${name}: its length`);
        }
      }
      for (const response of batch.apiResponses) addResponse(response);
      for (const call of batch.toolCalls) {
        checkToolCall(call);
        namedIds.add(call.message_id);
      }
      for (const event of batch.events) {
        checkKey(event.event_key, 'SessionEvent.event_key');
        checkTimestamp(event.timestamp, 'SessionEvent.timestamp');
        check(JSON.stringify(event.details).length <= MAX_DETAILS_LENGTH, 'SessionEvent.details: their length');
      }
      const { summary: _summary, checkpoint: _checkpoint, ...rowsByName } = batch;
      for (const [name, rows] of Object.entries(rowsByName)) {
        rowCount += rows.length;
        for (const row of rows) checkStorable(row, name);
      }
      check(!('polluted' in {}), 'Object.prototype');
    },
    finish({ stats, metadata }) {
      for (const id of namedIds) check(messageIds.has(id), 'message_id of a block or call');
      checkStorable({ stats, metadata }, 'summary');
      checkTotals(stats, { ...sums, ...counts, messages: messageIds.size });
    },
  };
}

function check(isRight: boolean, what: string): asserts isRight {
  if (!isRight) throw new Error(`Violated: ${what}`);
}

const isCount = (value: number | null): boolean => value !== null && Number.isSafeInteger(value) && value >= 0;
const isAmount = (value: number | null): boolean => value === null || (Number.isFinite(value) && value >= 0);
const toUnits = (usd: number | null): number => Math.round((usd ?? 0) * COST_UNITS_PER_USD);

function checkKey(key: string, what: string): void {
  check(key !== '' && key.length <= MAX_KEY_LENGTH, `${what}: its length`);
}

function checkTimestamp(timestamp: string | null, what: string): void {
  if (timestamp === null) return;
  check(timestamp.length === MAX_TIMESTAMP_LENGTH && !Number.isNaN(Date.parse(timestamp)), what);
}

function checkResponse(response: ApiResponse): void {
  checkKey(response.response_key, 'ApiResponse.response_key');
  check(Buffer.byteLength(response.response_key) <= MAX_INDEXED_KEY_BYTES, 'ApiResponse.response_key: its bytes');
  checkTimestamp(response.timestamp, 'ApiResponse.timestamp');
  for (const name of COUNTS) check(isCount(response[name]), `ApiResponse.${name}`);
  check(response.estimated_tokens_out === null || isCount(response.estimated_tokens_out), 'estimated_tokens_out');
  for (const name of [...COSTS, 'cost_usd', 'reported_cost_usd'] as const) {
    check(isAmount(response[name]), `ApiResponse.${name}`);
  }
  if (response.cost_input_usd === null) return;
  const parts = COSTS.reduce((sum, name) => sum + toUnits(response[name]), 0);
  check(Math.abs(parts - toUnits(response.cost_usd)) <= 1e-9 * parts, 'ApiResponse.cost_usd: the sum of its parts');
}

function checkToolCall(call: ToolCall): void {
  checkKey(call.call_key, 'ToolCall.call_key');
  checkTimestamp(call.timestamp, 'ToolCall.timestamp');
  check(isCount(call.input_bytes), 'ToolCall.input_bytes');
  check(call.output_bytes === null || isCount(call.output_bytes), 'ToolCall.output_bytes');
  check(call.duration_ms === null || isCount(call.duration_ms), 'ToolCall.duration_ms');
}

function checkTotals(stats: TranscriptStats, sums: Record<string, number>): void {
  const pairs: [keyof TranscriptStats, number | undefined][] = [
    ['total_messages', sums.messages],
    ['tokens_in', sums.tokens_in],
    ['tokens_out', sums.tokens_out],
    ['cache_read', sums.cache_read],
    ['cache_write', sums.cache_write],
    ['web_search_count', sums.web_search_requests],
    ['api_response_count', sums.responses],
    ['unfinalised_count', sums.unfinalised],
    ['unpriced_count', sums.unpriced],
  ];
  // Null if there were answers without any known usage.
  const isUnknown = stats.tokens_in === null && stats.api_response_count === 0;
  for (const [name, sum] of pairs) {
    const isSum = (isUnknown ? (stats[name] ?? 0) : stats[name]) === sum;
    check(isSum, `TranscriptStats.${name}: the sum of the rows`);
  }
  const isUnpriced = stats.api_response_count > 0 && stats.unpriced_count === stats.api_response_count;
  check(
    (stats.cost_estimate_usd === null) === (isUnpriced || isUnknown),
    'cost_estimate_usd: null where nothing has a price',
  );
  check(toUnits(stats.cost_estimate_usd) === toUnits((sums.costUnits ?? 0) / COST_UNITS_PER_USD), 'cost_estimate_usd');
}

/** If the row's JSON has no escape of NUL or of half a surrogate pair, no string contains one. */
function checkStorable(row: unknown, what: string): void {
  const json = JSON.stringify(row);
  if (json.includes('\\u0000') || /\\ud[89a-f]/.test(json)) checkStrings(JSON.parse(json) as JsonValue, what);
}

function checkStrings(value: JsonValue, what: string): void {
  if (typeof value === 'string') check(value.isWellFormed() && !value.includes('\0'), `${what}: a text for Postgres`);
  if (typeof value !== 'object' || value === null) return;
  for (const [key, child] of Object.entries(value)) {
    checkStrings(key, what);
    checkStrings(child, what);
  }
}
