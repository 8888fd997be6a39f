import type { ReactNode } from 'react';
import {
  formatBytes,
  formatCompact,
  formatCount,
  formatDuration,
  formatFullTime,
  formatMoney,
  formatPercent,
  formatTime,
} from '../format/values.ts';

/** A figure of the API in readable form; the exact value is in its `value` and its title. */
function Figure({ value, text, unit }: { value: number | null; text: string; unit: string }): ReactNode {
  if (value === null) return <span className="figure none">{text}</span>;
  return (
    <data className="figure" value={value} title={`${value} ${unit}`}>
      {text}
    </data>
  );
}

export const Money = ({ value }: { value: number | null }): ReactNode => (
  <Figure value={value} text={formatMoney(value)} unit="(exact)" />
);
export const Count = ({ value }: { value: number | null }): ReactNode => (
  <Figure value={value} text={formatCount(value)} unit="" />
);
export const Tokens = ({ value }: { value: number | null }): ReactNode => (
  <Figure value={value} text={formatCompact(value)} unit="tokens" />
);
export const Percent = ({ value }: { value: number | null }): ReactNode => (
  <Figure value={value} text={formatPercent(value)} unit="" />
);
export const Duration = ({ ms }: { ms: number | null }): ReactNode => (
  <Figure value={ms} text={formatDuration(ms)} unit="ms" />
);
export const Bytes = ({ value }: { value: number | null }): ReactNode => (
  <Figure value={value} text={value === null ? '–' : formatBytes(value)} unit="bytes" />
);
export const Time = ({ iso }: { iso: string | null }): ReactNode =>
  iso === null ? (
    <span className="figure none">–</span>
  ) : (
    <time dateTime={iso} title={formatFullTime(iso)}>
      {formatTime(iso)}
    </time>
  );
