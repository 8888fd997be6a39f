/** What is allocated at a time; a longer text gets as much as it needs. */
const SLAB_BYTES = 256 * 1024;
const LENGTH_BYTES = 4;

/** Texts outside the heap of V8, which lets several times as much garbage stand as there is alive on it. */
export interface TextStore {
  /** The place from which the text can be read. */
  add(text: string): number;
  /** The text at a place that `add` gave, and that has not been removed. */
  read(place: number): string;
  remove(place: number): void;
  /** Whether it holds more than twice the memory of its texts, and 1 MiB: they are then to be moved to another store. */
  readonly isSparse: boolean;
}

interface Slab {
  bytes: Buffer;
  liveBytes: number;
}

/** Memory is given back slab by slab, as the last text of each is removed: well for those that leave as they came. */
export function createTextStore(): TextStore {
  const slabs = new Map<number, Slab>();
  let lastNumber = -1;
  let lastEnd = 0;
  let heldBytes = 0;
  let liveBytes = 0;

  const release = (number: number, slab: Slab): void => {
    slabs.delete(number);
    heldBytes -= slab.bytes.length;
  };

  const makeRoom = (byteLength: number): Slab => {
    const last = slabs.get(lastNumber);
    if (last !== undefined && lastEnd + byteLength <= last.bytes.length) return last;
    if (last?.liveBytes === 0) release(lastNumber, last);
    const slab = { bytes: Buffer.allocUnsafeSlow(Math.max(SLAB_BYTES, byteLength)), liveBytes: 0 };
    slabs.set(++lastNumber, slab);
    lastEnd = 0;
    heldBytes += slab.bytes.length;
    return slab;
  };

  const find = (place: number) => {
    const number = Math.floor(place / SLAB_BYTES);
    const start = place % SLAB_BYTES;
    const slab = slabs.get(number);
    if (slab === undefined) throw new Error('There is no text at this place');
    return { number, slab, start: start + LENGTH_BYTES, byteLength: slab.bytes.readUInt32LE(start) };
  };

  return {
    add(text) {
      const byteLength = Buffer.byteLength(text);
      const slab = makeRoom(LENGTH_BYTES + byteLength);
      slab.bytes.writeUInt32LE(byteLength, lastEnd);
      slab.bytes.write(text, lastEnd + LENGTH_BYTES);
      const place = lastNumber * SLAB_BYTES + lastEnd;
      lastEnd += LENGTH_BYTES + byteLength;
      slab.liveBytes += LENGTH_BYTES + byteLength;
      liveBytes += LENGTH_BYTES + byteLength;
      return place;
    },
    read(place) {
      const { slab, start, byteLength } = find(place);
      return slab.bytes.toString('utf8', start, start + byteLength);
    },
    remove(place) {
      const { number, slab, byteLength } = find(place);
      slab.liveBytes -= LENGTH_BYTES + byteLength;
      liveBytes -= LENGTH_BYTES + byteLength;
      if (slab.liveBytes === 0 && number !== lastNumber) release(number, slab);
    },
    get isSparse() {
      return heldBytes > 2 * liveBytes + 4 * SLAB_BYTES;
    },
  };
}
