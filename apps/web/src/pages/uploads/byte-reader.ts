/** Reads a stream by numbers of bytes. */
export interface ByteReader {
  /** The next `length` bytes, or those before the end of the stream if there are fewer. */
  read(length: number): Promise<Uint8Array<ArrayBuffer>>;
  /** Returns the number of bytes skipped, which is less at the end of the stream. */
  skip(length: number): Promise<number>;
  /** Cancels the stream. Never rejects. */
  close(): Promise<void>;
}

/** Holds one chunk of the stream, and what `read` returns. */
export function createByteReader(stream: ReadableStream<Uint8Array<ArrayBuffer>>): ByteReader {
  const reader = stream.getReader();
  let chunk: Uint8Array<ArrayBuffer> | undefined = new Uint8Array(0);
  /** The next bytes, `length` at most; undefined at the end. */
  const take = async (length: number): Promise<Uint8Array<ArrayBuffer> | undefined> => {
    while (chunk?.length === 0) chunk = (await reader.read()).value;
    const taken = chunk?.subarray(0, length);
    chunk = chunk?.subarray(length);
    return taken;
  };
  /** Passes on the next bytes, and returns their number. */
  const takeAll = async (length: number, onPart: (part: Uint8Array<ArrayBuffer>) => void): Promise<number> => {
    let taken = 0;
    while (taken < length) {
      const part = await take(length - taken);
      if (part === undefined) break;
      taken += part.length;
      onPart(part);
    }
    return taken;
  };
  return {
    async read(length) {
      const parts: Uint8Array<ArrayBuffer>[] = [];
      const whole = new Uint8Array(await takeAll(length, (part) => parts.push(part)));
      let offset = 0;
      for (const part of parts) {
        whole.set(part, offset);
        offset += part.length;
      }
      return whole;
    },
    skip: (length) => takeAll(length, () => undefined),
    close: () => reader.cancel().catch(() => undefined),
  };
}
