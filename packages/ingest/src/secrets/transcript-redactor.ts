import { type LineSecret, locateUnescaped, redactLine, redactPart, unescapeJson } from './redact-line.ts';
import { createSecretScanner, type SecretScanner } from './secret-scanner.ts';

/** Secrets of one kind on one line. */
export interface SecretFinding {
  /** Name of the rule that found them. */
  rule: string;
  count: number;
  /** From 1. */
  lineNumber: number;
  /** Offset of the line's first byte. */
  byteOffset: number;
}

export interface RedactorOptions {
  /** Longer lines are not held; in these, secrets of up to about 16 KiB are found. */
  maxLineBytes: number;
  /** Called in the order of the lines. */
  onFinding: (finding: SecretFinding) => void;
}

/** Lines are searched together once they have this many bytes, because every search has a fixed cost. */
const SCAN_BYTES = 256 * 1024;
/**
 * Lines longer than `maxLineBytes` are searched in windows of this size; the end of each window, which may cut a
 * secret, is searched again with the next.
 */
const WINDOW_BYTES = 1024 * 1024;
const OVERLAP_BYTES = 128 * 1024;
/** The longest escape: `\ud83d`. */
const MAX_ESCAPE_BYTES = 6;
const LINE_FEED = 0x0a;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;
const NOTHING = Buffer.alloc(0);

/**
 * Removes the secrets from a transcript's bytes before anything reads them. Holds at most a line of `maxLineBytes`, or
 * SCAN_BYTES and a chunk of the source; while searching, about four times that.
 */
export class TranscriptRedactor {
  readonly #onFinding: (finding: SecretFinding) => void;
  readonly #scanner: SecretScanner;
  readonly #lines: ReturnType<typeof createLineGroups>;
  #lineNumber = 1;
  #byteOffset = 0;
  #hasChanged = false;
  #long: ReturnType<typeof createLongLine>;

  constructor({ maxLineBytes, onFinding }: RedactorOptions) {
    this.#onFinding = onFinding;
    this.#scanner = createSecretScanner();
    this.#lines = createLineGroups(maxLineBytes);
    this.#long = createLongLine();
  }

  /** The bytes with all secrets replaced, without changing any offset. To be called once. */
  async *redact(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of source) {
      this.#lines.push(chunk);
      if (this.#lines.completeBytes >= SCAN_BYTES) yield await this.#redactAll(this.#lines.takeComplete());
    }
    const rest = await this.#redactAll(this.#lines.takeAll());
    if (rest.length > 0) yield rest;
  }

  /**
   * Alternative to `redact` for bytes that arrive over time. Returns the lines that the chunk completes; a partial line
   * waits.
   */
  async push(chunk: Uint8Array): Promise<Uint8Array> {
    this.#lines.push(chunk);
    return await this.#redactAll(this.#lines.takeComplete());
  }

  /** After `push`, returns a last line without a line feed. */
  async finish(): Promise<Uint8Array> {
    return await this.#redactAll(this.#lines.takeAll());
  }

  /** True if any byte has been changed so far. */
  get hasChanged(): boolean {
    return this.#hasChanged;
  }

