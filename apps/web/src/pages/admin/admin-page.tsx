import './admin.css';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useAnswer } from '../../api/use-answer.ts';
import { formatCount } from '../../format/values.ts';
import { Time } from '../../ui/figures.tsx';
import { Answered, Empty } from '../../ui/states.tsx';
import { useUrlState } from '../../ui/use-url-state.ts';
import { AuditLog } from './audit-log.tsx';
import { Prices } from './prices.tsx';
import { Settings } from './settings.tsx';

const VIEWS = [
  ['keys', 'Keys', Keys],
  ['prices', 'Prices', Prices],
  ['settings', 'Secrets and retention', Settings],
  ['jobs', 'Failed jobs', FailedJobs],
  ['audit', 'Audit log', AuditLog],
] as const;

/** What a workspace is governed by. Most of it needs a key with the scope admin. */
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
          You are signed in with a key without the scope admin: keys and the audit log are closed to it, and nothing can
          be changed.
        </p>
      )}
      <View />
    </div>
  );
}

function Keys(): ReactNode {
  const keys = useAnswer('/v1/keys', {});
  return (
    <section aria-labelledby="keys">
      <h2 id="keys">API keys</h2>
      <p className="muted">
        Keys are made, rotated and revoked by who has the server itself: <code>recount keys create</code>,{' '}
        <code>recount keys rotate</code>, <code>recount keys revoke</code>. A secret is shown once, and never by this
        page.
      </p>
      <Answered of={keys}>
        {({ keys: all }) => (
          <div className="scroll-x" tabIndex={0} role="region" aria-label="API keys">
            <table className="plain-table">
              <thead>
                <tr>
                  {['Name', 'Ends in', 'May', 'Person', 'Made', 'Last used', 'Expires', ''].map((head) => (
                    <th key={head} scope="col">
                      {head || <span className="hidden-label">State</span>}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {all.map((key) => (
                  <tr key={key.id}>
                    <td title={key.id}>{key.name}</td>
                    <td>
                      <code>{key.hint}</code>
                    </td>
                    <td>{key.scopes.join(', ')}</td>
                    <td>{key.person ?? <span className="muted">the upload says</span>}</td>
                    <td>
                      <Time iso={key.created_at} />
                    </td>
                    <td>
                      <Time iso={key.last_used_at} />
                    </td>
                    <td>{key.expires_at === null ? 'never' : <Time iso={key.expires_at} />}</td>
                    <td>{key.revoked_at !== null && <span className="tag error">revoked</span>}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Answered>
    </section>
  );
}

const SHOWN_FAILURES = 100;

/** Transcripts that workers have given up; each is ingested again on the uploads page. */
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
              <p className="muted">
                The bytes are kept. <code>recount requeue --failed</code> gives all of them another chance.
              </p>
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
