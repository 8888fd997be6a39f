import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { formatCounted } from '../../format/values.ts';
import { useAnswer } from '../../server-data/use-answer.ts';
import { useRunning } from '../../server-data/use-running.ts';
import { Money, Time } from '../../ui/figures.tsx';
import { Answered, Pending } from '../../ui/states.tsx';

const INTERVAL_MS = 30_000;

/** Says that figures lack something, if ingestion or search has failed. */
export function Stuck(): ReactNode {
  const { data, isLoading } = useAnswer('/v1/ingestion', {}, { refetchIntervalMs: INTERVAL_MS });
  if (isLoading) return <Pending />;
  const failed = data?.transcripts.failed ?? 0;
  const unsearchable = data?.search.failing_sessions ?? 0;
  if (failed === 0 && unsearchable === 0) return null;
  const parts = [
    failed > 0 && `${formatCounted(failed, 'transcript')} could not be ingested and are in no figure`,
    unsearchable > 0 && `search lacks ${formatCounted(unsearchable, 'session')}`,
  ].filter(Boolean);
  return (
    <p className="stuck" role="status">
      {parts.join('; ')}.{' '}
      <Link to="/admin" search={{ view: 'jobs' } as never}>
        See what is wrong
      </Link>
    </p>
  );
}

/** The sessions that run now. */
export function Running(): ReactNode {
  const live = useRunning();
  return (
    <section className="panel">
      <h2>Now</h2>
      <Answered of={live}>
        {({ streams }) =>
          streams.length === 0 ? (
            <p className="muted">
              No live sessions. Start one with <code>recount run</code>.
            </p>
          ) : (
            <ul className="running">
              {streams.map(({ stream_id, session_id, agent, model, cost_usd, started_at }) => (
                <li key={stream_id}>
                  <Link to="/sessions/$sessionId" params={{ sessionId: session_id } as never}>
                    {agent} {model}
                  </Link>{' '}
                  since <Time iso={started_at} />
                  {cost_usd !== null && (
                    <>
                      , <Money value={cost_usd} />
                    </>
                  )}
                </li>
              ))}
            </ul>
          )
        }
      </Answered>
    </section>
  );
}
