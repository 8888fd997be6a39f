import { buffer } from 'node:stream/consumers';
import {
  type ListedObject,
  type ObjectDescription,
  type RawObjectInfo,
  type RawStore,
  RawStoreError,
} from './raw-store.ts';

/** Methods that a store itself must implement; descriptions are ordinary objects. */
type UndescribedStore = Omit<RawStore, 'describe' | 'readDescription' | 'list'> & {
  list(prefix: string): AsyncIterable<RawObjectInfo>;
};

/** No raw object's key ends like this. */
const DESCRIPTION_ENDING = '.about.json';
/** Paths have at most 4,096 characters, and arrivals of a stream at most 5,000 pairs. */
const MAX_DESCRIPTION_BYTES = 1024 * 1024;

const descriptionKeyOf = (key: string): string => key + DESCRIPTION_ENDING;

/**
 * Stores an object's description as a separate object beside it. Unlike S3 metadata it may exceed 2 KB, and any program
 * that copies a bucket or folder copies it too.
 */
export function withDescriptions(store: UndescribedStore): RawStore {
  return {
    ...store,
    async describe(key, description) {
      const bytes = Buffer.from(JSON.stringify(description));
      if (bytes.length > MAX_DESCRIPTION_BYTES) {
        throw new RawStoreError('too-large', `The description of ${key} has more than ${MAX_DESCRIPTION_BYTES} bytes`);
      }
      await store.put(descriptionKeyOf(key), toBody(bytes));
    },
    async readDescription(key) {
      try {
        const range = { startByte: 0, endByteExclusive: MAX_DESCRIPTION_BYTES };
        return parseDescription(await buffer(await store.get(descriptionKeyOf(key), { range })));
      } catch (error) {
        if (isNothingThere(error)) return undefined;
        throw error;
      }
    },
    async delete(key) {
      // The description goes first, because no one would ever find one without its object.
      await store.delete(descriptionKeyOf(key));
      await store.delete(key);
    },
    list: (prefix) => listDescribed(store, prefix),
  };
}

/** S3 lists a description right after its object, a folder anywhere. Each kind of key waits for the other one. */
const MAX_WAITING_KEYS = 10_000;

/** Lists objects without their descriptions. Beyond MAX_WAITING_KEYS, it asks the store about the longest waiting one. */
async function* listDescribed(store: UndescribedStore, prefix: string): AsyncGenerator<ListedObject> {
  const objects = new Map<string, RawObjectInfo>();
  const descriptions = new Set<string>();
  let isForgetful = false;
  const hasDescription = async (key: string): Promise<boolean> =>
    (await store.stat(descriptionKeyOf(key))) !== undefined;
  for await (const listed of store.list(prefix)) {
    if (listed.key.endsWith(DESCRIPTION_ENDING)) {
      const key = listed.key.slice(0, -DESCRIPTION_ENDING.length);
      const object = objects.get(key);
      objects.delete(key);
      if (object !== undefined) yield { ...object, isDescribed: true };
      else descriptions.add(key);
    } else if (descriptions.delete(listed.key)) yield { ...listed, isDescribed: true };
    else objects.set(listed.key, listed);
    const [first] = objects.size > MAX_WAITING_KEYS ? objects.values() : [];
    if (first !== undefined) {
      objects.delete(first.key);
      yield { ...first, isDescribed: await hasDescription(first.key) };
    }
    const [oldest] = descriptions.size > MAX_WAITING_KEYS ? descriptions : [];
    if (oldest === undefined) continue;
    descriptions.delete(oldest);
    isForgetful = true;
  }
  for (const object of objects.values()) {
    yield { ...object, isDescribed: isForgetful && (await hasDescription(object.key)) };
  }
}

async function* toBody(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** Undefined for anything that recount did not write. */
function parseDescription(bytes: Buffer): ObjectDescription | undefined {
  try {
    const value: unknown = JSON.parse(bytes.toString());
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

/** Reading a range of an empty object is invalid, too. */
const isNothingThere = (error: unknown): boolean =>
  error instanceof RawStoreError && (error.code === 'not-found' || error.code === 'invalid-range');
