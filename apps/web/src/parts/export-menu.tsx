import type { PageFigure } from '@recount/contract/reports/report-entry';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { Dropdown } from '../ui/dropdown.tsx';
import { readFigure, readText } from '../ui/report-figure.tsx';
import { Loading } from '../ui/states.tsx';
import type { ExportColumn, Exported } from './export-choices.tsx';

export type { Asked, ExportColumn } from './export-choices.tsx';

// Load when the menu opens, and when a view is shared.
const ExportChoices = lazy(async () => ({ default: (await import('./export-choices.tsx')).ExportChoices }));
const ShareView = lazy(async () => ({ default: (await import('./share-view.tsx')).ShareView }));

export const toTextColumn = (label: string, field: string): ExportColumn => ({
  label,
  read: (row) => readText(row as Record<string, unknown>, field),
});

export const toFigureColumns = (figures: readonly PageFigure[]): ExportColumn[] =>
  figures.map((figure) => ({
    label: figure.label,
    read: (row) => readFigure(row as Record<string, unknown>, figure),
  }));

/** A column for all that rows say, by the names of the API. Lists are one text. */
export const toFactColumns = (rows: readonly object[]): ExportColumn[] =>
  [...new Set(rows.flatMap((row) => Object.keys(row)))].map((name) => ({
    label: name,
    read: (row) => toFact(Reflect.get(row, name)),
  }));

function toFact(value: unknown): string | number | null {
  if (value === undefined || value === null) return null;
  if (typeof value === 'string' || typeof value === 'number') return value;
  if (Array.isArray(value) && value.every((each) => typeof each !== 'object')) return value.join('; ');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/**
 * Saves the rows of a table or chart with exact values and their filters, or a chart as a picture, or copies the link of
 * the page.
 */
export function ExportMenu(props: Exported): ReactNode {
  const [isSharing, setSharing] = useState(false);
  const [failure, setFailure] = useState<string>();
  const title = toPageTitle(props.title);
  return (
    <>
      <Dropdown name={`Export ${props.title}`} label="Export" isQuiet>
        {(close) => (
          <Suspense fallback={<Loading />}>
            <ExportChoices
              {...props}
              pageTitle={title}
              close={close}
              share={() => setSharing(true)}
              showFailure={setFailure}
            />
          </Suspense>
        )}
      </Dropdown>
      {failure !== undefined && <span role="alert">{failure}</span>}
      {isSharing && props.part !== undefined && (
        <Suspense>
          <ShareView part={props.part} title={title} time={props.time} close={() => setSharing(false)} />
        </Suspense>
      )}
    </>
  );
}

/** The page's title says more than a chart's. */
const toPageTitle = (title: string): string => {
  const page = document.title.replace(/ · recount$/, '');
  return page === '' || page === title ? title : `${page}: ${title}`;
};
