import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useAnswer } from '../../server-data/use-answer.ts';
import { useRunning } from '../../server-data/use-running.ts';
import { Count, Money, Time } from '../../ui/figures.tsx';
import { Answered } from '../../ui/states.tsx';

const INTERVAL_MS = 5000;

/** Running sessions, and the state of ingestion. */
export function Health(): ReactNode {
  const live = useRunning();
  const ingestion = useAnswer('/v1/ingestion', {}, { refetchIntervalMs: INTERVAL_MS });
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
      <h3>Ingestion</h3>
      <Answered of={ingestion}>
        {({ transcripts, transcripts_with_errors, error_count }) => (
          <dl className="health">
            {Object.entries(transcripts).map(([status, value]) => (
              <div key={status} className={status === 'failed' && value > 0 ? 'bad' : undefined}>
                <dt>{status}</dt>
                <dd>
                  <Link
                    to="/uploads"
                    search={{ view: status === 'queued' || status === 'processing' ? 'waiting' : status } as never}
                  >
                    <Count value={value} />
                  </Link>
                </dd>
              </div>
            ))}
            <div title={`Lines with lost content, in ${transcripts_with_errors} transcripts, whose raw bytes are kept`}>
              <dt>issues</dt>
              <dd>
                <Link to="/uploads" search={{ view: 'issues' } as never}>
                  <Count value={error_count} />
                </Link>
              </dd>
            </div>
          </dl>
        )}
      </Answered>
    </section>
  );
}
