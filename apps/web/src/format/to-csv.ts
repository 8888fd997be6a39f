/**
 * Rows as CSV (RFC 4180) with a header. A text that a spreadsheet would treat as a formula is prefixed with an
 * apostrophe.
 */
export function toCsv(rows: readonly object[]): string {
  const [first] = rows;
  if (first === undefined) return '';
  const names = Object.keys(first).filter((name) => !isNested(Reflect.get(first, name)));
  const lines = rows.map((row) => names.map((name) => toCell(Reflect.get(row, name))).join(','));
  return `${[names.join(','), ...lines].join('\r\n')}\r\n`;
}

/** A list of names is a cell; an object is not. */
const isNested = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);

function toCell(value: unknown): string {
  if (value === null || value === undefined) return '';
  const text = Array.isArray(value) ? value.join(' ') : String(value);
  const safe = typeof value !== 'number' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
