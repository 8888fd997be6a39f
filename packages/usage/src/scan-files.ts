import { closeSync, createReadStream, fstatSync, openSync, readSync } from 'node:fs';
import {
  createUsageScanner,
  describeRefusal,
  IDENTIFY_HEAD_BYTES,
  identifyTranscript,
  isStreamFormat,
  type Refusal,
  type TranscriptIdentity,
  type UsageScanner,
} from '@recount/core';
import { createUsageColumns, type UsageColumns } from './usage-columns.ts';

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

export interface ScanResult {
  files: ScannedFile[];
  columns: UsageColumns;
}

/** The same as the worker's. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;
const READ_BYTES = 1024 * 1024;
/** Enough for nearly all files; otherwise more is read. */
const FIRST_HEAD_BYTES = 64 * 1024;
/** Beginnings of archives. Their members would be read as the lines of one transcript, but for the first of each. */
const ARCHIVE_MAGICS: readonly (readonly [offset: number, bytes: Buffer])[] = [
  [0, Buffer.from('PK\x03\x04')],
  [257, Buffer.from('ustar')],
];
const COMPRESSIONS: Readonly<Record<string, 'gzip' | 'zstd'>> = { gz: 'gzip', zst: 'zstd' };

/** Scans the files whose indexes `next` returns, until it returns one beyond the last. */
export async function scanFiles(files: readonly FoundFile[], next: () => number): Promise<ScanResult> {
  const columns = createUsageColumns();
  const scanned: ScannedFile[] = [];
  const buffer = Buffer.allocUnsafeSlow(READ_BYTES);
  for (let file = files[next()]; file !== undefined; file = files[next()]) {
    const before = columns.count;
    const compression = COMPRESSIONS[file.path.slice(file.path.lastIndexOf('.') + 1)];
    const scan = createFileScan(file, columns);
    try {
      if (compression === undefined) readWhole(file.path, buffer, (chunk) => scan.push(chunk));
      else await readCompressed(file.path, compression, (chunk) => scan.push(chunk));
      scanned.push({ ...scan.finish(), responseCount: columns.count - before });
    } catch (error) {
      const failed = { ...scan.finish(), status: 'failed', failure: toFailure(error) } as const;
      scanned.push({ ...failed, responseCount: columns.count - before });
    }
  }
  return { files: scanned, columns: columns.toColumns() };
}

/** Scans sessions of databases, one after another. */
export async function scanStored(stored: readonly StoredFile[]): Promise<ScanResult> {
  const columns = createUsageColumns();
  const scanned: ScannedFile[] = [];
  for (const { open, ...file } of stored) {
    const before = columns.count;
    const scan = createFileScan(file, columns);
    let sizeBytes = 0;
    const toScanned = (failure: Partial<ScannedFile>): ScannedFile => ({
      ...scan.finish(),
      ...failure,
      sizeBytes,
      responseCount: columns.count - before,
    });
    try {
      for await (const chunk of open()) {
        sizeBytes += chunk.length;
        if (!scan.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length))) break;
      }
      scanned.push(toScanned({}));
    } catch (error) {
      scanned.push(toScanned({ status: 'failed', failure: toFailure(error) }));
    }
  }
  return { files: scanned, columns: columns.toColumns() };
}

/** Contains nothing from the file, except for the names of a database's tables. */
function toFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code, name, message } = error as NodeJS.ErrnoException;
  // These codes do not say what to do.
  return code === 'unknown-layout' || code === 'link' ? message : (code ?? name);
}

/** Reads the file as it was when opened. Lines that an agent adds since then are left to the next call. */
function readWhole(path: string, buffer: Buffer, push: (chunk: Buffer) => boolean): void {
  const descriptor = openSync(path, 'r');
  try {
    let left = fstatSync(descriptor).size;
    while (left > 0) {
      const readBytes = readSync(descriptor, buffer, 0, Math.min(buffer.length, left), null);
      if (readBytes === 0 || !push(buffer.subarray(0, readBytes))) return;
      left -= readBytes;
    }
  } finally {
    closeSync(descriptor);
  }
}

async function readCompressed(
  path: string,
  compression: 'gzip' | 'zstd',
  push: (chunk: Buffer) => boolean,
): Promise<void> {
  const { decompress } = await import('@recount/storage/sources/decompress');
  for await (const chunk of decompress(createReadStream(path), compression)) if (!push(chunk)) return;
}

