import type { JsonObject } from '../lines/json.ts';
import { isJsonObject } from '../records/fields.ts';
import { readAnthropicPage } from './anthropic.ts';
import { type AnsweredRow, BillError, type BillRow, type BillVendor } from './bill.ts';
import { readCursorPage } from './cursor.ts';
import { requireSameGroups } from './find-regrouped.ts';
import { readGitHubPage } from './github.ts';
import { readOpenAiPage } from './openai.ts';

interface VendorReader {
  /** The member that each page has. */
  list: string;
  read(page: JsonObject): AnsweredRow[];
  /** True if lines are events, which are never grouped, and many. */
  hasEvents?: true;
}

const READERS: Readonly<Record<BillVendor, VendorReader>> = {
  anthropic: { list: 'data', read: readAnthropicPage },
  openai: { list: 'data', read: readOpenAiPage },
  github: { list: 'usageItems', read: readGitHubPage },
  cursor: { list: 'usageEvents', read: readCursorPage, hasEvents: true },
};

/**
 * The lines of a vendor's report: answers of its API, as one JSON value, an array of several, or one a line. Lines that
 * are the same but for their figures are added up, unless a later answer has them again. Throws BillError, also if two
 * answers have the same amounts, grouped otherwise, or tokens by other groups with different figures.
 */
export function readBill(vendor: BillVendor, text: string): BillRow[] {
  const { list, read, hasEvents = false } = READERS[vendor];
  const earlier = new Map<string, BillRow[]>();
  const answered = new Map<string, Answered>();
  for (const [answer, page] of parsePages(text).entries()) {
    if (!Array.isArray(page[list])) {
      throw new BillError(`It is no report of this vendor: an answer of its API has a list “${list}”`);
    }
    const own = read(page);
    if (!hasEvents) {
      const days = [...Map.groupBy(own, ({ day }) => day)];
      requireSameGroups(
        own,
        days.flatMap(([day]) => earlier.get(day) ?? []),
      );
      for (const [day, rows] of days) earlier.set(day, [...(earlier.get(day) ?? []), ...rows]);
    }
    for (const { piece, span, groups = { names: '', values: '' }, ...row } of own) {
      const place = JSON.stringify([row.identity, piece]);
      const key = JSON.stringify([place, groups]);
      const known = answered.get(key);
      const [endMs = 0, knownEndMs = endMs] = [span?.endMs, known?.span?.endMs];
      // A later answer may have more of a day, but an hour of it would replace the whole.
      if (known?.answer === answer ? !Object.is(endMs, knownEndMs) : endMs < knownEndMs) throw hasDayTwice(row.day);
      answered.set(key, {
        answer,
        place,
        names: groups.names,
        span,
        row: known?.answer === answer ? addRows(known.row, row) : row,
      });
    }
  }
  requireApart([...answered.values()]);
  const pieces = [...Map.groupBy(answered.values(), ({ place }) => place).values()].map(toPiece);
  return addUp(pieces, ({ identity }) => identity);
}

interface Answered {
  answer: number;
  place: string;
  /** Names of the groups whose lines are added up. */
  names: string;
  span: AnsweredRow['span'];
  row: BillRow;
}

/** Throws BillError if a line has the same time twice, by hours and by days, because its pieces are added up. */
function requireApart(answered: readonly Answered[]): void {
  for (const ofLine of Map.groupBy(answered, ({ row }) => row.identity).values()) {
    const spans = ofLine.flatMap(({ span }) => span ?? []).sort((a, b) => a.startMs - b.startMs);
    const overlaps = spans.some(({ startMs }, index) => {
      const before = spans[index - 1];
      return before !== undefined && before.startMs < startMs && startMs < before.endMs;
    });
    if (overlaps) throw hasDayTwice(ofLine[0]?.row.day);
  }
}

const hasDayTwice = (day: string | undefined): BillError =>
  new BillError(`It has ${day} twice, by hours and by days. Import one of the two`);

/**
 * The line of a piece, with its groups added up. Throws BillError if answers have it by other groups with different
 * figures, because one of them can lack a group.
 */
function toPiece(answered: readonly Answered[]): BillRow {
  const [row, ...others] = [...Map.groupBy(answered, ({ names }) => names).values()].flatMap((list) =>
    addUp(
      list.map(({ row: own }) => own),
      () => '',
    ),
  );
  if (row === undefined) throw new Error('A piece has no lines');
  if (others.some((other) => COUNTS.some((name) => other[name] !== row[name]))) {
    throw new BillError(
      `It has the tokens of ${row.day} twice, by other windows or regions, with different figures. Import one of the two`,
    );
  }
  return row;
}

function addUp(rows: readonly BillRow[], toKey: (row: BillRow) => string): BillRow[] {
  const byKey = new Map<string, BillRow>();
  for (const row of rows) {
    const known = byKey.get(toKey(row));
    byKey.set(toKey(row), known === undefined ? row : addRows(known, row));
  }
  return [...byKey.values()];
}

function parsePages(text: string): JsonObject[] {
  const values =
    tryParse(text) ??
    text
      .split('\n')
      .filter((line) => line.trim() !== '')
      .map((line) => tryParse(line));
  const pages = Array.isArray(values) ? values.flat() : [values];
  if (pages.length === 0 || !pages.every((page) => isJsonObject(page))) throw new BillError('It is not JSON');
  return pages;
}

function tryParse(text: string): JsonObject | JsonObject[] | undefined {
  try {
    return JSON.parse(text) as JsonObject;
  } catch {
    return undefined;
  }
}

const COUNTS = ['amountUsd', 'inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheWriteTokens'] as const;

const addRows = (a: BillRow, b: BillRow): BillRow => ({
  ...a,
  ...Object.fromEntries(COUNTS.map((name) => [name, a[name] === null ? b[name] : a[name] + (b[name] ?? 0)])),
});
