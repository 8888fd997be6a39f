import {
  hasWorkspace,
  listTranscriptStates,
  restoreAnnotations,
  restoreBillRows,
  restoreCrossings,
  restorePeopleRows,
  restoreTelemetryRows,
  restoreWorkspace,
  type WorkspaceRecord,
} from '@recount/db';
import {
  parseAttachmentObjectKey,
  parseRawObjectKey,
  parseRedactedObjectKey,
  parseStreamObjectKey,
  parseWorkspaceRecordKey,
  type RawObjectInfo,
  type RawObjectKeyParts,
  RawStoreError,
  READINESS_OBJECT_KEY,
  workspacePrefix,
} from '@recount/storage';
import { decodeTime } from 'ulid';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import {
  ANNOTATION_RECORD,
  BILL_RECORD,
  CROSSING_RECORD,
  PEOPLE_RECORD,
  readRowRecord,
} from '../maintenance/row-records.ts';
import { readTelemetryRecord } from '../maintenance/telemetry-record.ts';
import { readWorkspaceRecord } from '../maintenance/workspace-records.ts';
import { createUploadRecorder, type RecordUpload } from '../receive/record-uploads.ts';
import { type Registration, registerObject } from './register-object.ts';

export interface RebuildOptions {
  /** Younger objects may belong to an upload in progress. */
  minAgeMs: number;
  nowMs: number;
  /** Called for every object that was checked. */
  onObject?: ((progress: RebuildProgress) => void) | undefined;
  signal?: AbortSignal | undefined;
}

export interface RebuildProgress {
  /** Number of transcripts' objects checked. */
  objects: number;
  /** Number of objects that got a row, and their bytes. */
  registered: number;
  registeredBytes: number;
}

export type RebuildFinding =
  /** A recreated workspace has lost its API keys. Their hashes were only in the database. */
  | { kind: 'lost-keys'; workspaceId: string; name: string; keyNames: string[]; fixed: false }
  /** A workspace without a record of its name and settings, or whose name is in use. */
  | { kind: 'renamed-workspace'; workspaceId: string; name: string; wantedName: string | null; fixed: false }
  /** Retention deletes raw objects of the workspace, so the figures of deleted ones are lost. */
  | { kind: 'lost-figures'; workspaceId: string; rawMaxAgeDays: number; fixed: false }
  /** A transcript whose lines name no session; it became a separate session. */
  | { kind: 'unidentified-object'; workspaceId: string; transcriptId: string; objectKey: string; fixed: false }
  /**
   * Objects without a description, as recount 0.3 stored them. Paths, and session ids named at the upload, are lost.
   */
  | { kind: 'guessed-objects'; count: number; fixed: false }
  /** Skipped, because they may belong to uploads in progress. */
  | { kind: 'young-objects'; count: number; fixed: false }
  /** Objects in workspaces that recount did not store. */
  | { kind: 'unknown-objects'; count: number; fixed: false };

const BATCH_OBJECTS = 64;
/** Each one holds the first bytes of a transcript, at most 4 MiB. */
const OBJECTS_AT_ONCE = 8;
/** The time to gather rows for a common transaction if objects are small. */
const GATHER_DELAY_MS = 5;

type TranscriptObject = RawObjectInfo & RawObjectKeyParts;

/**
 * Recreates workspaces and transcripts that the raw store has and the database lacks. Workers then ingest the
 * transcripts. Can be interrupted and repeated. Existing rows are left alone. Bounded in memory. `runDoctor` does the
 * rest once the workspaces exist, for streams, attachments, and unusable objects.
 */
export async function* rebuildDatabase(
  deps: IngestDependencies,
  options: RebuildOptions,
): AsyncGenerator<RebuildFinding> {
  const progress: RebuildProgress = { objects: 0, registered: 0, registeredBytes: 0 };
  const counts = { young: 0, unknown: 0, guessed: 0 };
  const workspaces = createWorkspaceRestorer(deps);
  const register = createRegistrar(deps);
  let batch: TranscriptObject[] = [];

  async function* settleBatch(): AsyncGenerator<RebuildFinding> {
    const missing = await withoutRows(deps, batch);
    for (let start = 0; start < missing.length; start += OBJECTS_AT_ONCE) {
      options.signal?.throwIfAborted();
      const slice = missing.slice(start, start + OBJECTS_AT_ONCE);
      const registrations = await Promise.all(slice.map(register));
      for (const [index, registration] of registrations.entries()) {
        const object = slice[index];
        if (object === undefined) continue;
        if ('sizeBytes' in registration) {
          progress.registered += 1;
          progress.registeredBytes += registration.sizeBytes;
          if (registration.isGuessed) counts.guessed += 1;
        }
        if (registration.outcome !== 'unnamed') continue;
        const { workspaceId, transcriptId, key: objectKey } = object;
        yield { kind: 'unidentified-object', workspaceId, transcriptId, objectKey, fixed: false };
      }
    }
    progress.objects += batch.length;
    batch = [];
    options.onObject?.(progress);
  }

  for await (const object of deps.rawStore.list('')) {
    options.signal?.throwIfAborted();
    if (object.key === READINESS_OBJECT_KEY) continue;
    const place = parsePlace(object.key);
    if (place === undefined) {
      counts.unknown += 1;
      continue;
    }
    yield* workspaces.restore(place.workspaceId);
    if (!('transcriptId' in place)) continue;
    if (object.modifiedAtMs > options.nowMs - options.minAgeMs) counts.young += 1;
    else batch.push({ ...object, ...place });
    if (batch.length >= BATCH_OBJECTS) yield* settleBatch();
  }
  yield* settleBatch();
  if (counts.guessed > 0) yield { kind: 'guessed-objects', count: counts.guessed, fixed: false };
  if (counts.young > 0) yield { kind: 'young-objects', count: counts.young, fixed: false };
  if (counts.unknown > 0) yield { kind: 'unknown-objects', count: counts.unknown, fixed: false };
}

