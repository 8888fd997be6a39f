/** Start and end in the JSON text of each character that `unescapeJson` returns. */
interface UnescapedPlaces {
  toStart(index: number): number;
  toEnd(index: number): number;
}

/** Backslashes with what they escape, at any level of escaping, because tools print JSON that contains JSON. */
const ESCAPES = /\\+(?:u[0-9a-fA-F]{4}|[bfnrt])?/g;
// Matches only from the first backslash of a run; otherwise a long run would be tried from each backslash.
const CONTROLS = /(?<!\\)\\+[bfnrt]/g;
const CODES = /(?<!\\)\\+u([0-9a-fA-F]{4})/g;
const OTHERS = /\\+/g;

/**
 * JSON text as people would read it, for finding secrets, because some contain escapes, like key files, and the `n` of
 * `\nsecret` would hide the secret. Invalid JSON becomes something similar.
 */
export function unescapeJson(json: string): string {
  return json
    .replace(CONTROLS, '\n')
    .replace(CODES, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
    .replace(OTHERS, '');
}

/** The positions of the characters of `unescapeJson(json)`; needed only if something was found. */
export function locateUnescaped(json: string): UnescapedPlaces {
  // Alternating pieces of unescaped text and escapes.
  const textStarts = [0];
  const jsonStarts = [0];
  for (const { 0: sequence, index } of json.matchAll(ESCAPES)) {
    const textStart = (textStarts.at(-1) ?? 0) + index - (jsonStarts.at(-1) ?? 0);
    textStarts.push(textStart, textStart + unescapeJson(sequence).length);
    jsonStarts.push(index, index + sequence.length);
  }

  /** The last piece that begins at or before the index. */
  const findPiece = (index: number): number => {
    let low = 0;
    let high = textStarts.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((textStarts[middle] ?? 0) <= index) low = middle;
      else high = middle - 1;
    }
    return low;
  };
  const toStart = (index: number): number => {
    const piece = findPiece(index);
    return (jsonStarts[piece] ?? 0) + index - (textStarts[piece] ?? 0);
  };
  return {
    toStart,
    toEnd(index) {
      const piece = findPiece(index - 1);
      const isEscape = piece % 2 === 1;
      return isEscape ? (jsonStarts[piece + 1] ?? json.length) : toStart(index - 1) + 1;
    },
  };
}

/** Byte ranges of a line to be removed, in order; they do not overlap. */
export interface LineSecret {
  rule: string;
  start: number;
  end: number;
  /** It is a further piece of the secret before it, and not counted. */
  continues?: boolean | undefined;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;

/**
 * Replaces a line's secrets by `[REDACTED:<rule>]` without changing its length. Spaces at its end, which JSON allows,
 * make up the difference, so every line keeps its offset. A secret shorter than the mark becomes `[REDACTED]` or
 * asterisks. Valid JSON stays valid. No replacement reaches beyond the string where it begins.
 */
export function redactLine(line: Buffer, secrets: readonly LineSecret[]): Buffer {
  const redacted = Buffer.alloc(line.length, SPACE);
  redactPart(line, secrets).copy(redacted);
  return redacted;
}

/** A part of a line with its secrets replaced; it may be shorter than before. */
export function redactPart(line: Buffer, secrets: readonly LineSecret[]): Buffer {
  const redacted = Buffer.allocUnsafe(line.length);
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
  return redacted.subarray(0, to);
}

function toMarker(rule: string, maxBytes: number): string {
  const markers = [`[REDACTED:${rule}]`, '[REDACTED]'];
  return markers.find(({ length }) => length <= maxBytes) ?? '*'.repeat(maxBytes);
}

/** `end`, or the first unescaped quote before it. */
function toStringEnd(line: Buffer, start: number, end: number): number {
  for (let quote = line.indexOf(QUOTE, start); quote !== -1 && quote < end; quote = line.indexOf(QUOTE, quote + 1)) {
    let backslashes = 0;
    while (line[quote - backslashes - 1] === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return quote;
  }
  return end;
}

/** Widened so that no UTF-8 character is split. */
function toWholeCharacters(line: Buffer, start: number, end: number): { start: number; end: number } {
  const isContinuation = (index: number): boolean => ((line[index] ?? 0) & 0xc0) === 0x80;
  let [first, last] = [start, end];
  while (first > 0 && isContinuation(first)) first--;
  while (last < line.length && isContinuation(last)) last++;
  return { start: first, end: last };
}
