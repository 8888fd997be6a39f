import { useEffect, useRef } from 'react';

type Keys = Readonly<Record<string, (event: KeyboardEvent) => void>>;

/** True if a key belongs to the focused element, such as a field, or an open menu or dialog. */
function isTaken({ target }: KeyboardEvent): boolean {
  return (
    target instanceof Element &&
    target.closest('input, textarea, select, [contenteditable], [role=dialog], [role=menu], [role=listbox]') !== null
  );
}

/** A page's single-key shortcuts, e.g. `{ j: next }`. Keys with Control, Alt or Meta are the browser's. */
export function useKeys(keys: Keys): void {
  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.altKey || event.metaKey || isTaken(event)) return;
      const action = latest.current[event.key];
      if (action === undefined) return;
      event.preventDefault();
      action(event);
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
}
