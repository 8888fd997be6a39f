import type { SessionDetail } from '@recount/contract';
import { toVisible } from '@recount/contract/conversation';
import { Link } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { send } from '../../server-data/client.ts';
import { queryClient } from '../../server-data/use-answer.ts';
import { useIsAdmin } from '../../server-data/use-shows.ts';
import { Failure } from '../../ui/states.tsx';

const AnnotationDialog = lazy(async () => ({ default: (await import('./annotation-dialog.tsx')).AnnotationDialog }));

/** The session's title with its star, tags and note, which admins change here. */
export function AnnotatedTitle({ session }: { session: SessionDetail }): ReactNode {
  const mayChange = useIsAdmin();
  const [isOpen, setOpen] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const { session_id, is_starred: isStarred, tags, note } = session;
  const star = (): Promise<void> =>
    send('patch', '/v1/sessions/{session_id}', { parameters: { session_id }, body: { is_starred: !isStarred } })
      .then(() => queryClient.invalidateQueries())
      .catch(setError);
  return (
    <>
      <div className="annotated-title">
        {mayChange ? (
          <button type="button" className="star" aria-pressed={isStarred} aria-label="Starred" onClick={star}>
            {isStarred ? '★' : '☆'}
          </button>
        ) : (
          isStarred && (
            <span className="star" role="img" aria-label="Starred">
              ★
            </span>
          )
        )}
        <h1>{toVisible(session.title)}</h1>
        {mayChange && (
          <button type="button" onClick={() => setOpen(true)}>
            Edit<span className="hidden-label"> title, tags and note</span>
          </button>
        )}
      </div>
      {(tags.length > 0 || note !== null) && (
        <div className="row annotation">
          {tags.map((tag) => (
            <Link key={tag} className="tag" to="/sessions" search={{ tag, period: 'all' } as never}>
              {toVisible(tag)}
            </Link>
          ))}
          {note !== null && <p className="note">{toVisible(note)}</p>}
        </div>
      )}
      {error !== null && <Failure error={error} />}
      <Suspense>{isOpen && <AnnotationDialog session={session} close={() => setOpen(false)} />}</Suspense>
    </>
  );
}
