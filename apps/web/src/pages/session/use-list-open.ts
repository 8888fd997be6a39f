import { useCallback, useEffect, useState } from 'react';

const STORAGE_KEY = 'recount.session-list';
/** Below this, the list opens over the conversation. */
const BESIDE = '(min-width: 1180px)';
/** From here on there is room for it, the conversation, and its prompts. */
const ROOMY = '(min-width: 1440px)';

interface ListOpen {
  isOpen: boolean;
  /** True if there is room for a column. */
  isBeside: boolean;
  setOpen: (isOpen: boolean) => void;
}

/** Remembers in this browser whether the list is wanted beside the conversation. */
export function useListOpen(): ListOpen {
  const [isBeside, setBeside] = useState(() => matchMedia(BESIDE).matches);
  const [isOpen, setShown] = useState(isWantedBeside);
  useEffect(() => {
    const media = matchMedia(BESIDE);
    const onChange = (): void => {
      setBeside(media.matches);
      setShown(isWantedBeside());
    };
    media.addEventListener('change', onChange);
    return () => media.removeEventListener('change', onChange);
  }, []);
  const setOpen = useCallback((next: boolean) => {
    setShown(next);
    if (matchMedia(BESIDE).matches) localStorage.setItem(STORAGE_KEY, next ? 'open' : 'closed');
  }, []);
  return { isOpen, isBeside, setOpen };
}

function isWantedBeside(): boolean {
  const wanted = localStorage.getItem(STORAGE_KEY) ?? (matchMedia(ROOMY).matches ? 'open' : 'closed');
  return matchMedia(BESIDE).matches && wanted === 'open';
}