/** The object's transcript or workspace; undefined for an object that recount did not store. */
function parsePlace(key: string): RawObjectKeyParts | { workspaceId: string } | undefined {
  const workspaceId = parseWorkspaceRecordKey(key);
  if (workspaceId !== undefined) return { workspaceId };
  return (
    parseRawObjectKey(key) ?? parseRedactedObjectKey(key) ?? parseStreamObjectKey(key) ?? parseAttachmentObjectKey(key)
  );
}

function createRegistrar(deps: IngestDependencies): (object: TranscriptObject) => Promise<Registration> {
  const recorders = new Map<string, RecordUpload>();
  return async (object) => {
    const { workspaceId, key } = object;
    const record = recorders.get(workspaceId) ?? createUploadRecorder(deps, { delayMs: GATHER_DELAY_MS });
    recorders.set(workspaceId, record);
    try {
      return await registerObject(deps, object, key, record);
    } catch (error) {
      // Deleted since it was listed, or it cannot be read completely.
      if (!(error instanceof RawStoreError)) throw error;
      return { outcome: error.code === 'not-found' ? 'there' : 'unreadable' };
    }
  };
}

async function withoutRows(
  deps: IngestDependencies,
  objects: readonly TranscriptObject[],
): Promise<TranscriptObject[]> {
  const byWorkspace = Map.groupBy(objects, ({ workspaceId }) => workspaceId);
  const missing: TranscriptObject[] = [];
  for (const [workspaceId, all] of byWorkspace) {
    const ids = all.map(({ transcriptId }) => transcriptId);
    const states = await listTranscriptStates(deps.database.database, workspaceId, ids);
    const known = new Set(states.map(({ id }) => id));
    // Two copies of the same transcript: `runDoctor` deletes the redundant one.
    for (const object of all) {
      if (known.has(object.transcriptId)) continue;
      known.add(object.transcriptId);
      missing.push(object);
    }
  }
  return missing;
}

function createWorkspaceRestorer(deps: IngestDependencies) {
  /** Workspaces that exist, or whose name another one has. */
  const settled = new Set<string>();

  async function* restore(workspaceId: string): AsyncGenerator<RebuildFinding> {
    if (settled.has(workspaceId)) return;
    settled.add(workspaceId);
    if (await hasWorkspace(deps.database.database, workspaceId)) return;
    const storedRecord = await readWorkspaceRecord(deps.rawStore, workspaceId);
    const record = storedRecord ?? toNamelessRecord(workspaceId);
    const restored = await deps.database.withTransaction(async (transaction) => {
      const workspace = await restoreWorkspace(transaction, record);
      if (workspace === undefined) return undefined;
      for await (const rows of readRowRecord(deps.rawStore, ANNOTATION_RECORD, workspaceId)) {
        await restoreAnnotations(transaction, workspaceId, rows);
      }
      for await (const rows of readRowRecord(deps.rawStore, CROSSING_RECORD, workspaceId)) {
        await restoreCrossings(transaction, workspaceId, rows);
      }
      for await (const rows of readRowRecord(deps.rawStore, PEOPLE_RECORD, workspaceId)) {
        await restorePeopleRows(transaction, workspaceId, rows);
      }
      for await (const rows of readRowRecord(deps.rawStore, BILL_RECORD, workspaceId)) {
        await restoreBillRows(transaction, workspaceId, rows);
      }
      for await (const rows of readTelemetryRecord(deps.rawStore, workspaceId)) {
        await restoreTelemetryRows(transaction, workspaceId, rows);
      }
      return workspace;
    });
    if (restored === undefined) return;
    const { name, replacedId } = restored;
    if (replacedId !== undefined) {
      settled.add(replacedId);
      for await (const { key } of deps.rawStore.list(workspacePrefix(replacedId))) {
        if (parseWorkspaceRecordKey(key) !== undefined) await deps.rawStore.delete(key);
      }
    }
    if (storedRecord === undefined || name !== storedRecord.name) {
      const wantedName = storedRecord?.name ?? null;
      yield { kind: 'renamed-workspace', workspaceId, name, wantedName, fixed: false };
    }
    const keyNames = record.api_keys.map((key) => key.name);
    yield { kind: 'lost-keys', workspaceId, name, keyNames, fixed: false };
    const rawMaxAgeDays = record.settings?.raw_max_age_days ?? null;
    if (rawMaxAgeDays !== null) yield { kind: 'lost-figures', workspaceId, rawMaxAgeDays, fixed: false };
  }
  return { restore };
}

function toNamelessRecord(id: string): WorkspaceRecord {
  const createdAt = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/.test(id) ? decodeTime(id) : Date.now();
  return {
    id,
    name: id,
    currency_label: 'USD',
    created_at: new Date(createdAt).toISOString(),
    settings: null,
    price_overrides: [],
    api_keys: [],
  };
}
