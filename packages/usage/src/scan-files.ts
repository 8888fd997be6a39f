import { closeSync, createReadStream, fstatSync, openSync, readSync } from 'node:fs';
import { DirectFileScan, FileScan, type FoundFile, type ScannedFile, type StoredFile } from './file-scan.ts';
import { type UsageColumns, UsageColumnsWriter } from './usage-columns.ts';

export interface ScanResult {
  files: ScannedFile[];
  columns: UsageColumns;
}

const READ_BYTES = 1024 * 1024;
/** Files with longer lines are not read directly. */
const MAX_DIRECT_LINE_BYTES = 8 * 1024 * 1024;
const LINE_FEED = 0x0a;

/** Shared by all files. It grows where a line is longer. */
interface ReadMemory {
  buffer: Buffer;
}

type Compression = 'gzip' | 'zstd';
const COMPRESSIONS: Readonly<Record<string, Compression>> = { gz: 'gzip', zst: 'zstd' };

/** Scans the files whose indexes `next` returns, until it returns one beyond the last. */
export async function scanFiles(files: readonly FoundFile[], next: () => number): Promise<ScanResult> {
  const columns = new UsageColumnsWriter();
  const scanned: ScannedFile[] = [];
  const memory: ReadMemory = { buffer: Buffer.allocUnsafeSlow(READ_BYTES) };
  for (let file = files[next()]; file !== undefined; file = files[next()]) {
    const before = columns.count;
    const { path } = file;
    const compression = COMPRESSIONS[path.slice(path.lastIndexOf('.') + 1)];
    const direct = new DirectFileScan(file, columns);
    const isDirect =
      compression === undefined && readLines(path, memory, (lines, isWhole) => direct.push(lines, isWhole));
    let found = isDirect ? direct.finish() : undefined;
    found ??= await readFile(path, compression, memory.buffer, new FileScan(file, columns));
    scanned.push({ ...found, responseCount: columns.count - before });
  }
  return { files: scanned, columns: columns.toColumns() };
}

async function readFile(path: string, compression: Compression | undefined, buffer: Buffer, scan: FileScan) {
  try {
    if (compression === undefined) readWhole(path, buffer, (chunk) => scan.push(chunk));
    else await readCompressed(path, compression, (chunk) => scan.push(chunk));
    return scan.finish();
  } catch (error) {
    return { ...scan.finish(), status: 'failed', failure: toFailure(error) } as const;
  }
}

/** Scans sessions of databases, one after another. */
export async function scanStored(stored: readonly StoredFile[]): Promise<ScanResult> {
  const columns = new UsageColumnsWriter();
  const scanned: ScannedFile[] = [];
  for (const { open, ...file } of stored) {
    const before = columns.count;
    const scan = new FileScan(file, columns);
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

/**
 * Reads the file as it was when opened, and passes on whole lines, and a last one without an end. False if it could not
 * be read, or not to its end.
 */
function readLines(path: string, memory: ReadMemory, push: (lines: Buffer, isWhole: boolean) => boolean): boolean {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(path, 'r');
    let { buffer } = memory;
    let held = 0;
    let isFirst = true;
    for (let left = fstatSync(descriptor).size; left > 0; ) {
      if (held === buffer.length) {
        if (held >= MAX_DIRECT_LINE_BYTES) return false;
        const larger = Buffer.allocUnsafeSlow(2 * held);
        buffer.copy(larger, 0, 0, held);
        buffer = larger;
        memory.buffer = larger;
      }
      const readBytes = readSync(descriptor, buffer, held, Math.min(buffer.length - held, left), null);
      if (readBytes === 0) break;
      left -= readBytes;
      const filled = held + readBytes;
      const end = left === 0 ? filled : buffer.lastIndexOf(LINE_FEED, filled - 1) + 1;
      if (end > 0 && !push(buffer.subarray(0, end), isFirst && left === 0)) return false;
      isFirst &&= end === 0;
      if (end < filled) buffer.copyWithin(0, end, filled);
      held = filled - end;
    }
    // The file has become shorter.
    return held === 0 || push(buffer.subarray(0, held), isFirst);
  } catch {
    return false;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

async function readCompressed(path: string, compression: Compression, push: (chunk: Buffer) => boolean): Promise<void> {
  const { decompress } = await import('@recount/storage/sources/decompress');
  for await (const chunk of decompress(createReadStream(path), compression)) if (!push(chunk)) return;
}
