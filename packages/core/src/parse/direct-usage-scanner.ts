import type { DirectReader, UsageMarkers } from '../agents/agent.ts';
import { findFormat } from '../agents/formats.ts';
import { DirectResponses } from '../assemble/direct-responses.ts';
import { readJsonText } from '../lines/json-line.ts';
import { createMarkerFinder, type MarkerFinder } from '../lines/marker-filter.ts';
import { isJsonObject } from '../records/fields.ts';
import { toIsoTimestamp } from '../records/timestamps.ts';
import { resolveOptions } from './parse-options.ts';
import { MAX_HEAD_LINES } from './transcript-parser.ts';

const LINE_FEED = 0x0a;

/**
 * Finds the API responses of ordinary transcripts with the results of `createUsageScanner`, several times as fast.
 * Undefined for a format without a direct reader.
 */
export function createDirectUsageScanner(formatId: string): DirectUsageScanner | undefined {
  const format = findFormat(formatId)?.format;
  const { maxInlineContentBytes, maxOpenMessages } = resolveOptions({});
  const reader = format?.createDirectReader?.(maxInlineContentBytes);
  return reader && new DirectUsageScanner(reader, format?.usageMarkers, maxOpenMessages);
}

export class DirectUsageScanner {
  readonly #reader: DirectReader;
  readonly #readsAll: boolean;
  readonly #responses: DirectResponses;
  readonly #findUsage: MarkerFinder;
  readonly #findSearches: MarkerFinder;
  readonly #findAnswer: MarkerFinder;
  #headLines = 0;
  #isMetered = false;

  constructor(reader: DirectReader, markers: UsageMarkers | undefined, maxOpenMessages: number) {
    const { usage = [], searches = [], answers = [] } = markers ?? {};
    this.#reader = reader;
    this.#readsAll = markers === undefined;
    this.#responses = new DirectResponses(maxOpenMessages);
    this.#findUsage = createMarkerFinder(usage);
    this.#findSearches = createMarkerFinder(searches);
    this.#findAnswer = createMarkerFinder(answers);
  }

  /**
   * Reads the whole lines in the bytes. False if the transcript is not ordinary; `createUsageScanner` must then read it
   * from its beginning.
   */
  push(bytes: Buffer): boolean {
    let start = this.#readHead(bytes);
    while (start !== -1 && start < bytes.length) {
      const at = this.#findNext(bytes, start);
      if (at === -1) return true;
      const lineStart = bytes.lastIndexOf(LINE_FEED, at) + 1;
      const foundEnd = bytes.indexOf(LINE_FEED, at);
      const lineEnd = foundEnd === -1 ? bytes.length : foundEnd;
      this.#isMetered ||= hasBefore(this.#findUsage(bytes, start), lineEnd);
      if (!this.#readLine(bytes, lineStart, lineEnd)) return false;
      start = lineEnd + 1;
    }
    return start !== -1;
  }

  /** A place in the next line that may affect usage, by the same markers as `createUsageScanner`; -1 without one. */
  #findNext(bytes: Buffer, start: number): number {
    let next = this.#findUsage(bytes, start);
    const others = [
      this.#isMetered ? -1 : this.#findAnswer(bytes, start),
      this.#responses.awaitsSearches() ? this.#findSearches(bytes, start) : -1,
    ];
    for (const at of others) if (at !== -1 && (next === -1 || at < next)) next = at;
    return next;
  }

  /** Undefined if the transcript is not ordinary after all. */
  finish() {
    if (this.#reader.finish?.() === false) return undefined;
    const { firstTimestampMs, ...found } = this.#responses.finish();
    const firstTimestamp = toIsoTimestamp(firstTimestampMs);
    return { ...found, firstTimestamp, outputOnlyCount: 0, doubts: [] };
  }

  /**
   * Reads lines until they have named the session's directory and start time, or all of a format without markers; -1 if
   * the transcript is not ordinary.
   */
  #readHead(bytes: Buffer): number {
    let start = 0;
    while (start < bytes.length && (this.#readsAll || this.#isInHead())) {
      this.#headLines++;
      const foundEnd = bytes.indexOf(LINE_FEED, start);
      const end = foundEnd === -1 ? bytes.length : foundEnd;
      this.#isMetered ||= hasBefore(this.#findUsage(bytes, start), end);
      if (!this.#readLine(bytes, start, end)) return -1;
      start = end + 1;
    }
    return start;
  }

  #isInHead(): boolean {
    return this.#headLines < MAX_HEAD_LINES && !this.#responses.hasOrigin();
  }

  #readLine(bytes: Buffer, start: number, end: number): boolean {
    const values = readJsonText(bytes.toString('utf8', start, end));
    return values.every((value) => !isJsonObject(value) || this.#reader.read(value, this.#responses));
  }
}

const hasBefore = (foundAt: number, end: number): boolean => foundAt !== -1 && foundAt < end;
