import { COST_UNITS_PER_USD, type LocalClock, toUsageFigures, type UsageFigures } from '@recount/core';
import type { UnpricedReason } from '@recount/prices';
import type { LedgerRow, LocalLedger, SharedCopy } from './local-ledger.ts';
import { createPeriodNames, type TimeKey } from './period-names.ts';
import { addResponse, createSums, type GroupSums, toUnits } from './usage-figures.ts';

const USAGE_KEYS = ['hour', 'day', 'week', 'month', 'agent', 'project', 'git_branch', 'model', 'session'] as const;
export type UsageKey = (typeof USAGE_KEYS)[number];
const TIME_KEYS = new Set<string>(['hour', 'day', 'week', 'month']);

/** Which responses count. Those without a time match no time range. */
export interface UsageFilter {
  /** Milliseconds since 1970. */
  fromMs?: number | undefined;
  /** Exclusive. */
  toMs?: number | undefined;
  /** Full names; any of them may match. */
  agent?: readonly string[] | undefined;
  project?: readonly string[] | undefined;
  model?: readonly string[] | undefined;
  session?: string | undefined;
}

interface UsageRow {
  sessions: number;
  own: UsageFigures;
  /** Copies of responses that are credited to another session. */
  shared: { responses: number };
}

/** The terms that a response's price depends on, besides its model. */
interface UnpricedTerms {
  model: string;
  service_tier: string | null;
  speed: string | null;
  has_web_search: boolean;
}

export interface UsageReport {
  /** Figures with the values of the keys; sorted by time, then by cost, highest first. */
  rows: (UsageRow & Partial<Record<UsageKey, string | null>>)[];
  totals: UsageRow;
  /** Models without a price. */
  unpricedModels: string[];
  /** Models that have a price, but not at this tier, at this speed, or for searches. */
  unpricedTerms: UnpricedTerms[];
  /** The day of the newest price list, ISO 8601. */
  priceDate: string;
  /** Sessions that began in the requested time and whose usage is partly unknown. */
  sessions: { without_usage: number; output_only: number };
  /** Number of responses without a time. */
  withoutTimestamp: number;
  /**
   * Responses whose copies disagree, with their cost as it is counted, and by the cheapest and the most expensive
   * copies.
   */
  disagreements: { responses: number; cost_usd: number; lowest_cost_usd: number; highest_cost_usd: number };
}

/** Groups the ledger's responses by the keys and sums them up. */
export function reportUsage(
  ledger: LocalLedger,
  keys: readonly UsageKey[],
  filter: UsageFilter,
  clock: LocalClock,
): UsageReport {
  const totals = createSums();
  const { groupOf, groups } = createGroups(keys, clock);
  const unpricedModels = new Set<string>();
  const unpricedTerms = new Map<string, UnpricedTerms>();
  let withoutTimestamp = 0;
  const disputed: LedgerRow[] = [];
  const anyTime = { ...filter, fromMs: undefined, toMs: undefined };
  for (const row of ledger.rows) {
    if (row.timestampMs === null && passesFilter(row, anyTime)) withoutTimestamp++;
    if (!passesFilter(row, filter)) continue;
    addResponse(totals, row);
    addResponse(groupOf(row), row);
    if (row.disagreement !== undefined) disputed.push(row);
    if (row.price.costUsd !== null) continue;
    if (row.unpriced == null || row.unpriced.kind === 'model') unpricedModels.add(row.model ?? 'no model');
    else addTerms(unpricedTerms, row, row.unpriced);
  }
  for (const copy of ledger.shared) {
    if (!passesFilter(copy, filter)) continue;
    for (const sums of [totals, groupOf(copy)]) {
      sums.shared++;
      sums.sessions.add(copy.sessionId);
    }
  }
  return {
    rows: toSortedRows(keys, groups),
    totals: toRow(totals),
    unpricedModels: [...unpricedModels].sort(),
    unpricedTerms: [...unpricedTerms.entries()]
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([, terms]) => terms),
    priceDate: ledger.priceDate,
    sessions: countIncomplete(ledger, filter),
    withoutTimestamp,
    disagreements: sumDisagreements(disputed),
  };
}

/** Further ones are left out. */
const MAX_TERMS = 100;

/** Names what has no price (the tier, the speed or the searches, and not the rest). */
function addTerms(terms: Map<string, UnpricedTerms>, { model }: LedgerRow, reason: UnpricedReason): void {
  const named = {
    model: model ?? 'no model',
    service_tier: reason.kind === 'service-tier' ? reason.name : null,
    speed: reason.kind === 'speed' ? reason.name : null,
    has_web_search: reason.kind === 'web-search',
  };
  if (terms.size < MAX_TERMS) terms.set(JSON.stringify(Object.values(named)), named);
}

interface Group {
  values: readonly (string | null)[];
  sums: GroupSums;
}

