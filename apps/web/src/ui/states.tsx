import type { ReactNode } from 'react';
import { ApiError } from '../server-data/client.ts';

/**
 * The place of what is loading, in grey; delayed at first, so that fast answers do not flicker. `what` is shown, too, if
 * it says more than that.
 */
export const Loading = ({ what }: { what?: string }): ReactNode => (
  <div className="loading" role="status">
    <p className={what === undefined ? 'hidden-label' : 'muted'}>{what ?? 'Loading'} …</p>
    {SKELETON_WIDTHS.map((width) => (
      <span key={width} className="skeleton" style={{ width }} aria-hidden="true" />
    ))}
  </div>
);

/** Lines as uneven as text and tables are. */
const SKELETON_WIDTHS = ['38%', '92%', '84%', '67%'];

/** Holds the place of a part that may turn out to be nothing. What is below it waits, as for `Loading`. */
export const Pending = (): ReactNode => <span className="loading" style={{ display: 'none' }} />;

/** Shown if there is nothing, with what that means, and what to do next. */
export const Empty = ({ title, children }: { title: string; children?: ReactNode }): ReactNode => (
  <div className="state">
    <p className="state-title">{title}</p>
    {children}
  </div>
);

/** The server's error message, and a way to continue. Without red where nothing failed: the key may not do this. */
export function Failure({ error, retry }: { error: unknown; retry?: (() => void) | undefined }): ReactNode {
  const { problem = {}, status } = error instanceof ApiError ? error : {};
  const isRefused = status === 403;
  const said = error instanceof Error ? error.message : 'Unknown error';
  const details = (problem.errors ?? [])
    .filter(({ message }) => message !== said)
    .map(({ field, message }) => `${field}: ${message}`);
  return (
    <div className={isRefused ? 'state' : 'state failure'} role="alert">
      <p className="state-title">
        {isRefused ? 'Your key does not allow this' : (problem.title ?? 'This could not be shown')}
      </p>
      <p>{said}</p>
      {details.map((line) => (
        <p key={line}>{line}</p>
      ))}
      {isRefused && <p>Sign in with a key that may do this.</p>}
      {!isRefused && problem.request_id !== undefined && <p className="muted">Request {problem.request_id}</p>}
      {!isRefused && retry !== undefined && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** Renders children with an answer once it is there; until then, or on failure, the state. */
export function Answered<Data>({
  of: { data, error, refetch },
  children,
}: {
  of: { data: Data | undefined; error: unknown; refetch: () => unknown };
  children: (data: Data) => ReactNode;
}): ReactNode {
  if (data !== undefined) return children(data);
  return error ? <Failure error={error} retry={() => void refetch()} /> : <Loading />;
}
