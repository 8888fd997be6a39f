const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LETTER_U = 0x75;

/** Follows a text of JSON from behind its opening quote. */
export function createJsonText() {
  let byteLength = 0;
  let isEscaped = false;
  let hexDigits = 0;
  let code = 0;
  /** Whether half a pair stands before, whose other half may follow. */
  let isHalfPair = false;
  return {
    begin(): void {
      byteLength = 0;
      isEscaped = false;
      hexDigits = 0;
      isHalfPair = false;
    },
    /** Whether a character, or the end, begins with this byte, which is to be read next. */
    isBetweenCharacters: (byte: number): boolean =>
      !isEscaped && hexDigits === 0 && !isHalfPair && (byte & 0xc0) !== 0x80,
    /** Whether the byte is the closing quote. */
    isEnd(byte: number): boolean {
      if (hexDigits > 0) {
        code = code * 16 + (Number.parseInt(String.fromCharCode(byte), 16) || 0);
        if (--hexDigits === 0) {
          isHalfPair = !isHalfPair && code >= 0xd800 && code <= 0xdbff;
          byteLength += toUtf8Length(code);
        }
      } else if (isEscaped) {
        isEscaped = false;
        if (byte === LETTER_U) {
          hexDigits = 4;
          code = 0;
        } else byteLength++;
      } else if (byte === BACKSLASH) isEscaped = true;
      else if (byte === QUOTE) return true;
      else {
        byteLength++;
        isHalfPair = false;
      }
      return false;
    },
    /** Reads on to a quote or backslash, and gives its place; the end of the bytes if there is none. */
    skip(bytes: Buffer, start: number): number {
      if (isEscaped || hexDigits > 0) return start;
      let at = start;
      for (let byte = bytes[at]; byte !== undefined && byte !== QUOTE && byte !== BACKSLASH; byte = bytes[++at]);
      if (at > start) isHalfPair = false;
      byteLength += at - start;
      return at;
    },
    /** Length of what was read, without escapes, as UTF-8. */
    get byteLength() {
      return byteLength;
    },
  };
}

function toUtf8Length(code: number): number {
  if (code < 0x80) return 1;
  // Each half of a pair is two of its four bytes.
  return code < 0x800 || (code >= 0xd800 && code <= 0xdfff) ? 2 : 3;
}
