import type { ReactNode } from 'react';
import { PERIODS } from '../format/period.ts';
import type { UrlChange, UrlState } from './use-url-state.ts';

/** Chooses the period of a page: by name, or by the dates in its URL (`from`, `to`). */
export function PeriodPicker({
  state,
  fallback,
  change,
}: {
  state: UrlState;
  fallback: string;
  change: (change: UrlChange) => void;
}): ReactNode {
  const { from, to, period = fallback } = state;
  const hasDates = from !== undefined || to !== undefined;
  return (
    <div className="row">
      <div className="segments" role="group" aria-label="Time">
        {PERIODS.map(([id, label]) => (
          <button
            key={id}
            type="button"
            aria-pressed={!hasDates && id === period}
            onClick={() => change({ period: id, from: undefined, to: undefined })}
          >
            {label}
          </button>
        ))}
      </div>
      {hasDates && (
        <span className="tag">
          {from ?? '…'} to {to ?? 'now'}
        </span>
      )}
    </div>
  );
}
