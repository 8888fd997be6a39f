import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasWorkspace, listWorkspaceRecords, type WorkspaceRecord, withAdvisoryLock } from '@recount/db';
import { type RawStore, RawStoreError, workspaceRecordKey } from '@recount/storage';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { toFailureReason } from '../process/failure-reason.ts';

type Deps = Pick<IngestDependencies, 'database' | 'rawStore'>;

/** Any constant that nothing else in the database uses. */
const RECORD_LOCK = 7_262_893;
const DEFAULT_INTERVAL_MS = 30_000;
/** A thousand price overrides take a fifth of it. */
const MAX_RECORD_BYTES = 4 * 1024 * 1024;

/**
 * Writes each workspace's name and settings to the raw store, if they changed. `written` holds the texts written by
 * earlier calls, by workspace; these are not read again.
 */
export async function recordWorkspaces(
  { database, rawStore }: Deps,
  written = new Map<string, string>(),
): Promise<void> {
  for await (const records of listWorkspaceRecords(database.database)) {
    for (const record of records) {
      const text = `${JSON.stringify(record, null, 2)}\n`;
      if (written.get(record.id) === text) continue;
      const key = workspaceRecordKey(record.id);
      if ((await readText(rawStore, key)) !== text) {
        await rawStore.put(key, toBody(text));
        // Deleted since then, and no one would look for the record.
        if (!(await hasWorkspace(database.database, record.id))) await rawStore.delete(key);
      }
      written.set(record.id, text);
    }
  }
}

/** Runs now and every half a minute, in one process at a time, until it is aborted. Never rejects. */
export async function runWorkspaceRecorder(
  deps: Deps & { onFailure: (reason: string) => void },
  { signal, intervalMs = DEFAULT_INTERVAL_MS }: { signal: AbortSignal; intervalMs?: number },
): Promise<void> {
  const written = new Map<string, string>();
  while (!signal.aborted) {
    try {
      await withAdvisoryLock(deps.database, RECORD_LOCK, () => recordWorkspaces(deps, written));
    } catch (error) {
      if (!signal.aborted) deps.onFailure(toFailureReason(error));
    }
    await sleep(intervalMs, undefined, { signal }).catch(() => undefined);
  }
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
