import { readPath } from '@recount/contract/reports/read-path';
import type { PageFigure } from '@recount/contract/reports/report-entry';
import type { ReactNode } from 'react';
import { Bytes, Count, Duration, Money, Percent, Tokens } from './figures.tsx';

/** A row of a report, or its totals. */
export type Row = Readonly<Record<string, unknown>>;

/** Null if the row has no such figure. */
export const readFigure = (row: Row, { path }: Pick<PageFigure, 'path'>): number | null => {
  const value = readPath(row, path);
  return typeof value === 'number' ? value : null;
};

export const readText = (row: Row, field: string): string | null => {
  const value = row[field];
  return typeof value === 'string' ? value : null;
};

/** A figure of a row, by its kind. */
export function ReportFigure({ of: figure, row }: { of: PageFigure; row: Row }): ReactNode {
  const known = readFigure(row, figure);
  switch (figure.kind) {
    case 'money':
      return <Money value={known} />;
    case 'amount':
      return known === null ? <span className="figure none">–</span> : <Money value={known} />;
    case 'tokens':
      return <Tokens value={known} />;
    case 'count':
      return <Count value={known} />;
    case 'percent':
      return <Percent value={known} />;
    case 'duration':
      return <Duration ms={known} />;
    case 'bytes':
      return <Bytes value={known} />;
  }
}
