/** Bytes of a line to be taken out, from its beginning; they do not overlap. */
export interface LineSecret {
  rule: string;
  start: number;
  end: number;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;

/**
 * The line with its secrets replaced by `[REDACTED:<rule>]`, at the same number of bytes: spaces at its end, which JSON
 * allows, make up for what is shorter. So every line stays where it was. A secret shorter than that leaves `[REDACTED]`
 * or asterisks. Valid JSON stays valid: no replacement reaches beyond the string in which it begins.
 */
export function redactLine(line: Buffer, secrets: readonly LineSecret[]): Buffer {
  const redacted = Buffer.alloc(line.length, SPACE);
  let from = 0;
  let to = 0;
  const copyUntil = (end: number): void => {
    to += line.copy(redacted, to, from, end);
    from = end;
  };
  for (const { rule, start, end } of secrets) {
    const place = toWholeCharacters(line, Math.max(start, from), toStringEnd(line, start, end));
    if (place.end <= place.start) continue;
    copyUntil(place.start);
    to += redacted.write(toMarker(rule, place.end - place.start), to, 'latin1');
    from = place.end;
  }
  copyUntil(line.length);
  return redacted;
}

function toMarker(rule: string, maxBytes: number): string {
  const markers = [`[REDACTED:${rule}]`, '[REDACTED]'];
  return markers.find(({ length }) => length <= maxBytes) ?? '*'.repeat(maxBytes);
}

/** `end`, or the first quote before it that no backslash escapes. */
function toStringEnd(line: Buffer, start: number, end: number): number {
  for (let quote = line.indexOf(QUOTE, start); quote !== -1 && quote < end; quote = line.indexOf(QUOTE, quote + 1)) {
    let backslashes = 0;
    while (line[quote - backslashes - 1] === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return quote;
  }
  return end;
}

/** Widened so that no character of UTF-8 is cut. */
function toWholeCharacters(line: Buffer, start: number, end: number): { start: number; end: number } {
  const isContinuation = (index: number): boolean => ((line[index] ?? 0) & 0xc0) === 0x80;
  let [first, last] = [start, end];
  while (first > 0 && isContinuation(first)) first--;
  while (last < line.length && isContinuation(last)) last++;
  return { start: first, end: last };
}
