import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { createFolderRawStore } from './folder-raw-store.ts';
import type { RawStore } from './raw-store.ts';
import type { PowerCutModel, Survivors, UnsyncedFate } from './testing/power-cut-model.ts';

const model = vi.hoisted(() => ({ current: undefined as PowerCutModel | undefined }));
vi.mock('node:fs/promises', async (importOriginal) => {
  const { createPowerCutModel } = await import('./testing/power-cut-model.ts');
  model.current = createPowerCutModel();
  return model.current.wrap(await importOriginal());
});

const FATES: readonly UnsyncedFate[] = ['all lost', 'names kept, content lost', 'all kept'];
const KEYS = ['A', 'B', 'C'].map((end) => `workspaces/one/transcripts/01JABCDEFGHJKMNPQRSTVWXYZ${end}.jsonl`);
const [A = '', B = '', C = ''] = KEYS;
const ELSEWHERE = 'workspaces/two/redacted/01JABCDEFGHJKMNPQRSTVWXYZ0/01JABCDEFGHJKMNPQRSTVWXYZ0.jsonl';
/** Too long to be written in one piece. */
const LONG = 'a long transcript '.repeat(150_000);

/** The possible values of a key; undefined means absent. */
type Allowed = Map<string, ReadonlySet<string | undefined>>;
interface Cut {
  fate: UnsyncedFate;
  survivors: Survivors;
  allowed: Allowed;
}

let directory: string;
let store: RawStore;
let cuts: Cut[];
let allowed: Allowed;
beforeEach(async () => {
  directory = await realpath(await mkdtemp(join(tmpdir(), 'recount-power-cut-')));
  onTestFinished(() => rm(directory, { recursive: true }));
  cuts = [];
  allowed = new Map();
  const known = new Set<string>();
  const takeSnapshots = () => {
    for (const fate of FATES) {
      const cut = { fate, survivors: model.current?.cut(fate) ?? new Map(), allowed: new Map(allowed) };
      const fingerprint = toFingerprint(cut);
      if (!known.has(fingerprint)) cuts.push(cut);
      known.add(fingerprint);
    }
  };
  model.current?.watch(directory, takeSnapshots);
  store = createFolderRawStore({ directory });
});

/** While the change is running, the key may have the old or the new value; once acknowledged, only the new one. */
async function change(key: string, value: string | undefined, run: () => Promise<unknown>): Promise<void> {
  const before = allowed.get(key) ?? new Set([undefined]);
  allowed.set(key, new Set([...before, value]));
  await run();
  allowed.set(key, new Set([value]));
}

const put = (key: string, text: string) => change(key, text, () => store.put(key, bodyOf(text)));
const remove = (key: string) => change(key, undefined, () => store.delete(key));
const describeObject = (key: string, description: object) =>
  change(`${key}.about.json`, JSON.stringify(description), () => store.describe(key, description));

/** Equal for cuts that cannot be told apart. */
function toFingerprint({ survivors, allowed: values }: Cut): string {
  const shorten = (text: string | undefined) => `${text?.length} ${text?.slice(0, 10)}`;
  const disk = [...survivors].map(([path, content]) => `${path} ${shorten(content.toString('latin1'))}`);
  return JSON.stringify([disk, [...values].map(([key, mayBe]) => [key, [...mayBe].map(shorten)])]);
}

async function* bodyOf(text: string): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let start = 0; start < bytes.length; start += 100_000) yield bytes.subarray(start, start + 100_000);
}

/** Restores the disk as it was after each cut, and checks it with a fresh store. */
async function checkEveryCut(): Promise<void> {
  expect(cuts.length).toBeGreaterThan(5);
  const seen = new Set<string>();
  for (const [index, { fate, survivors, allowed: values }] of cuts.entries()) {
    const disk = join(`${directory}-after`, String(index));
    for (const [path, content] of survivors) {
      await mkdir(dirname(join(disk, path)), { recursive: true });
      await writeFile(join(disk, path), content);
    }
    const after = createFolderRawStore({ directory: disk });
    for (const [key, mayBe] of values) {
      const found = (await after.stat(key)) && (await buffer(await after.get(key))).toString();
      const says = `${key.slice(-20)}, cut ${index}, ${fate}`;
      expect(mayBe.has(found), `${says}: ${found?.length ?? 'no'} bytes`).toBe(true);
      seen.add(`${key} ${found?.length}`);
    }
    for await (const { key } of after.list('')) expect(values.has(key)).toBe(true);
    await after.abortStaleUploads(0);
  }
  await rm(`${directory}-after`, { recursive: true, force: true });
  // Some cuts were before a change, some after.
  expect(seen.size).toBeGreaterThan(1);
}

test('a put that creates its folders', async () => {
  await put(A, 'first');
  await put(ELSEWHERE, 'second');
  await checkEveryCut();
});

test('a long put', async () => {
  await put(A, LONG);
  await checkEveryCut();
});

test('an object that is replaced has the old bytes or the new ones', async () => {
  await put(A, 'old');
  await put(A, LONG);
  await put(A, 'new');
  await checkEveryCut();
});

test('a deleted object stays deleted', async () => {
  await put(A, 'first');
  await put(B, 'second');
  await remove(A);
  await checkEveryCut();
});

test('an object and its description', async () => {
  await put(A, 'first');
  await describeObject(A, { path: '/a' });
  await describeObject(A, { path: '/b' });
  await Promise.all([change(`${A}.about.json`, undefined, () => remove(A))]);
  await checkEveryCut();
});

test('concurrent puts that share their syncs', async () => {
  await Promise.all([put(A, 'a'), put(B, LONG), put(C, 'c'), put(ELSEWHERE, 'd')]);
  await checkEveryCut();
});

test('a batch, the descriptions that it shares, and the deletion of one of its objects', async () => {
  const batchId = '01JABCDEFGHJKMNPQRSTVWXYZ9';
  const batch = [A, B, C].map((key) => key.replace('.jsonl', `-${batchId}.jsonl`));
  const [first = '', second = '', third = ''] = batch;
  const texts = ['a', LONG, 'c'];
  for (const [index, key] of batch.entries()) allowed.set(key, new Set([undefined, texts[index]]));
  await store.putAll(batch.map((key, index) => ({ key, body: bodyOf(texts[index] ?? '') })));
  for (const [index, key] of batch.entries()) allowed.set(key, new Set([texts[index]]));
  const shared = `workspaces/one/descriptions/${batchId}.jsonl`;
  const lines = batch.map((key) => `${JSON.stringify([key, { path: key }])}\n`).join('');
  await change(shared, lines, () => store.describeTogether(new Map(batch.map((key) => [key, { path: key }]))));
  const describedFrom = cuts.length;
  const own = (key: string) => [`${key}.about.json`, JSON.stringify({ path: key })] as const;
  const deletion = () => change(shared, undefined, () => store.delete(first));
  await Promise.all([change(first, undefined, () => change(...own(second), () => change(...own(third), deletion)))]);
  for (const { survivors } of cuts.slice(describedFrom)) {
    for (const key of [second, third]) {
      const [name, text] = own(key);
      const found = survivors.get(shared) ?? survivors.get(name);
      expect([lines, text]).toContain(found?.toString());
    }
  }
  await checkEveryCut();
});

test('a body that breaks off leaves what was there', async () => {
  await put(A, 'old');
  async function* broken(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('half');
    throw new Error('the client went away');
  }
  await expect(store.put(A, broken())).rejects.toThrow('the client went away');
  await checkEveryCut();
});
