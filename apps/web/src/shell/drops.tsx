import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, useEffect, useState } from 'react';

const OTHER_THINGS =
  'Only files and folders can be dropped here. Save it as a file, then drop that or choose it under Uploads.';
const SIGNED_OUT = 'Sign in first, then drop it again.';

const hasFiles = (transfer: DataTransfer): boolean => transfer.types.includes('Files');
const isField = (target: EventTarget | null): boolean =>
  target instanceof Element && target.closest('input, textarea') !== null;

/**
 * Takes what is dropped anywhere in the dashboard, because a browser would open it in a tab instead. Text can still be
 * dropped into fields.
 */
export function Drops({ isSignedIn }: { isSignedIn: boolean }): ReactNode {
  const navigate = useNavigate();
  const [isOver, setOver] = useState(false);
  const [refusal, setRefusal] = useState<string>();
  useEffect(() => {
    const listening = new AbortController();
    // Browsers leave a page alone if something that it contains is dropped on it.
    let isOwn = false;
    const setOwn = ({ type }: Event): boolean => (isOwn = type === 'dragstart');
    for (const name of ['dragstart', 'dragend']) addEventListener(name, setOwn, listening);
    const listen = (name: 'dragover' | 'dragleave' | 'drop', react: (transfer: DataTransfer) => void): void =>
      addEventListener(
        name,
        (event) => {
          const { dataTransfer, target } = event;
          if (isOwn || dataTransfer === null || (isField(target) && !hasFiles(dataTransfer))) return;
          event.preventDefault();
          react(dataTransfer);
        },
        listening,
      );
    listen('dragover', (transfer) => setOver(hasFiles(transfer)));
    listen('dragleave', () => setOver(false));
    listen('drop', (transfer) => {
      setOver(false);
      const dropped = listDropped(transfer);
      setRefusal(dropped.length === 0 ? OTHER_THINGS : isSignedIn ? undefined : SIGNED_OUT);
      if (dropped.length === 0 || !isSignedIn) return;
      void import('../pages/uploads/upload-queue.ts').then(({ addDropped }) => addDropped(dropped));
      void navigate({ to: '/uploads' });
    });
    return () => listening.abort();
  }, [isSignedIn, navigate]);
  return (
    <>
      {isOver && isSignedIn && <div className="drop-target">Drop to upload</div>}
      {refusal !== undefined && (
        <div className="drop-refusal" role="alert">
          {refusal}
          <button type="button" onClick={() => setRefusal(undefined)}>
            Close
          </button>
        </div>
      )}
    </>
  );
}

/** Must be called while the event is being handled, because browsers empty the list after it. */
function listDropped({ items, files }: DataTransfer): (File | FileSystemEntry)[] {
  const listed = [...items].flatMap((item) => {
    const entry = item.webkitGetAsEntry();
    return (entry?.isFile ? item.getAsFile() : undefined) ?? entry ?? item.getAsFile() ?? [];
  });
  return listed.length > 0 ? listed : [...files];
}
