import type { Transcript, TranscriptStatus } from '@recount/contract';
import { toVisible } from '@recount/contract/conversation';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useEffect, useMemo } from 'react';
import { formatBytes, formatCount, toShortPath } from '../../format/values.ts';
import { ExportMenu, toFigureColumns, toTextColumn } from '../../parts/export-menu.tsx';
import type { Answer } from '../../server-data/client.ts';
import { useAnswer } from '../../server-data/use-answer.ts';
import { usePages } from '../../server-data/use-pages.ts';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { Time } from '../../ui/figures.tsx';
import { Empty, Failure, Loading } from '../../ui/states.tsx';
import { type UrlChange, useUrlState } from '../../ui/use-url-state.ts';
import { StatusTag } from './status-tag.tsx';

const PAGE_ROWS = 100;
const WATCH_INTERVAL_MS = 3000;

/** Filters for transcripts, by their names in the URL. */
const VIEWS: readonly [id: string, label: string, statuses: readonly TranscriptStatus[]][] = [
  ['all', 'All', []],
  ['waiting', 'Waiting', ['queued', 'processing']],
  ['failed', 'Failed', ['failed']],
  ['ingested', 'Ingested', ['ingested']],
  ['superseded', 'Replaced', ['superseded']],
  ['issues', 'With issues', []],
];

const FILE_COLUMNS = [
  ...['id', 'path', 'status', 'agent', 'session_id', 'title', 'created_at'].map((name) => toTextColumn(name, name)),
  ...toFigureColumns(
    (['size_bytes', 'line_count', 'error_count'] as const).map((path) => ({ kind: 'count', label: path, path })),
  ),
];

const toDetailsHref = ({ id }: Pick<Transcript, 'id'>): string =>
  `/uploads?${new URLSearchParams({ ...Object.fromEntries(new URLSearchParams(location.search)), transcript: id })}`;

const COLUMNS: readonly Column<Transcript>[] = [
  {
    id: 'file',
    label: 'File',
    width: 'minmax(200px, 2.4fr)',
    cell: ({ id, path }) => (
      <Link
        to="/uploads"
        search={((previous: object) => ({ ...previous, transcript: id })) as never}
        resetScroll={false}
        title={path ?? id}
        className="clip-start"
      >
        <bdi dir="ltr">{path === null ? id : toShortPath(path)}</bdi>
      </Link>
    ),
  },
  {
    id: 'status',
    label: 'Status',
    width: 'minmax(170px, 1.2fr)',
    cell: (transcript) => <StatusTag transcript={transcript} />,
  },
  { id: 'agent', label: 'Agent', width: '110px', cell: ({ agent }) => agent },
  {
    id: 'session',
    label: 'Session',
    width: 'minmax(150px, 2fr)',
    cell: ({ session_id, title }) => (
      <Link to="/sessions/$sessionId" params={{ sessionId: session_id } as never} title={session_id}>
        {toVisible(title)}
      </Link>
    ),
  },
  { id: 'size', label: 'Size', width: '80px', isFigure: true, cell: ({ size_bytes }) => formatBytes(size_bytes) },
  { id: 'came', label: 'Uploaded', width: '138px', cell: ({ created_at }) => <Time iso={created_at} /> },
];

/** All transcripts of the workspace, latest upload first. */
export function TranscriptList(): ReactNode {
  const [state, change] = useUrlState();
  const [view, , statuses] = VIEWS.find(([id]) => id === state.view) ?? (VIEWS[0] as (typeof VIEWS)[number]);
  const ingestion = useAnswer('/v1/ingestion', {}, { refetchIntervalMs: WATCH_INTERVAL_MS });
  const { pages, error, loadMore, refetch } = usePages('/v1/transcripts', {
    status: [...statuses],
    ...(view === 'issues' && { has_errors: 'true' as const }),
    order: 'desc',
    limit: PAGE_ROWS,
  });
  const countsText = JSON.stringify(ingestion.data?.transcripts);
  useEffect(() => {
    if (countsText !== undefined) refetch();
  }, [countsText, refetch]);
  const rows = useMemo(() => pages?.flatMap(({ transcripts }) => transcripts) ?? [], [pages]);
  return (
    <section className="transcripts" aria-labelledby="transcripts">
      <div className="between">
        <h2 id="transcripts">Transcripts</h2>
        <div className="row">
          {rows.length > 0 && (
            <ExportMenu title="Transcripts" columns={FILE_COLUMNS} rows={rows} filters={{ view }} time={{}} />
          )}
          <Views shown={view} ingestion={ingestion.data} change={change} />
        </div>
      </div>
      {error !== null ? (
        <Failure error={error} retry={refetch} />
      ) : pages === undefined ? (
        <Loading />
      ) : rows.length === 0 ? (
        <NoTranscripts isAll={view === 'all'} />
      ) : (
        <DataTable
          label="Transcripts"
          columns={COLUMNS}
          rows={rows}
          toId={({ id }) => id}
          toHref={toDetailsHref}
          loadMore={loadMore}
        />
      )}
    </section>
  );
}

interface ViewsProps {
  shown: string;
  /** Undefined until known. */
  ingestion: Answer<'/v1/ingestion'> | undefined;
  change: (change: UrlChange) => void;
}

/** The filters, with the number of transcripts of each. */
function Views({ shown, ingestion, change }: ViewsProps): ReactNode {
  const countOf = (id: string, wanted: readonly TranscriptStatus[]): number => {
    if (id === 'issues') return ingestion?.transcripts_with_errors ?? 0;
    const counts = Object.entries(ingestion?.transcripts ?? {});
    return counts
      .filter(([status]) => wanted.length === 0 || wanted.includes(status as TranscriptStatus))
      .reduce((sum, [, count]) => sum + count, 0);
  };
  return (
    <div className="segments" role="group" aria-label="Which transcripts">
      {VIEWS.map(([id, label, wanted]) => (
        <button
          key={id}
          type="button"
          aria-pressed={id === shown}
          onClick={() => change({ view: id === 'all' ? undefined : id })}
        >
          {label} <span className="muted">{ingestion && formatCount(countOf(id, wanted))}</span>
        </button>
      ))}
    </div>
  );
}

const NoTranscripts = ({ isAll }: { isAll: boolean }): ReactNode => (
  <Empty title={isAll ? 'Nothing uploaded yet' : 'No transcripts in this view'}>
    {isAll && (
      <p>
        Drop a folder above, or let <code>recount backfill</code> find this machine’s sessions.
      </p>
    )}
  </Empty>
);
