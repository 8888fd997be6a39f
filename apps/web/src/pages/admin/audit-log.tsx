import type { AuditList } from '@recount/contract';
import { toVisible } from '@recount/contract/conversation';
import { useInfiniteQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { get } from '../../server-data/client.ts';
import { useAnswer } from '../../server-data/use-answer.ts';
import { Time } from '../../ui/figures.tsx';
import type { PlainColumn } from '../../ui/plain-table.tsx';
import { Answered } from '../../ui/states.tsx';
import { WideTable } from './wide-table.tsx';

type Entry = AuditList['entries'][number];

const PAGE_ROWS = 100;
const SHOWN_SUBJECTS = 2;

const KINDS = [
  ['', 'Everything'],
  ['changes', 'Changes'],
  ['reads', 'Reads'],
] as const;
type Kind = (typeof KINDS)[number][0];

const toDetails = (details: Readonly<Record<string, unknown>>): string =>
  Object.entries(details)
    .map(([name, value]) => `${name.replaceAll('_', ' ')}: ${toWords(value)}`)
    .join('; ');

function toWords(value: unknown): string {
  if (value === null) return 'none';
  if (Array.isArray(value)) return value.map(toWords).join(', ') || 'none';
  return toVisible(typeof value === 'object' ? JSON.stringify(value) : String(value));
}

/** Who changed what, and who read whose texts, latest first. */
export function AuditLog(): ReactNode {
  const [kind, setKind] = useState<Kind>('');
  const list = useInfiniteQuery({
    queryKey: ['/v1/audit', 'pages', kind],
    queryFn: ({ pageParam, signal }): Promise<AuditList> =>
      get('/v1/audit', {
        query: {
          limit: PAGE_ROWS,
          ...(kind !== '' && { kind }),
          ...(pageParam !== '' && { cursor: pageParam }),
        },
        signal,
      }),
    initialPageParam: '',
    getNextPageParam: ({ next_cursor: next }) => next,
  });
  return (
    <section aria-labelledby="audit">
      <h2 id="audit">Audit log</h2>
      <label className="row">
        Show
        <select value={kind} onChange={({ target }) => setKind(target.value as Kind)}>
          {KINDS.map(([id, label]) => (
            <option key={id} value={id}>
              {label}
            </option>
          ))}
        </select>
      </label>
      <Answered of={list}>{({ pages }) => <Entries entries={pages.flatMap(({ entries }) => entries)} />}</Answered>
      {list.hasNextPage && (
        <button type="button" disabled={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
          Show earlier ones
        </button>
      )}
    </section>
  );
}

function Entries({ entries }: Pick<AuditList, 'entries'>): ReactNode {
  const keys = useAnswer('/v1/keys', {});
  const toTarget = (subject: string): string => keys.data?.keys.find(({ id }) => id === subject)?.name ?? subject;
  const columns: PlainColumn<Entry>[] = [
    { head: 'Time', cell: ({ at }) => <Time iso={at} /> },
    {
      head: 'Actor',
      title: ({ actor }) => actor,
      cell: ({ actor, actor_name, actor_person }) => actor_person ?? actor_name ?? actor,
    },
    { head: 'Action', cell: ({ action }) => action },
    {
      head: 'Target',
      className: 'wraps',
      title: ({ subjects }) => subjects.join(', '),
      cell: ({ subjects }) => (
        <>
          {subjects.slice(0, SHOWN_SUBJECTS).map(toTarget).join(', ')}
          {subjects.length > SHOWN_SUBJECTS && ` and ${subjects.length - SHOWN_SUBJECTS} more`}
        </>
      ),
    },
    { head: 'Details', className: 'wraps', cell: ({ details }) => toDetails(details) },
  ];
  return <WideTable label="Audit log" columns={columns} rows={entries} toKey={({ id }) => id} />;
}
