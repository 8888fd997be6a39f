import {
  type ComparedCopy,
  type CopyDisagreement,
  CREDIT_ORDER,
  compareCopies,
  FIGURE_ORDER,
  outranks,
  type Price,
  toComparison,
  UNKNOWN_MODEL,
  type Usage,
} from '@recount/core';
import { createPriceTable, type ModelPriceTable, type PriceFile, type UnpricedReason } from '@recount/prices';
import type { ScannedFile } from './file-scan.ts';
import type { ScanResult } from './scan-files.ts';
import { figureAt, hasFlag, nameAt, requestsAt, type UsageColumns } from './usage-columns.ts';

/** An API response, listed once however many files hold a copy. */
export interface LedgerRow {
  agent: string;
  /** From the credited copy. */
  sessionId: string;
  project: string | null;
  timestampMs: number | null;
  gitBranch: string | null;
  isSubagent: boolean;
  /** From the most complete copy, as are the fields below. */
  model: string | null;
  usage: Usage;
  isUnfinalised: boolean;
  estimatedTokensOut: number;
  price: Price;
  /** The reason why it has no price; null if it has one. */
  unpriced: UnpricedReason | null;
  /** The costs by its copies, only if they disagree. */
  disagreement: CopyDisagreement | undefined;
}

/** The most complete copy of a response in a session that is not credited with it. */
export type SharedCopy = Omit<
  LedgerRow,
  'usage' | 'price' | 'unpriced' | 'isUnfinalised' | 'estimatedTokensOut' | 'disagreement'
>;

export interface LocalLedger {
  /** The day of the newest price list, ISO 8601. */
  priceDate: string;
  rows: LedgerRow[];
  /** One for each session and response. */
  shared: SharedCopy[];
  /** Sessions whose usage is partly unknown. */
  incomplete: Pick<ScannedFile, 'agent' | 'sessionId' | 'project' | 'firstTimestampMs' | 'lacks'>[];
}

interface Response {
  credited: number;
  figures: number;
  /** All copies except the credited one; undefined for the many responses without any. */
  others: number[] | undefined;
}

/**
 * Counts each response once over all files, by the rules that the usage ledger in Postgres uses as well. The earliest
 * copy is credited, the most complete copy provides the figures. A price file precedes the built-in prices.
 */
export function settleLedger({ files, columns }: ScanResult, priceFile?: PriceFile): LocalLedger {
  const prices = createPriceTable({ overrides: [], file: priceFile });
  const copies = createCopies(files, columns, prices);
  const responses = new Map<string, Response>();
  for (let index = 0; index < columns.keys.length; index++) {
    if (copies.isReplaced(index)) continue;
    const key = `${copies.fileOf(index).agent}\n${columns.keys[index]}`;
    const known = responses.get(key);
    if (known === undefined) {
      responses.set(key, { credited: index, figures: index, others: undefined });
      continue;
    }
    const isEarlier = copies.compareCredit(index, known.credited) < 0;
    if (copies.compareFigures(index, known.figures) < 0) known.figures = index;
    known.others ??= [];
    known.others.push(isEarlier ? known.credited : index);
    if (isEarlier) known.credited = index;
  }
  const rows: LedgerRow[] = [];
  const shared: SharedCopy[] = [];
  for (const { credited, figures, others } of responses.values()) {
    rows.push({
      ...copies.toOrigin(credited),
      model: nameAt(columns, figures, 'model'),
      usage: copies.toUsage(figures),
      isUnfinalised: hasFlag(columns, figures, 'unfinalised'),
      estimatedTokensOut: figureAt(columns, figures, 'estimated_tokens_out'),
      price: copies.priceOf(figures),
      unpriced: copies.explainUnpriced(figures),
      disagreement: others && compareCopies([credited, ...others].map(copies.toCompared)),
    });
    for (const copy of copies.listShared(credited, others ?? [])) {
      shared.push({ ...copies.toOrigin(copy), model: nameAt(columns, copy, 'model') });
    }
  }
  const incomplete = new Map(files.flatMap((file) => (file.lacks === null ? [] : [[file.sessionId, file] as const])));
  return { priceDate: prices.date, rows, shared, incomplete: [...incomplete.values()] };
}

