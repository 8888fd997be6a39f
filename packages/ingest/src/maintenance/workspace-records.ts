import { buffer } from 'node:stream/consumers';
import { hasWorkspace, listWorkspaceRecords, type WorkspaceRecord } from '@recount/db';
import { type RawStore, RawStoreError, workspaceRecordKey } from '@recount/storage';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { type LoopDeps, type LoopOptions, runLoop } from '../run-loop.ts';
import { ROW_RECORDS, recordRows } from './row-records.ts';
import { recordTelemetry } from './telemetry-record.ts';

type Deps = Pick<IngestDependencies, 'database' | 'rawStore'>;

const DEFAULT_INTERVAL_MS = 30_000;
/** Telemetry, which may be much, rests at least this many times as long as recording it took. */
const REST_FACTOR = 20;
/**
 * A thousand price overrides take a twentieth of it, a thousand dismissed findings with the longest texts a quarter, as
 * many renamed repositories with the longest names less than that.
 */
const MAX_RECORD_BYTES = 16 * 1024 * 1024;

/** Records written by earlier calls. */
interface WrittenRecords {
  /** The content of each object of the raw store, which is a text, or for rows their state, see `recordRows`. */
  objects: Map<string, string>;
  /** By workspace. */
  telemetry: Map<string, { states: Map<string, string>; restsUntilMs: number }>;
}

const createWrittenRecords = (): WrittenRecords => ({ objects: new Map(), telemetry: new Map() });

/**
 * Writes each workspace's name, settings and budgets, its annotations of sessions, its people, what its budgets have
 * warned of, its bills and its telemetry to the raw store, if they changed.
 * `written` holds what earlier calls wrote, which is not read again.
 */
export async function recordWorkspaces(
  { database, rawStore }: Deps,
  written: WrittenRecords = createWrittenRecords(),
): Promise<void> {
  const { objects, telemetry } = written;
  for await (const records of listWorkspaceRecords(database.database)) {
    for (const record of records) {
      const text = `${JSON.stringify(record, null, 2)}\n`;
      const { id: workspaceId } = record;
      for (const rows of ROW_RECORDS) {
        const key = rows.toKey(workspaceId);
        const recorded = { workspaceId, written: objects.get(key) };
        objects.set(key, await recordRows(database.database, rawStore, rows, recorded));
      }
      const earlier = telemetry.get(workspaceId);
      const startMs = performance.now();
      if (earlier === undefined || earlier.restsUntilMs <= startMs) {
        const received = { workspaceId, written: earlier?.states };
        const states = await recordTelemetry(database.database, rawStore, received);
        const endMs = performance.now();
        telemetry.set(workspaceId, { states, restsUntilMs: endMs + (endMs - startMs) * REST_FACTOR });
      }
      const key = workspaceRecordKey(workspaceId);
      if (objects.get(key) === text) continue;
      if ((await readText(rawStore, key)) !== text) {
        await rawStore.put(key, toBody(text));
        // Deleted since then, and no one would look for the record.
        if (!(await hasWorkspace(database.database, workspaceId))) await rawStore.delete(key);
      }
      objects.set(key, text);
    }
  }
}

/** Records workspaces now and every half a minute, in one process at a time. */
export async function runWorkspaceRecorder(
  deps: Deps & LoopDeps,
  { signal, intervalMs = DEFAULT_INTERVAL_MS }: LoopOptions,
): Promise<void> {
  const written = createWrittenRecords();
  await runLoop(deps, { signal, intervalMs, lock: 'workspace-records' }, () => recordWorkspaces(deps, written));
}

/** Undefined if there is no record, or it cannot be read. */
export async function readWorkspaceRecord(rawStore: RawStore, id: string): Promise<WorkspaceRecord | undefined> {
  const text = await readText(rawStore, workspaceRecordKey(id));
  try {
    const value = JSON.parse(text ?? 'null') as Partial<WorkspaceRecord> | null;
    const isWhole = value?.id === id && typeof value.name === 'string' && Array.isArray(value.api_keys);
    return isWhole ? (value as WorkspaceRecord) : undefined;
  } catch {
    return undefined;
  }
}

async function readText(rawStore: RawStore, key: string): Promise<string | undefined> {
  try {
    const range = { startByte: 0, endByteExclusive: MAX_RECORD_BYTES };
    return (await buffer(await rawStore.get(key, { range }))).toString();
  } catch (error) {
    if (error instanceof RawStoreError && ['not-found', 'invalid-range'].includes(error.code)) return undefined;
    throw error;
  }
}

async function* toBody(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}
