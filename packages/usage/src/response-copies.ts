import {
  type ComparedCopy,
  CREDIT_ORDER,
  FIGURE_ORDER,
  outranks,
  type Price,
  toComparison,
  UNKNOWN_MODEL,
  type Usage,
} from '@recount/core';
import type { ModelPriceTable, UnpricedReason } from '@recount/prices';
import type { ScannedFile } from './file-scan.ts';
import { figureAt, hasFlag, nameAt, requestsAt, type UsageColumns } from './usage-columns.ts';

/** The copies of responses in all files, by their number in the columns, with facts about their files. */
export class ResponseCopies {
  readonly #files: readonly ScannedFile[];
  readonly #columns: UsageColumns;
  readonly #prices: ModelPriceTable;
  /** The number of each copy's file. */
  readonly #fileNumbers: Int32Array;
  readonly #projects: ReadonlyMap<string, string | null>;
  readonly #replaced: ReadonlySet<ScannedFile>;
  readonly #priced: Price[] = [];
  /** Orders the copies of a response; the first one is credited. */
  readonly compareCredit: (one: number, other: number) => number;
  readonly #compareFinality: (one: number, other: number) => number;

  constructor(files: readonly ScannedFile[], columns: UsageColumns, prices: ModelPriceTable) {
    this.#files = files;
    this.#columns = columns;
    this.#prices = prices;
    this.#fileNumbers = numberFiles(files, columns.keys.length);
    this.#projects = toProjects(files);
    this.#replaced = findReplaced(files);
    this.compareCredit = toComparison(CREDIT_ORDER, {
      isProgress: (index: number) => hasFlag(columns, index, 'progress'),
      isStream: (index) => this.fileOf(index).isStream,
      timestamp: (index) => this.#timeOf(index),
      isMarkedCopy: (index) => hasFlag(columns, index, 'markedCopy'),
      isSubagent: (index) => hasFlag(columns, index, 'subagent'),
      firstTimestamp: (index) => this.fileOf(index).firstTimestampMs,
      sessionId: (index) => this.fileOf(index).sessionId,
      sizeBytes: (index) => this.fileOf(index).sizeBytes,
      file: (index) => this.fileOf(index).path,
      entryNumber: (index) => index,
    });
    this.#compareFinality = toComparison(FIGURE_ORDER, {
      isUnfinalised: (index: number) => hasFlag(columns, index, 'unfinalised'),
      outputTokens: (index) => figureAt(columns, index, 'tokens_out'),
      inputTokens: (index) =>
        figureAt(columns, index, 'tokens_in') +
        figureAt(columns, index, 'cache_read') +
        figureAt(columns, index, 'cache_write'),
      webSearchRequests: (index) => figureAt(columns, index, 'web_search_requests'),
      isModelUnknown: (index) => nameAt(columns, index, 'model') === UNKNOWN_MODEL,
      costUsd: (index) => this.priceOf(index).costUsd,
    });
  }

  /** Orders the copies of a response; the first one is the most complete. */
  compareFigures(one: number, other: number): number {
    return this.#compareFinality(one, other) || this.compareCredit(one, other);
  }

  fileOf(index: number): ScannedFile {
    return this.#files[this.#fileNumbers[index] ?? 0] as ScannedFile;
  }

  isReplaced(index: number): boolean {
    return this.#replaced.size > 0 && this.#replaced.has(this.fileOf(index));
  }

  toUsage(index: number): Usage {
    const columns = this.#columns;
    return {
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
    };
  }

  priceOf(index: number): Price {
    this.#priced[index] ??= this.#prices.price(this.#toQuery(index));
    return this.#priced[index];
  }

  explainUnpriced(index: number): UnpricedReason | null {
    return this.priceOf(index).costUsd === null ? this.#prices.explainUnpriced(this.#toQuery(index)) : null;
  }

  toOrigin(index: number) {
    const { agent, sessionId } = this.fileOf(index);
    return {
      agent: agent ?? '',
      sessionId,
      project: this.#projects.get(sessionId) ?? null,
      timestampMs: this.#timeOf(index),
      gitBranch: nameAt(this.#columns, index, 'git_branch'),
      isSubagent: hasFlag(this.#columns, index, 'subagent'),
    };
  }

  toCompared(index: number): ComparedCopy {
    return {
      model: nameAt(this.#columns, index, 'model'),
      timestampMs: this.#timeOf(index),
      isUnfinalised: hasFlag(this.#columns, index, 'unfinalised'),
      isStream: this.fileOf(index).isStream,
      usage: this.toUsage(index),
      costUsd: this.priceOf(index).costUsd,
    };
  }

  /** The most complete copy of each session that is not credited. */
  listShared(credited: number, others: readonly number[]): number[] {
    const bySession = new Map<string, number>();
    for (const other of others) {
      const { sessionId } = this.fileOf(other);
      const known = bySession.get(sessionId);
      if (known === undefined || this.compareFigures(other, known) < 0) bySession.set(sessionId, other);
    }
    bySession.delete(this.fileOf(credited).sessionId);
    return [...bySession.values()];
  }

  #timeOf(index: number): number | null {
    const timeMs = this.#columns.timesMs[index] ?? Number.NaN;
    return Number.isNaN(timeMs) ? null : timeMs;
  }

  #toQuery(index: number) {
    const timeMs = this.#timeOf(index);
    const reportedCostUsd = this.#columns.reportedCostsUsd[index] ?? Number.NaN;
    return {
      model: nameAt(this.#columns, index, 'model'),
      timestamp: timeMs === null ? null : new Date(timeMs).toISOString(),
      usage: this.toUsage(index),
      reportedCostUsd: Number.isNaN(reportedCostUsd) ? null : reportedCostUsd,
    };
  }
}

/** The files' numbers, each as often as the file has copies. */
function numberFiles(files: readonly ScannedFile[], copyCount: number): Int32Array {
  const fileNumbers = new Int32Array(copyCount);
  let end = 0;
  for (const [number, { responseCount }] of files.entries()) {
    fileNumbers.fill(number, end, end + responseCount);
    end += responseCount;
  }
  return fileNumbers;
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
