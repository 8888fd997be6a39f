import { Link } from '@tanstack/react-router';
import { type ReactNode, useEffect, useRef } from 'react';
import { formatCount } from '../../format/values.ts';
import { queryClient } from '../../server-data/use-answer.ts';
import { useRunning } from '../../server-data/use-running.ts';

const SHOWN_SESSIONS = 5;
/** Usually enough for the transcript of an ended stream to be ingested. */
const INGESTION_MS = 3000;

/** Links to running sessions; reloads the list below when one starts or ends. */
export function RunningSessions(): ReactNode {
  const { data } = useRunning();
  const streams = data?.streams ?? [];
  const ids = data?.streams.map(({ stream_id: id }) => id).join(' ');
  const before = useRef(ids);
  useEffect(() => {
    if (before.current === ids) return;
    const isFirst = before.current === undefined;
    before.current = ids;
    if (isFirst) return;
    const refresh = (): void => void queryClient.invalidateQueries({ queryKey: ['/v1/sessions'] });
    refresh();
    const timer = setTimeout(refresh, INGESTION_MS);
    return () => clearTimeout(timer);
  }, [ids]);
  if (streams.length === 0) return null;
  return (
    <p className="running-now">
      <span className="tag">{formatCount(streams.length)} running now</span>{' '}
      {streams.slice(0, SHOWN_SESSIONS).map(({ stream_id, session_id, agent, model }) => (
        <Link key={stream_id} to="/sessions/$sessionId" params={{ sessionId: session_id } as never}>
          {agent} {model}
        </Link>
      ))}
      {streams.length > SHOWN_SESSIONS && <Link to="/">and others</Link>}
    </p>
  );
}
