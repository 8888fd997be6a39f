import type { Virtualizer } from '@tanstack/react-virtual';
import { useCallback, useEffect, useRef } from 'react';

const REPEATED_AFTER_MS = [100, 300, 800];
/** After this long, the user is reading. */
const KEPT_MS = 5000;

/**
 * Scrolls to a turn, and again when turns around it are loaded and measured, because only then its position is exact;
 * stops when the user scrolls.
 */
export function useKeptPlace(virtual: Virtualizer<Window, Element>, loadedCount: number): (index: number) => void {
  const place = useRef<{ index: number; untilMs: number }>(undefined);
  const latest = useRef(virtual);
  latest.current = virtual;
  useEffect(() => {
    const leave = (): void => {
      place.current = undefined;
    };
    const events = ['wheel', 'touchmove', 'pointerdown'] as const;
    for (const event of events) addEventListener(event, leave, { passive: true });
    return () => {
      for (const event of events) removeEventListener(event, leave);
    };
  }, []);
  const repeat = useCallback(() => {
    if (place.current === undefined || performance.now() > place.current.untilMs) return;
    latest.current.scrollToIndex(place.current.index, { align: 'start' });
  }, []);
  useEffect(() => {
    const timers = REPEATED_AFTER_MS.map((delayMs) => setTimeout(repeat, delayMs));
    return () => timers.forEach(clearTimeout);
  }, [loadedCount, repeat]);
  return useCallback(
    (index) => {
      place.current = { index, untilMs: performance.now() + KEPT_MS };
      repeat();
    },
    [repeat],
  );
}
