/** Where in JSON text a character of what `unescapeJson` makes of it begins, and where it ends. */
export interface UnescapedPlaces {
  toStart(index: number): number;
  toEnd(index: number): number;
}

/** Backslashes with what they escape, however often it was escaped: tools print JSON that holds JSON. */
const ESCAPES = /\\+(?:u[0-9a-fA-F]{4}|[bfnrt])?/g;
// Begun at the first backslash of a run alone: else a long run would be tried from each of its backslashes.
const CONTROLS = /(?<!\\)\\+[bfnrt]/g;
const CODES = /(?<!\\)\\+u([0-9a-fA-F]{4})/g;
const OTHERS = /\\+/g;

/**
 * JSON text as people would read it, to look for secrets in: some hold escapes, as key files do, and in `\nsecret` the
 * letter before it would hide it. Of what is not valid JSON it makes something similar.
 */
export function unescapeJson(json: string): string {
  return json
    .replace(CONTROLS, '\n')
    .replace(CODES, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
    .replace(OTHERS, '');
}

/** The places of the characters of `unescapeJson(json)`: needed where something was found alone. */
export function locateUnescaped(json: string): UnescapedPlaces {
  // Pieces by turns: text that stands as it is, and an escape.
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
