import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { type FigureKind, type LocaleText, withPlainSpaces } from './locale-text.ts';

/** A figure on a page, with its exact value, null if unknown, and its text. */
export interface ShownFigure {
  value: number | null;
  text: string;
}

export interface ShownRow {
  /** Unabbreviated; null if it has none. */
  name: string | null;
  figures: ShownFigure[];
}

/** Run in the page, to read what an element shows. */
export const FIGURE = `(element) => ({
  value: element.matches('data') ? Number(element.getAttribute('value')) : null,
  text: element.textContent,
})`;

export async function readFigures(page: Page, selector: string): Promise<ShownFigure[]> {
  const found = await page.evaluate(`[...document.querySelectorAll(${JSON.stringify(selector)})].map(${FIGURE})`);
  return (found as ShownFigure[]).map(({ value, text }) => ({ value, text: withPlainSpaces(text) }));
}

/** Reads the table of a report. */
export async function readRows(page: Page): Promise<ShownRow[]> {
  const rows = (await page.evaluate(`[...document.querySelectorAll('.body [role=row]')].map((row) => ({
    name: row.querySelector('a')?.title ?? null,
    figures: [...row.querySelectorAll('.figure')].map(${FIGURE}),
  }))`)) as ShownRow[];
  return rows.map(({ name, figures }) => ({
    name,
    figures: figures.map(({ value, text }) => ({ value, text: withPlainSpaces(text) })),
  }));
}

/** A row's value at a path such as `own.cost_usd`. */
function pick(row: object, path: string): number | null {
  const value = path.split('.').reduce((of: unknown, key) => (of as Record<string, unknown> | null)?.[key], row);
  return typeof value === 'number' ? value : null;
}

/** Paths in a report's row of the figures that a page shows, in order. */
export type Columns = readonly (readonly [path: string, kind?: FigureKind])[];

export const toShown = (row: object, columns: Columns, text: LocaleText): ShownFigure[] =>
  columns.map(([path, kind]) => {
    const value = pick(row, path);
    // Formats of durations and bytes are tested separately.
    return { value, text: kind === undefined ? '' : text[kind](value) };
  });

/** Compares 12 digits, because the last digits of a sum of doubles depend on its order. */
export function expectFigures(
  shown: readonly ShownFigure[],
  row: object,
  columns: Columns,
  text: LocaleText,
  place: string,
): void {
  const comparable = shown.map(({ value, text: read }, index) => ({
    value: value === null ? null : Number(value.toPrecision(12)),
    text: columns[index]?.[1] === undefined ? '' : read,
  }));
  const expected = toShown(row, columns, text).map(({ value, text: read }) => ({
    value: value === null ? null : Number(value.toPrecision(12)),
    text: read,
  }));
  expect(comparable, place).toEqual(expected);
}
