import type { Transcript, TranscriptList as TranscriptPage, TranscriptStatus } from '@recount/contract';
import { toVisible } from '@recount/contract/conversation';
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useCallback, useEffect, useMemo } from 'react';
import { get } from '../../api/client.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { formatBytes, formatCount, toShortPath } from '../../format/values.ts';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { Time } from '../../ui/figures.tsx';
import { Empty, Failure, Loading } from '../../ui/states.tsx';
import { useUrlState } from '../../ui/use-url-state.ts';
import { StatusTag } from './status-tag.tsx';
import { TranscriptDetails } from './transcript-details.tsx';

const PAGE_ROWS = 100;
const WATCH_INTERVAL_MS = 3000;

/** Which transcripts are shown, by the name that the address has. */
const VIEWS: readonly [id: string, label: string, statuses: readonly TranscriptStatus[]][] = [
  ['all', 'All', []],
  ['waiting', 'Waiting', ['queued', 'processing']],
  ['failed', 'Failed', ['failed']],
  ['ingested', 'Ingested', ['ingested']],
  ['superseded', 'Superseded', ['superseded']],
  ['issues', 'With issues', []],
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
      >
        {path === null ? id : toShortPath(path)}
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
    cell: ({ session_id, title, initial_prompt }) => (
      <Link to="/sessions/$sessionId" params={{ sessionId: session_id } as never} title={session_id}>
        {toVisible(title ?? initial_prompt ?? session_id)}
      </Link>
    ),
  },
  { id: 'size', label: 'Size', width: '80px', isFigure: true, cell: ({ size_bytes }) => formatBytes(size_bytes) },
  { id: 'came', label: 'Uploaded', width: '138px', cell: ({ created_at }) => <Time iso={created_at} /> },
];

/** Every transcript of the workspace, the latest upload first. */
export function TranscriptList(): ReactNode {
  const [state, change] = useUrlState();
  const [view, , statuses] = VIEWS.find(([id]) => id === state.view) ?? (VIEWS[0] as (typeof VIEWS)[number]);
  const ingestion = useAnswer('/v1/ingestion', {}, { refetchIntervalMs: WATCH_INTERVAL_MS });
  const counts = ingestion.data?.transcripts;
  const withIssues = ingestion.data?.transcripts_with_errors;
  const countOf = (wanted: readonly TranscriptStatus[]): number | undefined =>
    counts &&
    Object.entries(counts).reduce(
      (sum, [status, value]) =>
        wanted.length === 0 || wanted.includes(status as TranscriptStatus) ? sum + value : sum,
      0,
    );
  const list = useInfiniteQuery({
    queryKey: ['/v1/transcripts', 'pages', view],
    queryFn: ({ pageParam, signal }): Promise<TranscriptPage> =>
      get('/v1/transcripts', {
        query: {
          status: [...statuses],
          ...(view === 'issues' && { has_errors: 'true' as const }),
          order: 'desc',
          limit: PAGE_ROWS,
          ...(pageParam !== '' && { cursor: pageParam }),
        },
        signal,
      }),
    initialPageParam: '',
    getNextPageParam: ({ next_cursor: next }) => next,
  });
  const { hasNextPage, isFetchingNextPage, fetchNextPage, refetch } = list;
  const countsText = JSON.stringify(counts);
  useEffect(() => {
    if (countsText !== undefined) void refetch();
  }, [countsText, refetch]);
  const rows = useMemo(() => list.data?.pages.flatMap(({ transcripts }) => transcripts) ?? [], [list.data]);
  const loadMore = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);

  return (
    <section className="transcripts" aria-labelledby="transcripts">
      <div className="between">
        <h2 id="transcripts">Transcripts</h2>
        <div className="segments" role="group" aria-label="Which transcripts">
          {VIEWS.map(([id, label, wanted]) => (
            <button
              key={id}
              type="button"
              aria-pressed={id === view}
              onClick={() => change({ view: id === 'all' ? undefined : id })}
            >
              {label}{' '}
              <span className="muted">
                {counts && formatCount((id === 'issues' ? withIssues : countOf(wanted)) ?? 0)}
              </span>
            </button>
          ))}
        </div>
      </div>
      {list.error !== null ? (
        <Failure error={list.error} retry={() => void refetch()} />
      ) : list.data === undefined ? (
        <Loading />
      ) : rows.length === 0 ? (
        <Empty title={view === 'all' ? 'Nothing was uploaded yet' : 'There is none of these'}>
          {view === 'all' && (
            <p>
              Drop a folder above, or let <code>recount backfill</code> find what this machine has.
            </p>
          )}
        </Empty>
      ) : (
        <DataTable
          label="Transcripts"
          columns={COLUMNS}
          rows={rows}
          toId={({ id }) => id}
          toHref={toDetailsHref}
          loadMore={hasNextPage ? loadMore : undefined}
        />
      )}
      {state.transcript !== undefined && (
        <TranscriptDetails transcriptId={state.transcript} close={() => change({ transcript: undefined })} />
      )}
    </section>
  );
}
