const BYTE_UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];

/** Thousands separated by commas. */
export function formatCount(count: number): string {
  return formatDecimal(count, 0);
}

/**
 * With this many decimals, half rounded up, and thousands separated by commas. Intl would take longer to load than
 * printing a table.
 */
export function formatDecimal(value: number, decimals: number): string {
  // The shortest decimals that mean this number: 1.005 rather than the 1.00499999999999989 nearest to it.
  const [coefficient, exponent = '0'] = String(Math.abs(value)).split('e');
  const rounded = Math.round(Number(`${coefficient}e${Number(exponent) + decimals}`));
  const digits = String(rounded).padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals).replaceAll(/\B(?=(?:\d{3})+$)/g, ',');
  return `${value < 0 && rounded > 0 ? '-' : ''}${whole}${decimals > 0 ? `.${digits.slice(-decimals)}` : ''}`;
}

/** As `1 error` and `2 errors`; `plural` if that is not the noun with an s. */
export function formatCountOf(count: number, noun: string, plural = `${noun}s`): string {
  return `${formatCount(count)} ${count === 1 ? noun : plural}`;
}

/** Dollars, with four decimals below 1, else two. */
export function formatUsd(usd: number | null): string {
  if (usd === null) return 'unpriced';
  return `$${formatDecimal(usd, Math.abs(usd) < 1 ? 4 : 2)}`;
}

/** In steps of 1000, with one decimal below 10. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 999.5 && unit < BYTE_UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit > 0 && value < 9.95 ? value.toFixed(1) : Math.round(value)} ${BYTE_UNITS[unit]}`;
}

/** As `45 s`, `3 min 20 s` or `2 h 5 min`. */
export function formatDuration(durationMs: number): string {
  const seconds = Math.max(0, Math.round(durationMs / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** To the minute, in a time zone; true means UTC, false this machine's. */
export function formatTimestamp(timestamp: string | null, zone: boolean | string): string {
  if (timestamp === null) return '';
  const date = new Date(timestamp);
  if (typeof zone === 'string' && zone !== 'UTC') {
    return new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'short' }).format(date);
  }
  const inUtc = zone === true || zone === 'UTC';
  const offsetMs = inUtc ? 0 : date.getTimezoneOffset() * 60_000;
  return `${new Date(date.getTime() - offsetMs).toISOString().slice(0, 16).replace('T', ' ')}${inUtc ? 'Z' : ''}`;
}
