import { createHash } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DatabasePool } from '@recount/db';
import type { Random } from '../random.ts';
import type { Installation } from './installation.ts';
import { createTally } from './tally.ts';
import type { Attempted } from './upload-client.ts';
import { upload } from './upload-client.ts';
import type { PlannedUpload } from './uploads.ts';

const KINDS = ['changed', 'cut', 'removed'] as const;
type Kind = (typeof KINDS)[number];

/** A transcript whose raw object was damaged, and how to upload it again. */
export interface Damaged {
  kind: Kind;
  transcriptId: string;
  sha256: string;
  planned: PlannedUpload;
}

interface DamageOptions {
  attempted: readonly Attempted[];
  damaged: readonly Damaged[];
  random: Random;
}

const MAX_WAIT_MS = 120_000;

/**
 * Changes a byte of an ingested transcript's raw object, cuts it in half or removes it. Undefined if there is none.
 * Excluded are transcripts that are not ingested yet, which would fail, and growing sessions, whose other versions are
 * compared with it.
 */
export async function damageObject(installation: Installation, options: DamageOptions): Promise<Damaged | undefined> {
  const { random } = options;
  const [kind, drawn, place] = [random.pick(KINDS), random.next(), random.next()];
  const deadlineMs = performance.now() + MAX_WAIT_MS;
  while (performance.now() < deadlineMs) {
    const whole = await findWhole(installation, options).catch(() => []);
    const chosen = whole[Math.floor(drawn * whole.length)];
    if (chosen !== undefined) {
      const { objectKey, ...transcript } = chosen;
      const harm = installation.rawDirectory === undefined ? harmObject : harmFile;
      await harm(installation, { objectKey, kind, place });
      return { ...transcript, kind };
    }
    await sleep(200);
  }
  return undefined;
}

async function findWhole(
  installation: Installation,
  { attempted, damaged }: DamageOptions,
): Promise<(Omit<Damaged, 'kind'> & { objectKey: string })[]> {
  const earlier = new Set(damaged.map(({ transcriptId }) => transcriptId));
  const candidates = new Map(
    attempted.flatMap(({ planned, sha256, receipt }) =>
      receipt === undefined || !planned.isOnlyVersion || earlier.has(receipt.transcriptId)
        ? []
        : [[receipt.transcriptId, { transcriptId: receipt.transcriptId, sha256, planned }]],
    ),
  );
  const database = installation.openDatabase();
  try {
    const keys = await readIngestedKeys(database, [...candidates.keys()]);
    return [...candidates.values()].flatMap((candidate) => {
      const objectKey = keys.get(candidate.transcriptId);
      return objectKey === undefined ? [] : [{ ...candidate, objectKey }];
    });
  } finally {
    await database.close();
  }
}

async function readIngestedKeys({ pool }: DatabasePool, ids: readonly string[]): Promise<Map<string, string>> {
  const { rows } = await pool.query<{ id: string; object_key: string }>(
    `SELECT id, object_key FROM recount.transcripts WHERE id = ANY($1) AND status = 'ingested'`,
    [ids],
  );
  return new Map(rows.map(({ id, object_key }) => [id, object_key]));
}

interface Harm {
  objectKey: string;
  kind: Kind;
  /** Share of the bytes before the changed one. */
  place: number;
}

async function harmFile({ rawDirectory = '' }: Installation, { objectKey, kind, place }: Harm): Promise<void> {
  const path = join(rawDirectory, objectKey);
  if (kind === 'removed') return rm(path);
  const file = await open(path, 'r+');
  try {
    const { size } = await file.stat();
    if (kind === 'cut') return await file.truncate(Math.floor(size / 2));
    const position = Math.floor(place * size);
    const byte = Buffer.alloc(1);
    await file.read(byte, 0, 1, position);
    await file.write(changeByte(byte, 0), 0, 1, position);
  } finally {
    await file.close();
  }
}

async function harmObject({ rawStore }: Installation, { objectKey, kind, place }: Harm): Promise<void> {
  if (kind === 'removed') return rawStore.delete(objectKey);
  const bytes = await buffer(await rawStore.get(objectKey));
  const { length } = bytes;
  const changed = kind === 'cut' ? bytes.subarray(0, length / 2) : changeByte(bytes, Math.floor(place * length));
  await rawStore.put(objectKey, Readable.from([changed]));
}

function changeByte(bytes: Buffer, position: number): Buffer {
  bytes[position] = (bytes[position] ?? 0) ^ 1;
  return bytes;
}

/**
 * Uploads each one again, as its owner would on the doctor's advice. Returns how many that healed; the clients healed
 * others.
 */
export async function healAll({ apiUrl }: Installation, key: string, damaged: readonly Damaged[]): Promise<number> {
  const answers = createTally();
  let healed = 0;
  for (const { planned } of damaged) {
    const calm = { ...planned, pauseMs: 0, givesUpAfter: undefined };
    const { receipt } = await upload({ baseUrl: apiUrl, key, answers }, calm);
    if (receipt?.rawObject === 'healed') healed += 1;
  }
  return healed;
}

/** Objects that rows of damaged transcripts name and that do not have the transcript's bytes. */
export async function findDamaged(
  { rawStore }: Installation,
  database: DatabasePool,
  damaged: readonly Damaged[],
): Promise<string[]> {
  const keys = await readIngestedKeys(
    database,
    damaged.map(({ transcriptId }) => transcriptId),
  );
  const failures: string[] = [];
  for (const { transcriptId, sha256, kind } of damaged) {
    const objectKey = keys.get(transcriptId);
    const bytes = objectKey === undefined ? undefined : await readWhole(rawStore, objectKey);
    if (bytes === undefined || createHash('sha256').update(bytes).digest('hex') !== sha256) {
      failures.push(`${transcriptId}: its object, once ${kind}, is not healed`);
    }
  }
  return failures;
}

const readWhole = async (rawStore: Installation['rawStore'], objectKey: string): Promise<Buffer | undefined> =>
  rawStore.get(objectKey).then(buffer, () => undefined);
