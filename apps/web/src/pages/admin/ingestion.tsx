import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { formatCount } from '../../format/values.ts';
import { send } from '../../server-data/client.ts';
import { queryClient, useAnswer } from '../../server-data/use-answer.ts';
import { Count, Time } from '../../ui/figures.tsx';
import { Answered, Empty, Failure } from '../../ui/states.tsx';

const INTERVAL_MS = 5000;

/** The statuses of transcripts, as users call them, with their view of the page Uploads. */
const STATUSES = [
  ['queued', 'Queued', 'waiting'],
  ['processing', 'Processing', 'waiting'],
  ['ingested', 'Ingested', 'ingested'],
  ['superseded', 'Replaced by a newer version', 'superseded'],
  ['failed', 'Failed', 'failed'],
] as const;

/** The queue, and what has failed. */
export function Ingestion(): ReactNode {
  const ingestion = useAnswer('/v1/ingestion', {}, { refetchIntervalMs: INTERVAL_MS });
  return (
    <>
      <section aria-labelledby="ingestion">
        <h2 id="ingestion">Ingestion</h2>
        <Answered of={ingestion}>
          {({ transcripts, transcripts_with_errors, error_count, search }) => (
            <dl className="ingestion">
              {STATUSES.map(([status, label, view]) => (
                <div key={status} className={status === 'failed' && (transcripts.failed ?? 0) > 0 ? 'bad' : undefined}>
                  <dt>{label}</dt>
                  <dd>
                    <Link to="/uploads" search={{ view } as never}>
                      <Count value={transcripts[status] ?? 0} />
                    </Link>
                  </dd>
                </div>
              ))}
              <div
                title={`Lines with lost content, in ${transcripts_with_errors} transcripts, whose raw bytes are kept`}
              >
                <dt>Warnings</dt>
                <dd>
                  <Link to="/uploads" search={{ view: 'issues' } as never}>
                    <Count value={error_count} />
                  </Link>
                </dd>
              </div>
              <div title="Sessions that search does not have as they are now">
                <dt>Waiting for search</dt>
                <dd>
                  <Count value={search.waiting_sessions} />
                </dd>
              </div>
            </dl>
          )}
        </Answered>
      </section>
      <FailedJobs />
    </>
  );
}

/** Requeues one after another; those that fail again come back to the list. */
function RequeueAll({ ids }: { ids: readonly string[] }): ReactNode {
  const [doneCount, setDoneCount] = useState(0);
  const requeue = useMutation({
    mutationFn: async () => {
      for (const [index, id] of ids.entries()) {
        await send('post', '/v1/transcripts/{transcript_id}/reparse', { parameters: { transcript_id: id } });
        setDoneCount(index + 1);
      }
    },
    onSettled: () => queryClient.invalidateQueries(),
  });
  return (
    <div className="row">
      <button type="button" disabled={requeue.isPending} onClick={() => requeue.mutate()}>
        Ingest {ids.length === 1 ? 'it' : `these ${formatCount(ids.length)}`} again
      </button>
      {requeue.isPending && (
        <p role="status">
          {formatCount(doneCount)} of {formatCount(ids.length)} wait again
        </p>
      )}
      {requeue.error !== null && <Failure error={requeue.error} />}
    </div>
  );
}

const SHOWN_FAILURES = 100;

/** Transcripts that workers have given up; the uploads page can requeue each one. */
function FailedJobs(): ReactNode {
  const failed = useAnswer('/v1/transcripts', { status: 'failed', order: 'desc', limit: SHOWN_FAILURES });
  return (
    <section aria-labelledby="failed">
      <h2 id="failed">Failed jobs</h2>
      <Answered of={failed}>
        {({ transcripts, next_cursor: next }) =>
          transcripts.length === 0 ? (
            <Empty title="No job has failed" />
          ) : (
            <>
              <p className="muted">The bytes are kept: a failed job can be retried once the cause is fixed.</p>
              <RequeueAll ids={transcripts.map(({ id }) => id)} />
              <ul className="failures">
                {transcripts.map(({ id, path, failure_reason: reason, attempt_count: attempts, created_at }) => (
                  <li key={id}>
                    <Link to="/uploads" search={{ view: 'failed', transcript: id } as never}>
                      {path ?? id}
                    </Link>{' '}
                    <span className="muted">
                      uploaded <Time iso={created_at} />, tried {formatCount(attempts)} times
                    </span>
                    <p>{reason}</p>
                  </li>
                ))}
              </ul>
              {next !== null && <p className="muted">The latest {formatCount(transcripts.length)} are shown.</p>}
            </>
          )
        }
      </Answered>
    </section>
  );
}
