/**
 * The most values (elements, members, and the arrays and objects around them) that are read of a line. A value takes up
 * to 160 bytes of memory however few bytes it has: `{}` has two. No line of the test corpus has more than 1,500.
 */
export const MAX_LINE_VALUES = 500_000;

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const OPEN_OBJECT = 0x7b;

/**
 * The number of values in JSON, or any number over `max` if there are more, because counting ends there. Counts in text
 * that is no JSON mean nothing, but bound what reading it can make.
 */
export function countJsonValues(json: string, max: number): number {
  let count = 1;
  for (let at = 0; at < json.length && count <= max; at++) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) at = findTextEnd(json, at + 1);
    else if (code === COMMA || code === OPEN_ARRAY || code === OPEN_OBJECT) count++;
  }
  return count;
}

/** True if JSON has more values than `max`. Free for short texts, because a value has at least one character. */
export function hasMoreValues(json: string, max: number): boolean {
  return json.length > max && countJsonValues(json, max) > max;
}

/** Values that JSON in the current line's texts may still hold, and the number of texts that held too many. */
let nestedValuesLeft = MAX_LINE_VALUES;
let refusedTexts = 0;

/**
 * Begins a line, whose texts may together hold JSON of `MAX_LINE_VALUES` values. A line is read synchronously from
 * beginning to end, so one count serves all readers.
 */
export function beginNestedJson(): void {
  nestedValuesLeft = MAX_LINE_VALUES;
  refusedTexts = 0;
}

/** Takes the values of a JSON text from those left to the line. False if too few are left, so that it stays text. */
export function mayParseNested(json: string): boolean {
  const count = countJsonValues(json, nestedValuesLeft);
  const isRefused = count > nestedValuesLeft;
  if (isRefused) refusedTexts++;
  else nestedValuesLeft -= count;
  return !isRefused;
}

/** Number of texts since `beginNestedJson` that were left as text because their JSON has too many values. */
export function countRefusedTexts(): number {
  return refusedTexts;
}

/** Index of the quote that ends the text; the end of the JSON if there is none. */
function findTextEnd(json: string, start: number): number {
  for (let end = json.indexOf('"', start); end !== -1; end = json.indexOf('"', end + 1)) {
    let before = end - 1;
    while (before >= start && json.charCodeAt(before) === BACKSLASH) before--;
    if ((end - before) % 2 === 1) return end;
  }
  return json.length;
}
