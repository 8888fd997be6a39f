import { buffer } from 'node:stream/consumers';
import { isSharedDescriptionKey, sharedDescriptionKey } from './raw-object-key.ts';
import {
  checkStore,
  type ListedObject,
  type ObjectDescription,
  type RawObjectInfo,
  type RawStore,
  RawStoreError,
} from './raw-store.ts';
import { settleWithLimit } from './settle-with-limit.ts';

/** Methods that a store itself must implement; descriptions are ordinary objects. */
export interface UndescribedStore
  extends Pick<RawStore, 'put' | 'putAll' | 'get' | 'stat' | 'delete' | 'readSpace' | 'abortStaleUploads' | 'close'> {
  list(prefix: string): AsyncIterable<RawObjectInfo>;
}

/** No raw object's key ends like this. */
const DESCRIPTION_ENDING = '.about.json';
/** Paths have at most 4,096 characters, and arrivals of a stream at most 5,000 pairs. */
const MAX_DESCRIPTION_BYTES = 1024 * 1024;
/** Objects of a batch that are looked up at a time. */
const OBJECTS_AT_ONCE = 16;

const LINE_FEED = 0x0a;

const descriptionKeyOf = (key: string): string => key + DESCRIPTION_ENDING;

/**
 * Stores descriptions as separate objects. Unlike S3 metadata they may exceed 2 KB, and any program that copies a bucket
 * or folder copies them too. A description is beside its object, or, as one line, in an object that its batch shares and
 * that is never changed. If there are both, the one beside the object counts.
 */
export function withDescriptions(store: UndescribedStore): RawStore {
  const readOwn = async (key: string): Promise<ObjectDescription | undefined> => {
    const bytes = await readSmall(store, descriptionKeyOf(key));
    return bytes && parseDescription(bytes);
  };
  const readShared = async (key: string): Promise<ObjectDescription | undefined> => {
    const shared = sharedDescriptionKey(key);
    const bytes = shared === undefined ? undefined : await readSmall(store, shared);
    return bytes && parseLine(bytes, key);
  };

  return {
    put: (key, body, options) => store.put(key, body, options),
    putAll: (objects) => store.putAll(objects),
    get: (key, options) => store.get(key, options),
    stat: (key) => store.stat(key),
    check: () => checkStore(store),
    readSpace: () => store.readSpace(),
    abortStaleUploads: (olderThanMs) => store.abortStaleUploads(olderThanMs),
    close: () => store.close(),
    async describe(key, description) {
      const bytes = Buffer.from(JSON.stringify(description));
      if (bytes.length > MAX_DESCRIPTION_BYTES) throw toTooLarge(key);
      await store.put(descriptionKeyOf(key), toBody(bytes));
    },
    async describeTogether(descriptions) {
      const batches = new Set([...descriptions.keys()].map(sharedDescriptionKey));
      const [shared] = batches;
      if (shared === undefined || batches.size > 1) {
        throw new RawStoreError('invalid-key', 'The keys of the described objects do not name one batch');
      }
      const bytes = Buffer.from([...descriptions].map(([key, description]) => toLine(key, description)).join(''));
      if (bytes.length <= MAX_DESCRIPTION_BYTES) await store.put(shared, toBody(bytes));
      else await describeSeparately(store, descriptions);
    },
    async readDescription(key) {
      // A deletion may have moved it from the batch's to its own between the first two reads.
      return (await readOwn(key)) ?? (await readShared(key)) ?? (await readOwn(key));
    },
    async delete(key) {
      // The description goes first, because no one would ever find one without its object.
      await store.delete(descriptionKeyOf(key));
      const shared = sharedDescriptionKey(key);
      if (shared === undefined) return await store.delete(key);
      await dissolveBatch(store, shared, key);
      await store.delete(key);
      // Another deletion, of an object of the same batch, may have written it while the object was there.
      await store.delete(descriptionKeyOf(key));
    },
    async deleteAll(prefix) {
      for await (const { key } of store.list(prefix)) await store.delete(key);
    },
    list: (prefix) => listDescribed(store, prefix),
  };
}

