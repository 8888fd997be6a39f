import { type ReactNode, useState } from 'react';
import { toCsv } from '../format/to-csv.ts';
import { useIsAdmin } from '../server-data/use-shows.ts';
import { download } from '../ui/download.ts';
import type { SharedPart } from './share-view.tsx';

/** A column of a file: its header, and its exact value in a row. */
export interface ExportColumn {
  label: string;
  read: (row: object) => string | number | null;
}

/** The request that rows answer. */
export interface Asked {
  /** The filters of the API's answer. */
  filters: object;
  /** The time of the page, as parameters of its URL. */
  time: Readonly<Record<string, string>>;
  /** The page or its table, if it can be shared by a link. */
  part?: SharedPart | undefined;
}

/** The parts of a table or chart that can be exported. */
export interface Exported extends Asked {
  /** Title of the table or chart. */
  title: string;
  columns: readonly ExportColumn[];
  /** In their order on the page. */
  rows: readonly object[];
  /** True in a `figure`, which is saved as a picture as well. */
  isOfFigure?: boolean;
}

interface ExportChoicesProps extends Exported {
  /** Title of a picture. */
  pageTitle: string;
  /** Closes the menu. */
  close: () => void;
  /** Opens the dialog to share the page or table. */
  share: () => void;
  /** Shows why no picture could be made; undefined removes the message. */
  showFailure: (message: string | undefined) => void;
}

/** No filters. */
const NOT_FILTERS = new Set(['group_by', 'limit', 'unmatched']);

/** The filters that are set, as columns, so that each line of a file says what it is about. */
const toFilterColumns = (filters: object): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(filters).flatMap(([name, value]) =>
      value === null || NOT_FILTERS.has(name)
        ? []
        : [[`filter.${name}`, Array.isArray(value) ? value.join('; ') : value]],
    ),
  );

/** The address of the page with its time, also where the page has chosen it. */
function toLink(time: Asked['time']): string {
  const url = new URL(location.href);
  for (const [name, value] of Object.entries(time)) url.searchParams.set(name, value);
  return url.href;
}

/** The choices of the menu for a table or chart. */
export function ExportChoices(props: ExportChoicesProps): ReactNode {
  const { title, columns, rows, filters, time, part, isOfFigure = false, pageTitle, close, share, showFailure } = props;
  const name = title.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, '-');
  const toRows = (): object[] =>
    rows.map((row) => Object.fromEntries(columns.map(({ label, read }) => [label, read(row)])));
  const saveCsv = (): void => {
    const ofFilters = toFilterColumns(filters);
    download(`${name}.csv`, 'text/csv', toCsv(toRows().map((row) => ({ ...row, ...ofFilters }))));
  };
  const saveJson = (): void => {
    const content = { title, link: toLink(time), filters, rows: toRows() };
    download(`${name}.json`, 'application/json', JSON.stringify(content, null, 2));
  };
  const savePng = async (figure: Element): Promise<void> => {
    const { paintChart } = await import('../ui/chart/paint-chart.ts');
    download(`${name}.png`, 'image/png', await paintChart(figure, pageTitle));
  };
  const startPng = (figure: Element | null): void => {
    showFailure(undefined);
    if (figure !== null) savePng(figure).catch((error: Error) => showFailure(error.message));
  };
  const run = (save: () => void): void => {
    save();
    close();
  };
  return (
    <>
      <button type="button" onClick={() => run(saveCsv)}>
        CSV
      </button>
      <button type="button" onClick={() => run(saveJson)}>
        JSON
      </button>
      {isOfFigure && (
        <button type="button" onClick={({ currentTarget }) => run(() => startPng(currentTarget.closest('figure')))}>
          PNG
        </button>
      )}
      <CopyLink toText={() => toLink(time)} />
      {part !== undefined && <ShareButton share={() => run(share)} />}
    </>
  );
}

/** Only admins share. */
function ShareButton({ share }: { share: () => void }): ReactNode {
  if (!useIsAdmin()) return null;
  return (
    <button type="button" onClick={share}>
      Share this view …
    </button>
  );
}

/** Shows the link where the browser does not let pages copy. */
function CopyLink({ toText }: { toText: () => string }): ReactNode {
  const [state, setState] = useState<'copied' | 'shown'>();
  const copy = (): void => {
    // Browsers have it only for addresses with https, and of this machine.
    const copied = (navigator.clipboard as Clipboard | undefined)?.writeText(toText()) ?? Promise.reject();
    copied.then(
      () => setState('copied'),
      () => setState('shown'),
    );
  };
  return (
    <>
      <button type="button" onClick={copy}>
        {state === 'copied' ? 'Link copied' : 'Copy link'}
      </button>
      {state === 'shown' && <output className="shown-once">{toText()}</output>}
    </>
  );
}
