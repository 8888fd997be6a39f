import './admin.css';
import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { formatCount } from '../../format/values.ts';
import { send } from '../../server-data/client.ts';
import { queryClient, useAnswer } from '../../server-data/use-answer.ts';
import { Time } from '../../ui/figures.tsx';
import { Answered, Empty, Failure } from '../../ui/states.tsx';
import { useUrlState } from '../../ui/use-url-state.ts';
import { AuditLog } from './audit-log.tsx';
import { Browsers } from './browsers.tsx';
import { Checks } from './checks.tsx';
import { Keys } from './keys.tsx';
import { Prices } from './prices.tsx';
import { Settings } from './settings.tsx';
import { Workspaces } from './workspaces.tsx';

const VIEWS = [
  ['keys', 'Keys', Keys],
  ['browsers', 'Browsers', Browsers],
  ['workspaces', 'Workspaces', Workspaces],
  ['prices', 'Prices', Prices],
  ['settings', 'Secrets and retention', Settings],
  ['checks', 'Checks', Checks],
  ['jobs', 'Failed jobs', FailedJobs],
  ['audit', 'Audit log', AuditLog],
] as const;

/** Administration of a workspace. Most of it needs a key with the scope admin. */
export function AdminPage(): ReactNode {
  const [state, change] = useUrlState();
  const [shown, , View] = VIEWS.find(([id]) => id === state.view) ?? VIEWS[0];
  const whoami = useAnswer('/v1/whoami', {});
  const isAdmin = whoami.data?.scopes.includes('admin') ?? true;
  return (
    <div className="admin-page">
      <h1>Admin</h1>
      <div className="segments" role="group" aria-label="What to show">
        {VIEWS.map(([id, label]) => (
          <button key={id} type="button" aria-pressed={id === shown} onClick={() => change({ view: id })}>
            {label}
          </button>
        ))}
      </div>
      {!isAdmin && (
        <p className="caveats" role="note">
          You are signed in with a key without the scope admin: it cannot see keys, browsers, checks and the audit log,
          nor change anything.
        </p>
      )}
      <View />
    </div>
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
