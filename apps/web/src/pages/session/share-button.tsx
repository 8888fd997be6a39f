import { lazy, type ReactNode, Suspense, useState } from 'react';
import { useIsAdmin } from '../../server-data/use-shows.ts';

const Sharing = lazy(async () => ({ default: (await import('./sharing.tsx')).Sharing }));

/** Opens the dialog of links to a session, for keys that may create and revoke them. */
export function ShareButton({ sessionId }: { sessionId: string }): ReactNode {
  const isAdmin = useIsAdmin();
  const [isOpen, setOpen] = useState(false);
  if (!isAdmin) return null;
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        Share …
      </button>
      <Suspense>{isOpen && <Sharing sessionId={sessionId} close={() => setOpen(false)} />}</Suspense>
    </>
  );
}
