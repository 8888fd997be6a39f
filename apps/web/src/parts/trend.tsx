import './trend.css';
import { lazy, type ReactNode, Suspense } from 'react';
import type { TimeBarsProps } from './time-bars.tsx';

const TimeBars = lazy(async () => ({ default: (await import('./time-bars.tsx')).TimeBars }));

/** A figure of a report over time. The chart is loaded after the page, in a place of its height. */
export function Trend(props: TimeBarsProps): ReactNode {
  return (
    <Suspense fallback={<TrendPlace />}>
      <TimeBars {...props} />
    </Suspense>
  );
}

/** The place of a trend that is loading. */
export const TrendPlace = (): ReactNode => <div className="loading trend-place" />;
