import type { Virtualizer } from '@tanstack/react-virtual';
import { useCallback, useEffect, useRef } from 'react';

const REPEATED_AFTER_MS = [100, 300, 800];
/** After this long, the user is reading. */
const KEPT_MS = 5000;

export interface KeptPlace {
  scrollTo: (index: number) => void;
  /** Keeps the place no longer, as if the user had scrolled. */
  release: () => void;
}

/**
 * Scrolls to a turn, and again when turns around it are loaded and measured, because only then its position is exact;
 * stops when the user scrolls.
 */
export function useKeptPlace(virtual: Virtualizer<Window, Element>, loadedCount: number): KeptPlace {
  const place = useRef<{ index: number; untilMs: number }>(undefined);
  const latest = useRef(virtual);
  latest.current = virtual;
  const release = useCallback(() => {
    place.current = undefined;
  }, []);
  useEffect(() => {
    const events = ['wheel', 'touchmove', 'pointerdown'] as const;
    for (const event of events) addEventListener(event, release, { passive: true });
    return () => {
      for (const event of events) removeEventListener(event, release);
    };
  }, [release]);
  const repeat = useCallback(() => {
    if (place.current === undefined || performance.now() > place.current.untilMs) return;
    latest.current.scrollToIndex(place.current.index, { align: 'start' });
  }, []);
  useEffect(() => {
    const timers = REPEATED_AFTER_MS.map((delayMs) => setTimeout(repeat, delayMs));
    return () => timers.forEach(clearTimeout);
  }, [loadedCount, repeat]);
  const scrollTo = useCallback(
    (index: number) => {
      place.current = { index, untilMs: performance.now() + KEPT_MS };
      repeat();
    },
    [repeat],
  );
  return { scrollTo, release };
}
