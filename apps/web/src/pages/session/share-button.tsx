import { lazy, type ReactNode, Suspense, useState } from 'react';
import { useAnswer } from '../../server-data/use-answer.ts';

const Sharing = lazy(async () => ({ default: (await import('./sharing.tsx')).Sharing }));

/** Opens the dialog of links to a session, for keys that may create and revoke them. */
export function ShareButton({ sessionId }: { sessionId: string }): ReactNode {
  const whoami = useAnswer('/v1/whoami', {});
  const [isOpen, setOpen] = useState(false);
  if (!whoami.data?.scopes.includes('admin')) return null;
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        Share …
      </button>
      <Suspense>{isOpen && <Sharing sessionId={sessionId} close={() => setOpen(false)} />}</Suspense>
    </>
  );
}
