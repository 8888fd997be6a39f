import type { ReactNode } from 'react';

const LIFETIMES = [
  [1, 'in a day'],
  [7, 'in a week'],
  [30, 'in 30 days'],
  [365, 'in a year'],
] as const;
const DEFAULT_DAYS = 30;

/** The days until a link ends, as the field `days` of a form. */
export const LifetimeChoice = (): ReactNode => (
  <label className="row">
    Expires
    <select name="days" defaultValue={DEFAULT_DAYS}>
      {LIFETIMES.map(([days, label]) => (
        <option key={days} value={days}>
          {label}
        </option>
      ))}
    </select>
  </label>
);
