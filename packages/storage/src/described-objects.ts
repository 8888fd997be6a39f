import { buffer } from 'node:stream/consumers';
import { type ObjectDescription, type RawStore, RawStoreError } from './raw-store.ts';

/** What a store has to do by itself; descriptions are objects like any other. */
type UndescribedStore = Omit<RawStore, 'describe' | 'readDescription'>;

/** No key of a raw object ends like that. */
const DESCRIPTION_ENDING = '.about.json';
/** A path has 4,096 characters at most, the arrivals of a stream 5,000 pairs. */
const MAX_DESCRIPTION_BYTES = 1024 * 1024;

const descriptionKeyOf = (key: string): string => key + DESCRIPTION_ENDING;

/**
 * Keeps the description of an object as an object of its own beside it: unlike the metadata of S3 it has no bound of 2 KB,
 * and every program that copies a bucket or a folder takes it along.
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
      // First: of a description without an object nobody would know.
      await store.delete(descriptionKeyOf(key));
      await store.delete(key);
    },
    async *list(prefix) {
      for await (const object of store.list(prefix)) if (!object.key.endsWith(DESCRIPTION_ENDING)) yield object;
    },
  };
}

async function* toBody(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** Undefined for what no program of ours has written. */
function parseDescription(bytes: Buffer): ObjectDescription | undefined {
  try {
    const value: unknown = JSON.parse(bytes.toString());
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

/** A range of an empty object is invalid. */
const isNothingThere = (error: unknown): boolean =>
  error instanceof RawStoreError && (error.code === 'not-found' || error.code === 'invalid-range');