const isArchive = (head: Buffer): boolean =>
  ARCHIVE_MAGICS.some(([offset, bytes]) => head.subarray(offset, offset + bytes.length).equals(bytes));

/** Why a file in an agent's place, or one that is no text, is not read. Files of other kinds elsewhere are not named. */
function toRefusal(identity: TranscriptIdentity, head: Buffer, isInPlace = false): Refusal | undefined {
  const { format, encoding, isRecognised } = identity;
  if (encoding !== undefined) return encoding;
  return format === undefined && (isRecognised || isInPlace) && head.some((byte) => byte > 0x20)
    ? 'unknown-format'
    : undefined;
}

interface FileScan {
  /** Returns false if nothing that follows matters. The chunk may be reused afterwards. */
  push(chunk: Buffer): boolean;
  finish(): Omit<ScannedFile, 'responseCount'>;
}

/** Holds the beginning of the file until it can be identified, then passes everything to a scanner of its format. */
function createFileScan(file: FoundFile, columns: ReturnType<typeof createUsageColumns>): FileScan {
  return new UsageFileScan(file, columns);
}

class UsageFileScan implements FileScan {
  readonly #file: FoundFile;
  readonly #columns: ReturnType<typeof createUsageColumns>;
  readonly #path: string;
  #held: Buffer[] = [];
  #heldBytes = 0;
  #scanner: UsageScanner | undefined;
  readonly #found: Omit<ScannedFile, 'responseCount'>;

  constructor(file: FoundFile, columns: ReturnType<typeof createUsageColumns>) {
    this.#file = file;
    this.#columns = columns;
    this.#path = file.path.replace(/\.(?:gz|zst)$/, '');
    this.#found = {
      ...file,
      status: 'unknown',
      agent: null,
      sessionId: this.#path,
      format: null,
      isStream: false,
      project: null,
      firstTimestampMs: null,
      lacks: null,
      agentVersion: null,
      doubts: [],
      failure: null,
    };
  }

  push(chunk: Buffer<ArrayBufferLike>): boolean {
    if (this.#scanner === undefined) return this.#hold(chunk);
    this.#scanner.push(chunk);
    return true;
  }

  finish(): Omit<ScannedFile, 'responseCount'> {
    if (this.#scanner === undefined && this.#heldBytes > 0) {
      const head = Buffer.concat(this.#held);
      this.#begin(head, true);
      (this.#scanner as UsageScanner | undefined)?.push(head);
    }
    const scan = this.#scanner?.finish();
    if (scan === undefined) return this.#found;
    const { project, firstTimestamp, isWithoutUsage, outputOnlyCount, agentVersion } = scan;
    const doubts = scan.doubts.map(({ error: message, count }) => ({ message, count }));
    const lacks = isWithoutUsage ? 'usage' : outputOnlyCount > 0 ? 'input' : null;
    const firstTimestampMs = firstTimestamp === null ? null : Date.parse(firstTimestamp);
    return { ...this.#found, project, firstTimestampMs, lacks, agentVersion, doubts };
  }

  #begin(head: Buffer, isWhole: boolean): boolean {
    if (isArchive(head)) {
      this.#found.status = 'failed';
      this.#found.failure = 'an archive; unpack it first';
      return true;
    }
    const identity = identifyTranscript({ path: this.#path, head });
    if (!identity.isConclusive && !isWhole && head.length < IDENTIFY_HEAD_BYTES) return false;
    this.#found.agent = identity.agent ?? null;
    this.#found.sessionId = identity.sessionId ?? this.#path;
    const refusal = toRefusal(identity, head, this.#file.isInPlace);
    if (refusal !== undefined) {
      this.#found.status = 'failed';
      this.#found.failure = describeRefusal(refusal);
    }
    if (identity.format === undefined) return true;
    this.#found.status = 'read';
    this.#found.format = identity.format;
    this.#found.isStream = isStreamFormat(identity.format);
    this.#scanner = createUsageScanner(this.#found.sessionId, {
      format: identity.format,
      isSubagent: identity.isSubagent,
      maxLineBytes: MAX_LINE_BYTES,
      onResponse: (response) => this.#columns.add(response),
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
