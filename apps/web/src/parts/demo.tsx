import { type ReactNode, useState } from 'react';
import { enterDemo, leaveDemo, send } from '../server-data/client.ts';
import { queryClient } from '../server-data/use-answer.ts';

/** A full reload discards everything of the other workspace. */
function reload(): void {
  queryClient.clear();
  location.assign('/');
}

interface Work {
  isBusy: boolean;
  error: string | undefined;
  start(): void;
}

function useWork(work: () => Promise<void>): Work {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<string>();
  const start = (): void => {
    setBusy(true);
    setError(undefined);
    work().catch((failure: Error) => {
      setError(failure.message);
      setBusy(false);
    });
  };
  return { isBusy, error, start };
}

/** Makes the demo and opens it. Needs a key with the scope operator. */
export function ExploreDemo(): ReactNode {
  const { isBusy, error, start } = useWork(async () => {
    const { page } = await send('post', '/v1/demo');
    enterDemo(page);
    reload();
  });
  return (
    <>
      <button type="button" disabled={isBusy} onClick={start}>
        {isBusy ? 'Preparing demo data …' : 'Explore demo data'}
      </button>
      {error !== undefined && <p role="alert">{error}</p>}
    </>
  );
}

/** Says on every page that the data are invented. */
export function DemoBanner(): ReactNode {
  const { isBusy, error, start } = useWork(async () => {
    await send('delete', '/v1/demo');
    leaveDemo();
    reload();
  });
  const goBack = (): void => {
    leaveDemo();
    reload();
  };
  return (
    <aside className="demo-banner" aria-label="Demo">
      <p>
        <strong>Demo data.</strong> An invented company: nothing here is yours.
      </p>
      <div className="row">
        <button type="button" onClick={goBack}>
          Back to your data
        </button>
        <button type="button" className="quiet" disabled={isBusy} onClick={start}>
          {isBusy ? 'Deleting …' : 'Delete demo'}
        </button>
      </div>
      {error !== undefined && <p role="alert">{error}</p>}
    </aside>
  );
}
