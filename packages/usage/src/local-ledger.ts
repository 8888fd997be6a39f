import { type CopyDisagreement, compareCopies, type Price, type Usage } from '@recount/core';
import { createPriceTable, type PriceFile, type UnpricedReason } from '@recount/prices';
import type { ScannedFile } from './file-scan.ts';
import { ResponseCopies } from './response-copies.ts';
import type { ScanResult } from './scan-files.ts';
import { figureAt, hasFlag, nameAt } from './usage-columns.ts';

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
  const copies = new ResponseCopies(files, columns, prices);
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
      disagreement: others && compareCopies([credited, ...others].map((copy) => copies.toCompared(copy))),
    });
    for (const copy of copies.listShared(credited, others ?? [])) {
      shared.push({ ...copies.toOrigin(copy), model: nameAt(columns, copy, 'model') });
    }
  }
  const incomplete = new Map(files.flatMap((file) => (file.lacks === null ? [] : [[file.sessionId, file] as const])));
  return { priceDate: prices.date, rows, shared, incomplete: [...incomplete.values()] };
}
