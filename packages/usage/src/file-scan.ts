import {
  createDirectUsageScanner,
  createUsageScanner,
  type DirectUsageScanner,
  describeRefusal,
  IDENTIFY_HEAD_BYTES,
  identifyTranscript,
  isStreamFormat,
  type Refusal,
  type TranscriptIdentity,
  type UsageScan,
  type UsageScanner,
} from '@recount/core';
import type { UsageColumnsWriter } from './usage-columns.ts';

/** A file found on disk. */
export interface FoundFile {
  path: string;
  sizeBytes: number;
  modifiedAtMs: number;
  /** True if an agent keeps its sessions there. Other files are then named, rather than passed over. */
  isInPlace?: boolean;
  /**
   * For a session in a database, it changes if its rows are added, changed or deleted. Its size is unknown until it is
   * read.
   */
  version?: string;
}

/** A session in an agent's database. */
export interface StoredFile extends FoundFile {
  version: string;
  /** Its canonical NDJSON. Throws if there is none; with the code `link` or `unknown-layout`, the message is shown. */
  open(): AsyncIterable<Uint8Array>;
}

/** The result for one file. */
export interface ScannedFile extends FoundFile {
  /** `unknown` means not a transcript that recount knows. */
  status: 'read' | 'unknown' | 'failed';
  agent: string | null;
  sessionId: string;
  format: string | null;
  isStream: boolean;
  project: string | null;
  firstTimestampMs: number | null;
  /** The missing part of its usage (everything, or the input of some responses). */
  lacks: 'usage' | 'input' | null;
  /** Its copies are the next ones in the columns, in the order of the files. */
  responseCount: number;
  agentVersion: string | null;
  /** Doubts about its counts, in words. See `UsageScan`. */
  doubts: { message: string; count: number }[];
  /** Why a file could not be read, without its content. */
  failure: string | null;
}

/** The same as the worker's. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;
/** Enough for nearly all files; otherwise more is read. */
const FIRST_HEAD_BYTES = 64 * 1024;
/** Beginnings that are looked at before the whole of the first lines. A conclusive answer is the same from each. */
const HEAD_SIZES = [2 * 1024, 16 * 1024, FIRST_HEAD_BYTES, Number.POSITIVE_INFINITY];
const LINE_FEED = 0x0a;
/** Beginnings of archives. Their members would be read as the lines of one transcript, but for the first of each. */
const ARCHIVE_MAGICS: readonly (readonly [offset: number, bytes: Buffer])[] = [
  [0, Buffer.from('PK\x03\x04')],
  [257, Buffer.from('ustar')],
];

type FoundTranscript = Omit<ScannedFile, 'responseCount'>;

interface Identified {
  found: FoundTranscript;
  isSubagent: boolean;
}

const isArchive = (head: Buffer): boolean =>
  ARCHIVE_MAGICS.some(([offset, bytes]) => head.subarray(offset, offset + bytes.length).equals(bytes));

const withoutCompression = (path: string): string => path.replace(/\.(?:gz|zst)$/, '');

/** The file by its beginning; undefined if more of it could change the answer. */
function identify(file: FoundFile, head: Buffer, isWhole: boolean): Identified | undefined {
  const path = withoutCompression(file.path);
  if (isArchive(head)) {
    const found = newTranscript(file, { status: 'failed', failure: 'an archive; unpack it first' });
    return { found, isSubagent: false };
  }
  const identity = identifyTranscript({ path, head });
  if (!identity.isConclusive && !isWhole && head.length < IDENTIFY_HEAD_BYTES) return undefined;
  const { format, agent = null, sessionId = path, isSubagent } = identity;
  const refusal = toRefusal(identity, head, file.isInPlace);
  const found = newTranscript(file, {
    agent,
    sessionId,
    ...(refusal !== undefined && { status: 'failed', failure: describeRefusal(refusal) }),
    ...(format !== undefined && { status: 'read', format, isStream: isStreamFormat(format) }),
  });
  return { found, isSubagent };
}

function newTranscript(file: FoundFile, known: Partial<FoundTranscript>): FoundTranscript {
  return {
    ...file,
    status: 'unknown',
    agent: null,
    sessionId: withoutCompression(file.path),
    format: null,
    isStream: false,
    project: null,
    firstTimestampMs: null,
    lacks: null,
    agentVersion: null,
    doubts: [],
    failure: null,
    ...known,
  };
}

function addScan(found: FoundTranscript, scan: Omit<UsageScan, 'lineCount'>): FoundTranscript {
  const { project, firstTimestamp, isWithoutUsage, outputOnlyCount, agentVersion } = scan;
  const doubts = scan.doubts.map(({ error: message, count }) => ({ message, count }));
  const lacks = isWithoutUsage ? 'usage' : outputOnlyCount > 0 ? 'input' : null;
  const firstTimestampMs = firstTimestamp === null ? null : Date.parse(firstTimestamp);
  return { ...found, project, firstTimestampMs, lacks, agentVersion, doubts };
}

