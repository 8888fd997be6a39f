import { Readable } from 'node:stream';
import { RandomAccessReader } from 'yauzl';
import { closeStream, readAtMost } from './byte-stream.ts';
import { toSourceError } from './source-error.ts';
import type { ByteRange, StoredObject } from './stored-object.ts';

/** Read at once for each miss: some 3,000 directory entries, or several small members. */
const WINDOW_BYTES = 256 * 1024;
/** One follows the directory at the end of the archive, one the members before it. */
const MAX_WINDOWS = 2;

interface Window {
  start: number;
  bytes: Buffer;
}

/**
 * Random access to a stored zip in few reads: yauzl asks for some 50 bytes at a time, each of which would be a request to S3.
 * Holds no descriptor between reads, so it needs no closing. A class because yauzl requires one.
 */
export class ZipReader extends RandomAccessReader {
  readonly #object: StoredObject;
  readonly #windows: Window[] = [];

  constructor(object: StoredObject) {
    super();
    this.#object = object;
  }

  override read(
    buffer: Buffer,
    offset: number,
    length: number,
    position: number,
    callback: (error: Error | null) => void,
  ): void {
    this.#readWindow({ start: position, end: position + length }).then(
      (bytes) => {
        if (bytes.length < length) return callback(new Error('unexpected end of file'));
        bytes.copy(buffer, offset);
        return callback(null);
      },
      (error) => callback(toSourceError(error)),
    );
  }

  /** The bytes of a range, from memory where they are there already. */
  async openRange(range: ByteRange): Promise<Readable> {
    if (range.start === range.end) return Readable.from([]);
    const window = this.#findWindow(range);
    return window === undefined ? this.#object.open(range) : Readable.from([cut(window, range)]);
  }

  #findWindow({ start, end }: ByteRange): Window | undefined {
    return this.#windows.find((window) => window.start <= start && end <= window.start + window.bytes.length);
  }

  async #readWindow(range: ByteRange): Promise<Buffer> {
    const known = this.#findWindow(range);
    if (known !== undefined) return cut(known, range);
    const end = Math.min(this.#object.sizeBytes, Math.max(range.end, range.start + WINDOW_BYTES));
    if (!(range.start < end)) return Buffer.alloc(0);
    const stream = await this.#object.open({ start: range.start, end });
    const bytes = await readAtMost(stream, end - range.start).finally(() => closeStream(stream));
    const window = { start: range.start, bytes };
    this.#windows.push(window);
    if (this.#windows.length > MAX_WINDOWS) this.#windows.shift();
    return cut(window, range);
  }
}

function cut(window: Window, range: ByteRange): Buffer {
  return window.bytes.subarray(range.start - window.start, range.end - window.start);
}
