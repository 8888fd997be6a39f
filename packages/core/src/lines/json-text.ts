const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LETTER_U = 0x75;

/** Scans a JSON string, starting after its opening quote. */
export function createJsonText() {
  let byteLength = 0;
  let isEscaped = false;
  let hexDigits = 0;
  let code = 0;
  /** True if the last unit was the first half of a surrogate pair. */
  let isHalfPair = false;
  return {
    begin(): void {
      byteLength = 0;
      isEscaped = false;
      hexDigits = 0;
      isHalfPair = false;
    },
    /** True if the next byte starts a character or ends the text. */
    isBetweenCharacters: (byte: number): boolean =>
      !isEscaped && hexDigits === 0 && !isHalfPair && (byte & 0xc0) !== 0x80,
    /** True if the byte is the closing quote. */
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
    /** Skips to the next quote or backslash and returns its index; the end of the bytes if there is none. */
    skip(bytes: Buffer, start: number): number {
      if (isEscaped || hexDigits > 0) return start;
      let at = start;
      for (let byte = bytes[at]; byte !== undefined && byte !== QUOTE && byte !== BACKSLASH; byte = bytes[++at]);
      if (at > start) isHalfPair = false;
      byteLength += at - start;
      return at;
    },
    /** Length in UTF-8 of what was read, with escapes decoded. */
    get byteLength() {
      return byteLength;
    },
  };
}

function toUtf8Length(code: number): number {
  if (code < 0x80) return 1;
  // Each half of a surrogate pair counts for two of its four bytes.
  return code < 0x800 || (code >= 0xd800 && code <= 0xdfff) ? 2 : 3;
}
