import type { ReactNode } from 'react';
import { PERIODS, toDatesLabel } from '../format/period.ts';
import type { UrlChange, UrlState } from './use-url-state.ts';

/** Chooses the period of a page by name, or by the dates in its URL (`from`, `to`). */
export function PeriodPicker({
  state,
  fallback,
  change,
}: {
  state: UrlState;
  fallback: string;
  change: (change: UrlChange) => void;
}): ReactNode {
  const { period = fallback } = state;
  const dates = toDatesLabel(state);
  return (
    <div className="row">
      <div className="segments" role="group" aria-label="Time">
        {PERIODS.map(([id, label]) => (
          <button
            key={id}
            type="button"
            aria-pressed={dates === undefined && id === period}
            onClick={() => change({ period: id, from: undefined, to: undefined })}
          >
            {label}
          </button>
        ))}
      </div>
      {dates !== undefined && <span className="tag">{dates}</span>}
    </div>
  );
}