/** Sums by the values of the keys; `groupOf` finds or creates the sums of a row. */
function createGroups(
  keys: readonly UsageKey[],
  clock: LocalClock,
): { groups: ReadonlyMap<string | null, Group>; groupOf: (row: SharedCopy) => GroupSums } {
  const readers = keys.map((key) => createKeyReader(key, clock));
  const groups = new Map<string | null, Group>();
  const groupOf = (row: SharedCopy): GroupSums => {
    const values = readers.map((read) => read(row));
    const id = values.length === 1 ? (values[0] ?? null) : JSON.stringify(values);
    let group = groups.get(id);
    if (group === undefined) {
      group = { values, sums: createSums() };
      groups.set(id, group);
    }
    return group.sums;
  };
  return { groups, groupOf };
}

/** By time, then cost, and finally by id, because threads deliver the ledger's rows in any order. */
function toSortedRows(keys: readonly UsageKey[], groups: ReadonlyMap<string | null, Group>): UsageReport['rows'] {
  const sorted = [...groups].sort(
    ([oneId, one], [otherId, other]) =>
      compareTimes(keys, one.values, other.values) ||
      other.sums.usage.cost_units - one.sums.usage.cost_units ||
      ((oneId ?? '') < (otherId ?? '') ? -1 : 1),
  );
  return sorted.map(([, { values, sums }]) => ({
    ...Object.fromEntries(keys.map((key, index) => [key, values[index] ?? null])),
    ...toRow(sums),
  }));
}

function countIncomplete(ledger: LocalLedger, filter: UsageFilter): UsageReport['sessions'] {
  const lacking = ledger.incomplete.filter(({ agent, firstTimestampMs: timestampMs, ...session }) =>
    passesFilter(
      { ...session, agent: agent ?? '', timestampMs, gitBranch: null, isSubagent: false, model: null },
      filter,
    ),
  );
  return {
    without_usage: lacking.filter(({ lacks }) => lacks === 'usage').length,
    output_only: lacking.filter(({ lacks }) => lacks === 'input').length,
  };
}

function sumDisagreements(rows: readonly LedgerRow[]): UsageReport['disagreements'] {
  const sumUsd = (toUsd: (row: LedgerRow) => number | null): number =>
    rows.reduce((units, row) => units + toUnits(toUsd(row)), 0) / COST_UNITS_PER_USD;
  return {
    responses: rows.length,
    cost_usd: sumUsd(({ price }) => price.costUsd),
    lowest_cost_usd: sumUsd(({ disagreement }) => disagreement?.lowestCostUsd ?? null),
    highest_cost_usd: sumUsd(({ disagreement }) => disagreement?.highestCostUsd ?? null),
  };
}

export function passesFilter(row: SharedCopy, { fromMs, toMs, agent, project, model, session }: UsageFilter): boolean {
  const { timestampMs } = row;
  if (fromMs !== undefined && (timestampMs === null || timestampMs < fromMs)) return false;
  if (toMs !== undefined && (timestampMs === null || timestampMs >= toMs)) return false;
  if (agent?.includes(row.agent) === false) return false;
  if (project !== undefined && (row.project === null || !project.includes(row.project))) return false;
  if (model !== undefined && (row.model === null || !model.includes(row.model))) return false;
  return session === undefined || row.sessionId === session;
}

function createKeyReader(key: UsageKey, clock: LocalClock): (row: SharedCopy) => string | null {
  switch (key) {
    case 'agent':
      return (row) => row.agent;
    case 'project':
      return (row) => row.project;
    case 'git_branch':
      return (row) => row.gitBranch;
    case 'model':
      return (row) => row.model;
    case 'session':
      return (row) => row.sessionId;
    default: {
      const toPeriodName = createPeriodNames(key satisfies TimeKey, clock);
      return ({ timestampMs }) => (timestampMs === null ? null : toPeriodName(timestampMs));
    }
  }
}

/** Rows without a time come last. */
function compareTimes(
  keys: readonly UsageKey[],
  one: readonly (string | null)[],
  other: readonly (string | null)[],
): number {
  for (const [index, key] of keys.entries()) {
    if (!TIME_KEYS.has(key)) continue;
    const [value, otherValue] = [one[index] ?? '~', other[index] ?? '~'];
    // Two hours have one name when clocks are set back; the one with the larger offset is the earlier.
    const momentsApart = key === 'hour' ? Date.parse(value) - Date.parse(otherValue) : 0;
    if (momentsApart) return momentsApart;
    if (value !== otherValue) return value < otherValue ? -1 : 1;
  }
  return 0;
}

const toRow = (sums: GroupSums): UsageRow => ({
  sessions: sums.sessions.size,
  own: toUsageFigures(sums.usage),
  shared: { responses: sums.shared },
});