const toTooLarge = (key: string): RawStoreError =>
  new RawStoreError('too-large', `The description of ${key} has more than ${MAX_DESCRIPTION_BYTES} bytes`);

/** Stores each description beside its object. */
async function describeSeparately(store: UndescribedStore, descriptions: ReadonlyMap<string, object>): Promise<void> {
  const objects = [...descriptions].map(([key, description]) => {
    const bytes = Buffer.from(JSON.stringify(description));
    if (bytes.length > MAX_DESCRIPTION_BYTES) throw toTooLarge(key);
    return { key: descriptionKeyOf(key), body: toBody(bytes) };
  });
  throwFirst(await store.putAll(objects));
}

/**
 * Gives the objects of a batch their own descriptions, except `deletedKey` and whatever has one; then deletes the shared
 * ones. No description of the batch is changed in place, so that concurrent deletions cannot undo each other.
 * May be repeated. Does nothing if `deletedKey` is not described there.
 */
async function dissolveBatch(store: UndescribedStore, shared: string, deletedKey: string): Promise<void> {
  const bytes = await readSmall(store, shared);
  if (bytes === undefined || findLine(bytes, deletedKey) === undefined) return;
  const others = parseLines(bytes).filter(([key]) => key !== deletedKey);
  const isThere = async (key: string): Promise<boolean> => (await store.stat(key)) !== undefined;
  const kept = await forAll(others, async ([key]) => {
    return !(await isThere(descriptionKeyOf(key))) && (await isThere(key));
  });
  const separate = others.filter((_other, index) => kept[index]);
  await describeSeparately(store, new Map(separate));
  // An object that was deleted in the last moments must not leave the description that was just written.
  await forAll(separate, async ([key]) => {
    if (!(await isThere(key))) await store.delete(descriptionKeyOf(key));
  });
  await store.delete(shared);
}

async function forAll<Input, Output>(
  inputs: readonly Input[],
  run: (input: Input) => Promise<Output>,
): Promise<Output[]> {
  return throwFirst(await settleWithLimit(inputs, OBJECTS_AT_ONCE, run));
}

function throwFirst<Output>(outcomes: readonly PromiseSettledResult<Output>[]): Output[] {
  return outcomes.map((outcome) => {
    if (outcome.status === 'rejected') throw outcome.reason;
    return outcome.value;
  });
}

/** JSON has no line feeds, so each line begins with the key of its object. */
const toLine = (key: string, description: object): string => `${JSON.stringify([key, description])}\n`;

/** The line of an object; undefined if there is none. */
function findLine(bytes: Buffer, key: string): Buffer | undefined {
  const beginning = `[${JSON.stringify(key)},{`;
  const isFirst = bytes.indexOf(beginning) === 0;
  const start = isFirst ? 0 : bytes.indexOf(`\n${beginning}`) + 1;
  const end = isFirst || start > 0 ? bytes.indexOf(LINE_FEED, start) : -1;
  return end < 0 ? undefined : bytes.subarray(start, end);
}

function parseLine(bytes: Buffer, key: string): ObjectDescription | undefined {
  const line = findLine(bytes, key);
  return line && parseLines(line)[0]?.[1];
}

/** Leaves out anything that recount did not write. */
function parseLines(bytes: Buffer): [string, ObjectDescription][] {
  return bytes
    .toString()
    .split('\n')
    .flatMap((line): [string, ObjectDescription][] => {
      const value = parseJson(line);
      const [key, description] = Array.isArray(value) ? (value as unknown[]) : [];
      return typeof key === 'string' && isRecord(description) ? [[key, { ...description }]] : [];
    });
}

