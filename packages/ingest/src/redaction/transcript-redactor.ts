import { type LineSecret, locateUnescaped, redactLine, unescapeJson } from './redact-line.ts';
import { createSecretScanner } from './secret-scanner.ts';

/** Secrets of one kind on one line. */
export interface SecretFinding {
  /** Name of the rule that found them. */
  rule: string;
  count: number;
  /** From 1. */
  lineNumber: number;
  /** Of the line's first byte. */
  byteOffset: number;
}

export interface RedactorOptions {
  /** Longer lines, which nothing reads, become spaces: they are not held, so nobody could look for secrets in them. */
  maxLineBytes: number;
  /** Called in the order of the lines. */
  onFinding: (finding: SecretFinding) => void;
}

export interface TranscriptRedactor {
  /** The bytes with all secrets replaced: as many as there were, and every line at its place. To be called once. */
  redact(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array>;
  /** Instead of `redact`, for bytes that come while they are read: the lines that the chunk completes; a partial line waits. */
  push(chunk: Uint8Array): Promise<Uint8Array>;
  /** After `push`: a last line that no line feed ended. */
  finish(): Promise<Uint8Array>;
  /** Whether any byte was changed so far. */
  readonly hasChanged: boolean;
}

/** Lines are searched together once they are this long: every search costs a fixed time besides. */
const SCAN_BYTES = 256 * 1024;
const LINE_FEED = 0x0a;
const SPACE = 0x20;

/**
 * Takes the secrets out of a transcript's bytes before anything reads them. Holds at most a line of `maxLineBytes`, or
 * SCAN_BYTES and a chunk of the source; while it searches them, about four times that.
 */
export function createTranscriptRedactor({ maxLineBytes, onFinding }: RedactorOptions): TranscriptRedactor {
  const scanner = createSecretScanner();
  const lines = createLineGroups(maxLineBytes);
  let lineNumber = 1;
  let byteOffset = 0;
  let hasChanged = false;

  const redactLines = async (bytes: Buffer): Promise<Buffer> => {
    if (bytes.length === 0) return bytes;
    // One character a byte: places are byte offsets, and bytes that are no UTF-8 stay what they are.
    const json = bytes.toString('latin1');
    const matches = await scanner.scan(unescapeJson(json));
    const { toStart, toEnd } = locateUnescaped(matches.length > 0 ? json : '');
    const secrets = matches.map(({ rule, start, end }) => ({ rule, start: toStart(start), end: toEnd(end) }));
    return replace(bytes, secrets);
  };

  const replace = (bytes: Buffer, secrets: readonly LineSecret[]): Buffer => {
    let nextSecret = 0;
    for (let lineStart = 0; lineStart < bytes.length; ) {
      const lineFeed = bytes.indexOf(LINE_FEED, lineStart);
      const lineEnd = lineFeed === -1 ? bytes.length : lineFeed;
      const ofLine: LineSecret[] = [];
      for (let secret = secrets[nextSecret]; secret !== undefined && secret.start < lineEnd; ) {
        const end = Math.min(secret.end, lineEnd);
        ofLine.push({ rule: secret.rule, start: secret.start - lineStart, end: end - lineStart });
        secret = secrets[++nextSecret];
      }
      if (ofLine.length > 0) {
        redactLine(bytes.subarray(lineStart, lineEnd), ofLine).copy(bytes, lineStart);
        report(ofLine);
      }
      const nextStart = lineFeed === -1 ? lineEnd : lineEnd + 1;
      byteOffset += nextStart - lineStart;
      if (lineFeed !== -1) lineNumber++;
      lineStart = nextStart;
    }
    return bytes;
  };

  const report = (secrets: readonly LineSecret[]): void => {
    hasChanged = true;
    const counts = new Map<string, number>();
    for (const { rule } of secrets) counts.set(rule, (counts.get(rule) ?? 0) + 1);
    for (const [rule, count] of counts) onFinding({ rule, count, lineNumber, byteOffset });
  };

  return {
    async *redact(source) {
      for await (const chunk of source) {
        lines.push(chunk);
        if (lines.completeBytes >= SCAN_BYTES) yield await redactLines(lines.takeComplete());
      }
      const rest = await redactLines(lines.takeAll());
      if (rest.length > 0) yield rest;
    },
    push: async (chunk) => {
      lines.push(chunk);
      return await redactLines(lines.takeComplete());
    },
    finish: async () => await redactLines(lines.takeAll()),
    get hasChanged() {
      return hasChanged || lines.hasBlanked;
    },
  };
}

/** Gathers whole lines. The bytes it gives are copies, to be changed at will. */
function createLineGroups(maxLineBytes: number) {
  let complete: Buffer[] = [];
  let completeBytes = 0;
  /** Of the unfinished line, those parts that were not given out as spaces. */
  let unfinished: Buffer[] = [];
  let lineBytes = 0;
  let hasBlanked = false;

  const moveToComplete = (): void => {
    for (const part of unfinished) {
      complete.push(part);
      completeBytes += part.length;
    }
    unfinished = [];
  };
  const add = (part: Buffer, isEnd: boolean): void => {
    unfinished.push(part);
    lineBytes += part.length;
    if (lineBytes - (isEnd ? 1 : 0) > maxLineBytes) {
      for (const each of unfinished) each.fill(SPACE, 0, isEnd && each === part ? part.length - 1 : each.length);
      hasBlanked = true;
      moveToComplete();
    }
    if (!isEnd) return;
    moveToComplete();
    lineBytes = 0;
  };
  const takeComplete = (): Buffer => {
    const bytes = Buffer.concat(complete, completeBytes);
    complete = [];
    completeBytes = 0;
    return bytes;
  };

  return {
    push(chunk: Uint8Array): void {
      const bytes = Buffer.from(chunk);
      let start = 0;
      for (let end = bytes.indexOf(LINE_FEED); end !== -1; end = bytes.indexOf(LINE_FEED, start)) {
        add(bytes.subarray(start, end + 1), true);
        start = end + 1;
      }
      if (start < bytes.length) add(bytes.subarray(start), false);
    },
    /** Lines, and the beginning of one that is too long. */
    takeComplete,
    /** The last line too, which no line feed ended. */
    takeAll(): Buffer {
      moveToComplete();
      return takeComplete();
    },
    get completeBytes() {
      return completeBytes;
    },
    get hasBlanked() {
      return hasBlanked;
    },
  };
}