/** The copies, with facts about their files. */
function createCopies(files: readonly ScannedFile[], columns: UsageColumns, prices: ModelPriceTable) {
  const fileNumbers = new Int32Array(columns.keys.length);
  let end = 0;
  for (const [number, { responseCount }] of files.entries()) {
    fileNumbers.fill(number, end, end + responseCount);
    end += responseCount;
  }
  const projects = toProjects(files);
  const replaced = findReplaced(files);
  const fileOf = (index: number): ScannedFile => files[fileNumbers[index] ?? 0] as ScannedFile;

  const toUsage = (index: number): Usage => ({
    inputTokens: figureAt(columns, index, 'tokens_in'),
    outputTokens: figureAt(columns, index, 'tokens_out'),
    cacheReadTokens: figureAt(columns, index, 'cache_read'),
    cacheWriteTokens: figureAt(columns, index, 'cache_write'),
    cacheWrite5mTokens: figureAt(columns, index, 'cache_write_5m'),
    cacheWrite1hTokens: figureAt(columns, index, 'cache_write_1h'),
    webSearchRequests: figureAt(columns, index, 'web_search_requests'),
    webFetchRequests: figureAt(columns, index, 'web_fetch_requests'),
    thinkingTokens: figureAt(columns, index, 'thinking_tokens'),
    serviceTier: nameAt(columns, index, 'service_tier'),
    speed: nameAt(columns, index, 'speed'),
    inferenceGeo: nameAt(columns, index, 'inference_geo'),
    requests: requestsAt(columns, index),
  });
  const timeOf = (index: number): number | null => {
    const timeMs = columns.timesMs[index] ?? Number.NaN;
    return Number.isNaN(timeMs) ? null : timeMs;
  };
  const priced: Price[] = [];
  const priceOf = (index: number): Price => (priced[index] ??= toPrice(index));
  const toPrice = (index: number): Price => prices.price(toQuery(index));
  const toQuery = (index: number) => {
    const timeMs = timeOf(index);
    const reportedCostUsd = columns.reportedCostsUsd[index] ?? Number.NaN;
    return {
      model: nameAt(columns, index, 'model'),
      timestamp: timeMs === null ? null : new Date(timeMs).toISOString(),
      usage: toUsage(index),
      reportedCostUsd: Number.isNaN(reportedCostUsd) ? null : reportedCostUsd,
    };
  };
  const explainUnpriced = (index: number): UnpricedReason | null =>
    priceOf(index).costUsd === null ? prices.explainUnpriced(toQuery(index)) : null;

  const compareCredit = toComparison(CREDIT_ORDER, {
    isProgress: (index: number) => hasFlag(columns, index, 'progress'),
    isStream: (index) => fileOf(index).isStream,
    timestamp: timeOf,
    isMarkedCopy: (index) => hasFlag(columns, index, 'markedCopy'),
    isSubagent: (index) => hasFlag(columns, index, 'subagent'),
    firstTimestamp: (index) => fileOf(index).firstTimestampMs,
    sessionId: (index) => fileOf(index).sessionId,
    sizeBytes: (index) => fileOf(index).sizeBytes,
    file: (index) => fileOf(index).path,
    entryNumber: (index) => index,
  });
  const compareFinality = toComparison(FIGURE_ORDER, {
    isUnfinalised: (index: number) => hasFlag(columns, index, 'unfinalised'),
    outputTokens: (index) => figureAt(columns, index, 'tokens_out'),
    inputTokens: (index) =>
      figureAt(columns, index, 'tokens_in') +
      figureAt(columns, index, 'cache_read') +
      figureAt(columns, index, 'cache_write'),
    webSearchRequests: (index) => figureAt(columns, index, 'web_search_requests'),
    isModelUnknown: (index) => nameAt(columns, index, 'model') === UNKNOWN_MODEL,
    costUsd: (index) => priceOf(index).costUsd,
  });
  const compareFigures = (one: number, other: number): number =>
    compareFinality(one, other) || compareCredit(one, other);

  const toOrigin = (index: number) => {
    const { agent, sessionId } = fileOf(index);
    return {
      agent: agent ?? '',
      sessionId,
      project: projects.get(sessionId) ?? null,
      timestampMs: timeOf(index),
      gitBranch: nameAt(columns, index, 'git_branch'),
      isSubagent: hasFlag(columns, index, 'subagent'),
    };
  };
  const toCompared = (index: number): ComparedCopy => ({
    model: nameAt(columns, index, 'model'),
    timestampMs: timeOf(index),
    isUnfinalised: hasFlag(columns, index, 'unfinalised'),
    isStream: fileOf(index).isStream,
    usage: toUsage(index),
    costUsd: priceOf(index).costUsd,
  });
  /** Of each session that is not credited, its most complete copy. */
  const listShared = (credited: number, others: readonly number[]): number[] => {
    const bySession = new Map<string, number>();
    for (const other of others) {
      const { sessionId } = fileOf(other);
      const known = bySession.get(sessionId);
      if (known === undefined || compareFigures(other, known) < 0) bySession.set(sessionId, other);
    }
    bySession.delete(fileOf(credited).sessionId);
    return [...bySession.values()];
  };
  const isReplaced = (index: number): boolean => replaced.size > 0 && replaced.has(fileOf(index));
  return {
    ...{ fileOf, isReplaced, toUsage, priceOf, explainUnpriced, compareCredit, compareFigures, listShared },
    ...{ toOrigin, toCompared },
  };
}

/** Files whose session also has one in a more detailed format. */
function findReplaced(files: readonly ScannedFile[]): Set<ScannedFile> {
  const bySession = Map.groupBy(files, ({ agent, sessionId }) => `${agent}\n${sessionId}`);
  const isReplaced = (file: ScannedFile, others: readonly ScannedFile[]): boolean =>
    others.some((other) => outranks(other.format ?? '', file.format ?? ''));
  return new Set(
    [...bySession.values()].flatMap((ofSession) => ofSession.filter((file) => isReplaced(file, ofSession))),
  );
}

/** A session's project is its longest file's. */
function toProjects(files: readonly ScannedFile[]): Map<string, string | null> {
  const longest = new Map<string, ScannedFile>();
  for (const file of files) {
    const known = longest.get(file.sessionId);
    if (known === undefined || file.sizeBytes > known.sizeBytes) longest.set(file.sessionId, file);
  }
  return new Map([...longest].map(([sessionId, { project }]) => [sessionId, project]));
}