/** At most MAX_DESCRIPTION_BYTES of an object; undefined if there is none. */
async function readSmall(store: UndescribedStore, key: string): Promise<Buffer | undefined> {
  try {
    const range = { startByte: 0, endByteExclusive: MAX_DESCRIPTION_BYTES };
    return await buffer(await store.get(key, { range }));
  } catch (error) {
    if (isNothingThere(error)) return undefined;
    throw error;
  }
}

/** S3 lists a description right after its object, a folder anywhere. Each kind of key waits for the other one. */
const MAX_WAITING_KEYS = 10_000;

/**
 * Lists objects without their descriptions. Beyond MAX_WAITING_KEYS, it asks the store about the longest waiting one.
 * Objects of a batch whose descriptions were listed before do not wait.
 */
async function* listDescribed(store: UndescribedStore, prefix: string): AsyncGenerator<ListedObject> {
  const objects = new Map<string, RawObjectInfo>();
  const descriptions = new Set<string>();
  const batches = createBatchLookup(store);
  let isForgetful = false;
  /** A deletion may have dissolved the batch since its objects were listed. */
  const mayBeMissed = (key: string): boolean => isForgetful || sharedDescriptionKey(key) !== undefined;
  const hasDescription = async (key: string): Promise<boolean> =>
    (await batches.isThere(key)) || (mayBeMissed(key) && (await store.stat(descriptionKeyOf(key))) !== undefined);
  for await (const listed of store.list(prefix)) {
    if (isSharedDescriptionKey(listed.key)) batches.add(listed.key);
    else if (listed.key.endsWith(DESCRIPTION_ENDING)) {
      const key = listed.key.slice(0, -DESCRIPTION_ENDING.length);
      const object = objects.get(key);
      objects.delete(key);
      if (object !== undefined) yield { ...object, isDescribed: true };
      else descriptions.add(key);
    } else if (descriptions.delete(listed.key) || batches.has(listed.key)) yield { ...listed, isDescribed: true };
    else objects.set(listed.key, listed);
    const [first] = objects.size > MAX_WAITING_KEYS ? objects.values() : [];
    if (first !== undefined) {
      objects.delete(first.key);
      const isDescribed = (await store.stat(descriptionKeyOf(first.key))) !== undefined;
      yield { ...first, isDescribed: isDescribed || (await batches.isThere(first.key)) };
    }
    const [oldest] = descriptions.size > MAX_WAITING_KEYS ? descriptions : [];
    if (oldest === undefined) continue;
    descriptions.delete(oldest);
    isForgetful = true;
  }
  for (const object of objects.values()) yield { ...object, isDescribed: await hasDescription(object.key) };
}

/** Remembers which batches have shared descriptions. */
function createBatchLookup(store: UndescribedStore) {
  const known = new Map<string, boolean>();
  const remember = (shared: string, isThere: boolean): void => {
    if (known.size >= MAX_WAITING_KEYS) known.clear();
    known.set(shared, isThere);
  };
  return {
    add: (shared: string): void => remember(shared, true),
    has: (key: string): boolean => known.get(sharedDescriptionKey(key) ?? '') === true,
    async isThere(key: string): Promise<boolean> {
      const shared = sharedDescriptionKey(key);
      if (shared === undefined) return false;
      if (!known.has(shared)) remember(shared, (await store.stat(shared)) !== undefined);
      return known.get(shared) === true;
    },
  };
}

async function* toBody(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** Undefined for anything that recount did not write. */
function parseDescription(bytes: Buffer): ObjectDescription | undefined {
  const value = parseJson(bytes.toString());
  return isRecord(value) ? { ...value } : undefined;
}

const isRecord = (value: unknown): value is object => typeof value === 'object' && value !== null;

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Reading a range of an empty object is invalid, too. */
const isNothingThere = (error: unknown): boolean =>
  error instanceof RawStoreError && (error.code === 'not-found' || error.code === 'invalid-range');
