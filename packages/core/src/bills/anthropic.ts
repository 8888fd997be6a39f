import type { JsonObject } from '../lines/json.ts';
import { readObject, readObjects } from '../records/fields.ts';
import {
  type AnsweredRow,
  type BillRow,
  DEFAULT_WORKSPACE,
  NO_TOKENS,
  readAmount,
  readCountOf,
  readDay,
  readLabel,
  toScope,
  toTimePiece,
} from './bill.ts';

/**
 * Pages of `GET /v1/organizations/cost_report` and `/v1/organizations/usage_report/messages`. Amounts are in cents.
 * https://platform.claude.com/docs/en/manage-claude/usage-cost-api
 */
export function readAnthropicPage(page: JsonObject): AnsweredRow[] {
  const buckets = readObjects(page.data);
  // The default workspace has no id, and neither has a line for all workspaces.
  const isByWorkspace = buckets.some(({ results }) =>
    readObjects(results).some(({ workspace_id: id }) => readLabel(id) !== null),
  );
  const names = ['context_window', 'inference_geo'].filter((name) =>
    buckets.some(({ results }) => readObjects(results).some((result) => readLabel(result[name]) !== null)),
  );
  return buckets.flatMap((bucket) => {
    const day = readDay(bucket.starting_at);
    return readObjects(bucket.results).map((result) => {
      const workspace = readLabel(result.workspace_id) ?? (isByWorkspace ? DEFAULT_WORKSPACE : null);
      const piece = toTimePiece(bucket.starting_at, bucket.ending_at);
      if ('amount' in result) return { ...toCost(day, result, workspace), ...piece };
      const groups = { names: names.join(' '), values: JSON.stringify(readAll(result, names)) };
      return { ...toUsage(day, result, workspace), ...piece, groups };
    });
  });
}

const DIMENSIONS = ['workspace_id', 'api_key_id', 'model', 'service_tier'] as const;
const COST_DIMENSIONS = [
  ...DIMENSIONS,
  ...(['context_window', 'inference_geo', 'description', 'cost_type', 'token_type'] as const),
] as const;

const WINDOWS = [null, '0-200k', '200k-1M'];
const REGIONS = [null, 'global', 'us', 'not_available'];
const WITHOUT_GROUPS = ',null,null]';

const readAll = (result: JsonObject, names: readonly string[]) => names.map((name) => result[name] ?? null);

const toCost = (day: string, result: JsonObject, workspace: string | null): BillRow => ({
  day,
  kind: 'cost',
  model: readLabel(result.model),
  lineItem: readLabel(result.description) ?? readLabel(result.cost_type),
  scope: toScope(workspace),
  serviceTier: readLabel(result.service_tier),
  amountUsd: readAmount(result.amount, result.currency) / 100,
  ...NO_TOKENS,
  identity: JSON.stringify(['cost', day, ...readAll(result, COST_DIMENSIONS)]),
});

function toUsage(day: string, result: JsonObject, workspace: string | null): BillRow {
  const writes = readObject(result.cache_creation) ?? {};
  return {
    day,
    kind: 'usage',
    model: readLabel(result.model),
    lineItem: null,
    scope: toScope(workspace, result.api_key_id),
    serviceTier: readLabel(result.service_tier),
    amountUsd: null,
    inputTokens: readCountOf(result.uncached_input_tokens),
    outputTokens: readCountOf(result.output_tokens),
    cacheReadTokens: readCountOf(result.cache_read_input_tokens),
    cacheWriteTokens: readCountOf(writes.ephemeral_1h_input_tokens) + readCountOf(writes.ephemeral_5m_input_tokens),
    // Tokens by context window or region are added up. The end is the one that a report without these groups always had.
    identity: JSON.stringify(['usage', day, ...readAll(result, DIMENSIONS), null, null]),
  };
}

/** Identities under which earlier versions stored the tokens of this line, by context window and region. */
export function toEarlierIdentities({ kind, identity }: Pick<BillRow, 'kind' | 'identity'>): string[] {
  if (kind !== 'usage' || !identity.endsWith(WITHOUT_GROUPS)) return [];
  const start = identity.slice(0, -WITHOUT_GROUPS.length);
  const ends = WINDOWS.flatMap((window) => REGIONS.map((region) => `,${JSON.stringify([window, region]).slice(1)}`));
  return ends.filter((end) => end !== WITHOUT_GROUPS).map((end) => start + end);
}