/** Why a file in an agent's place, or one that is no text, is not read. Files of other kinds elsewhere are not named. */
function toRefusal(identity: TranscriptIdentity, head: Buffer, isInPlace = false): Refusal | undefined {
  const { format, encoding, isRecognised } = identity;
  if (encoding !== undefined) return encoding;
  return format === undefined && (isRecognised || isInPlace) && head.some((byte) => byte > 0x20)
    ? 'unknown-format'
    : undefined;
}

/** Holds the beginning of the file until it can be identified, then passes everything to a scanner of its format. */
export class FileScan {
  readonly #file: FoundFile;
  readonly #columns: UsageColumnsWriter;
  #held: Buffer[] = [];
  #heldBytes = 0;
  #scanner: UsageScanner | undefined;
  #found: FoundTranscript;

  constructor(file: FoundFile, columns: UsageColumnsWriter) {
    this.#file = file;
    this.#columns = columns;
    this.#found = newTranscript(file, {});
  }

  /** Returns false if nothing that follows matters. The chunk may be reused afterwards. */
  push(chunk: Buffer): boolean {
    if (this.#scanner === undefined) return this.#hold(chunk);
    this.#scanner.push(chunk);
    return true;
  }

  finish(): FoundTranscript {
    if (this.#scanner === undefined && this.#heldBytes > 0) {
      const head = Buffer.concat(this.#held);
      this.#begin(head, true);
      (this.#scanner as UsageScanner | undefined)?.push(head);
    }
    return this.#scanner === undefined ? this.#found : addScan(this.#found, this.#scanner.finish());
  }

  #begin(head: Buffer, isWhole: boolean): boolean {
    const identified = identify(this.#file, head, isWhole);
    if (identified === undefined) return false;
    this.#found = identified.found;
    const { format, sessionId } = this.#found;
    if (format === null) return true;
    this.#scanner = createUsageScanner(sessionId, {
      format,
      isSubagent: identified.isSubagent,
      maxLineBytes: MAX_LINE_BYTES,
      onResponse: (response) => this.#columns.add(response, Date.parse(response.timestamp ?? '')),
    });
    return true;
  }

  #hold(chunk: Buffer): boolean {
    if (this.#heldBytes === 0 && this.#begin(chunk.subarray(0, FIRST_HEAD_BYTES), false)) {
      this.#scanner?.push(chunk);
      return this.#scanner !== undefined;
    }
    this.#held.push(Buffer.from(chunk));
    this.#heldBytes += chunk.length;
    const head = Buffer.concat(this.#held);
    if (!this.#begin(head, false)) return true;
    this.#held = [];
    this.#scanner?.push(head);
    return this.#scanner !== undefined;
  }
}

/** The same for ordinary transcripts of formats with a direct reader. Refuses all others. */
export class DirectFileScan {
  readonly #file: FoundFile;
  readonly #columns: UsageColumnsWriter;
  #scanner: DirectUsageScanner | undefined;
  #found: FoundTranscript | undefined;
  #format = '';
  /** The beginning, while more of it could change whose session it is. */
  #head: Buffer[] = [];
  #headBytes = 0;

  constructor(file: FoundFile, columns: UsageColumnsWriter) {
    this.#file = file;
    this.#columns = columns;
  }

  /** Takes in whole lines, which may be reused afterwards; false if it refuses the file. `isWhole` says if they are all. */
  push(lines: Buffer, isWhole: boolean): boolean {
    if (this.#scanner === undefined) this.#begin(lines, isWhole);
    if (this.#found === undefined && this.#headBytes < IDENTIFY_HEAD_BYTES) {
      const part = Buffer.copyBytesFrom(lines, 0, IDENTIFY_HEAD_BYTES - this.#headBytes);
      this.#head.push(part);
      this.#headBytes += part.length;
    }
    return this.#scanner?.push(lines) === true;
  }

  #begin(lines: Buffer, isWhole: boolean): void {
    for (const size of HEAD_SIZES) {
      const end = lines.lastIndexOf(LINE_FEED, size) + 1;
      const isAll = isWhole && (end === lines.length || size > lines.length);
      const head = isAll ? lines : lines.subarray(0, end);
      if (head.length === 0 || this.#found !== undefined) continue;
      this.#found = identify(this.#file, head, isAll)?.found;
      // Enough for the first lines to decide the format, which no later one changes.
      if (this.#found === undefined && size === FIRST_HEAD_BYTES)
        this.#format = identifyTranscript({ path: this.#file.path, head }).format ?? '';
    }
    this.#format = this.#found?.format ?? this.#format;
    this.#scanner = createDirectUsageScanner(this.#format);
  }

  /** Undefined for an empty file, and for one that needs a `FileScan` after all. */
  finish(): FoundTranscript | undefined {
    if (this.#scanner === undefined) return undefined;
    this.#found ??= identify(this.#file, Buffer.concat(this.#head), true)?.found;
    if (this.#found?.format !== this.#format) return undefined;
    const scanned = this.#scanner.finish();
    if (scanned === undefined) return undefined;
    const { responses, ...scan } = scanned;
    for (const response of responses) this.#columns.add(response, response.timestampMs ?? Number.NaN);
    return addScan(this.#found, scan);
  }
}
