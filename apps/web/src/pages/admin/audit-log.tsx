import type { AuditList } from '@recount/contract';
import { useInfiniteQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { get } from '../../server-data/client.ts';
import { Time } from '../../ui/figures.tsx';
import { Answered } from '../../ui/states.tsx';
import { WideTable } from './wide-table.tsx';

const PAGE_ROWS = 100;
const SHOWN_SUBJECTS = 5;

/** Who changed what, latest first. */
export function AuditLog(): ReactNode {
  const list = useInfiniteQuery({
    queryKey: ['/v1/audit', 'pages'],
    queryFn: ({ pageParam, signal }): Promise<AuditList> =>
      get('/v1/audit', { query: { limit: PAGE_ROWS, ...(pageParam !== '' && { cursor: pageParam }) }, signal }),
    initialPageParam: '',
    getNextPageParam: ({ next_cursor: next }) => next,
  });
  return (
    <section aria-labelledby="audit">
      <h2 id="audit">Audit log</h2>
      <Answered of={list}>
        {({ pages }) => (
          <WideTable label="Audit log" columns={['When', 'Who', 'What', 'Of', 'Details']}>
            {pages
              .flatMap(({ entries }) => entries)
              .map(({ id, at, actor, action, subjects, details }) => (
                <tr key={id}>
                  <td>
                    <Time iso={at} />
                  </td>
                  <td>{actor}</td>
                  <td>{action}</td>
                  <td>
                    {subjects.slice(0, SHOWN_SUBJECTS).join(', ')}
                    {subjects.length > SHOWN_SUBJECTS && ` and ${subjects.length - SHOWN_SUBJECTS} more`}
                  </td>
                  <td>
                    <code>{JSON.stringify(details)}</code>
                  </td>
                </tr>
              ))}
          </WideTable>
        )}
      </Answered>
      {list.hasNextPage && (
        <button type="button" disabled={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
          Show earlier ones
        </button>
      )}
    </section>
  );
}