  async #findSecrets(bytes: Buffer): Promise<LineSecret[]> {
    // One character for each byte, so indexes are byte offsets, and invalid UTF-8 is preserved.
    const json = bytes.toString('latin1');
    const matches = await this.#scanner.scan(unescapeJson(json));
    const { toStart, toEnd } = locateUnescaped(matches.length > 0 ? json : '');
    return joinPieces(
      bytes,
      matches.map(({ rule, start, end, continues }) => ({ rule, continues, start: toStart(start), end: toEnd(end) })),
    );
  }

  async #redactLines(bytes: Buffer): Promise<Buffer> {
    if (bytes.length === 0) return bytes;
    return this.#replace(bytes, await this.#findSecrets(bytes));
  }

  #replace(bytes: Buffer, secrets: readonly LineSecret[]): Buffer {
    let nextSecret = 0;
    for (let lineStart = 0; lineStart < bytes.length; ) {
      const lineFeed = bytes.indexOf(LINE_FEED, lineStart);
      const lineEnd = lineFeed === -1 ? bytes.length : lineFeed;
      const ofLine: LineSecret[] = [];
      for (let secret = secrets[nextSecret]; secret !== undefined && secret.start < lineEnd; ) {
        const end = Math.min(secret.end, lineEnd);
        ofLine.push({ ...secret, start: secret.start - lineStart, end: end - lineStart });
        secret = secrets[++nextSecret];
      }
      if (ofLine.length > 0) {
        this.#hasChanged = true;
        redactLine(bytes.subarray(lineStart, lineEnd), ofLine).copy(bytes, lineStart);
        this.#report(countByRule(ofLine));
      }
      const nextStart = lineFeed === -1 ? lineEnd : lineEnd + 1;
      this.#byteOffset += nextStart - lineStart;
      if (lineFeed !== -1) this.#lineNumber++;
      lineStart = nextStart;
    }
    return bytes;
  }

  #report(counts: ReadonlyMap<string, number>): void {
    for (const [rule, count] of counts)
      this.#onFinding({ rule, count, lineNumber: this.#lineNumber, byteOffset: this.#byteOffset });
  }

  /** The bytes that can be emitted of a line that comes in parts. */
  async #redactLong(part: Buffer, isEnd: boolean): Promise<Buffer> {
    const given: Buffer[] = [];
    const isTerminated = part.at(-1) === LINE_FEED;
    this.#long.held = Buffer.concat([this.#long.held, isTerminated ? part.subarray(0, -1) : part]);
    this.#long.byteLength += part.length;
    while (this.#long.held.length > WINDOW_BYTES || (isEnd && this.#long.held.length > 0)) {
      const window = this.#long.held.subarray(0, WINDOW_BYTES);
      const secrets = await this.#findSecrets(window);
      const end = window.length === this.#long.held.length ? window.length : toWindowEnd(window, secrets);
      const within = secrets.filter((secret) => secret.end <= end);
      this.#hasChanged ||= within.length > 0;
      countByRule(within, this.#long.counts);
      const redacted = redactPart(window.subarray(0, end), within);
      this.#long.missingBytes += end - redacted.length;
      given.push(redacted);
      this.#long.held = this.#long.held.subarray(end);
    }
    if (isEnd) {
      given.push(Buffer.alloc(this.#long.missingBytes, SPACE), isTerminated ? part.subarray(-1) : NOTHING);
      this.#report(this.#long.counts);
      this.#byteOffset += this.#long.byteLength;
      if (isTerminated) this.#lineNumber++;
      this.#long = createLongLine();
    }
    return Buffer.concat(given);
  }

  async #redactAll(groups: readonly LineGroup[]): Promise<Buffer> {
    const given: Buffer[] = [];
    for (const { bytes, isPart, isEnd } of groups) {
      given.push(isPart ? await this.#redactLong(bytes, isEnd) : await this.#redactLines(bytes));
    }
    return given.length === 1 ? (given[0] ?? NOTHING) : Buffer.concat(given);
  }
}

/** The state of a line that comes in parts. */
function createLongLine() {
  /** `missingBytes` is the number of bytes that the marks are shorter than the secrets. */
  return { held: NOTHING as Buffer, byteLength: 0, missingBytes: 0, counts: new Map<string, number>() };
}

function countByRule(secrets: readonly LineSecret[], counts = new Map<string, number>()): Map<string, number> {
  for (const { rule, continues } of secrets) if (!continues) counts.set(rule, (counts.get(rule) ?? 0) + 1);
  return counts;
}

/** One mark replaces the pieces of a secret that are in the same string; what is between them goes too. */
function joinPieces(bytes: Buffer, secrets: readonly LineSecret[]): LineSecret[] {
  const joined: LineSecret[] = [];
  for (const secret of secrets) {
    const last = joined.at(-1);
    const between = secret.continues && last?.rule === secret.rule ? bytes.subarray(last.end, secret.start) : undefined;
    if (last !== undefined && between?.includes(LINE_FEED) === false && !between.includes(QUOTE)) last.end = secret.end;
    else joined.push({ ...secret });
  }
  return joined;
}

/** Secrets with all of their pieces. */
function toWhole(secrets: readonly LineSecret[]): LineSecret[] {
  const whole: LineSecret[] = [];
  for (const secret of secrets) {
    const last = whole.at(-1);
    if (secret.continues && last !== undefined) last.end = secret.end;
    else whole.push({ ...secret });
  }
  return whole;
}

/** The end of the part of a window that can be emitted (before the overlap, and not within a secret or an escape). */
function toWindowEnd(window: Buffer, secrets: readonly LineSecret[]): number {
  const wanted = window.length - OVERLAP_BYTES;
  const torn = toWhole(secrets).find(({ start, end }) => start < wanted && end > wanted);
  let end = torn === undefined ? wanted : torn.start > 0 ? torn.start : torn.end;
  const backslash = window.subarray(Math.max(0, end - MAX_ESCAPE_BYTES), end).lastIndexOf(BACKSLASH);
  if (backslash !== -1) {
    end = Math.max(0, end - MAX_ESCAPE_BYTES) + backslash;
    while (end > 0 && window[end - 1] === BACKSLASH) end--;
  }
  while (end > 0 && ((window[end] ?? 0) & 0xc0) === 0x80) end--;
  return end > 0 ? end : wanted;
}

/** Complete lines, or a part of a line that is too long to be held. */
interface LineGroup {
  bytes: Buffer;
  isPart: boolean;
  /** For a part, the line ends with it. */
  isEnd: boolean;
}

/** Collects complete lines. The returned bytes are copies and may be modified. */
function createLineGroups(maxLineBytes: number) {
  let groups: LineGroup[] = [];
  let complete: Buffer[] = [];
  let completeBytes = 0;
  /** The parts of the unfinished line that have not been returned. */
  let unfinished: Buffer[] = [];
  let lineBytes = 0;

  const endGroup = (): void => {
    if (complete.length > 0) groups.push({ bytes: Buffer.concat(complete), isPart: false, isEnd: true });
    complete = [];
  };
  const add = (part: Buffer, isEnd: boolean): void => {
    unfinished.push(part);
    lineBytes += part.length;
    const isTooLong = lineBytes - (part.at(-1) === LINE_FEED ? 1 : 0) > maxLineBytes;
    if (!isTooLong && !isEnd) return;
    for (const each of unfinished) completeBytes += each.length;
    if (isTooLong) {
      endGroup();
      groups.push({ bytes: Buffer.concat(unfinished), isPart: true, isEnd });
    } else complete.push(...unfinished);
    unfinished = [];
    if (isEnd) lineBytes = 0;
  };
  const takeComplete = (): LineGroup[] => {
    endGroup();
    const taken = groups;
    groups = [];
    completeBytes = 0;
    return taken;
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
    /** Complete lines, and parts of a line that is too long. */
    takeComplete,
    /** Includes the last line without a line feed. */
    takeAll(): LineGroup[] {
      if (lineBytes > 0) add(NOTHING, true);
      return takeComplete();
    },
    get completeBytes() {
      return completeBytes;
    },
  };
}
