import { buffer } from 'node:stream/consumers';
import { type Database, listTelemetryRows, readTelemetryStates, type StoredTelemetryRow } from '@recount/db';
import { parseTelemetryDay, type RawStore, RawStoreError, telemetryPrefix, telemetryRecordKey } from '@recount/storage';
import { type RowRecord, readRowRecord, recordRows } from './row-records.ts';

/** A state has four numbers or times. */
const MAX_STATE_BYTES = 300;

/** The telemetry that was received on one day in UTC. A day that is over rarely changes, so that it is not written again. */
const toRecord = (day: string, state: string | undefined): RowRecord<StoredTelemetryRow> => ({
  toKey: (workspaceId) => telemetryRecordKey(workspaceId, day),
  readState: async () => state,
  listRows: (database, workspaceId) => listTelemetryRows(database, workspaceId, day),
  isRow: ({ agent, record_key: key }) => typeof agent === 'string' && typeof key === 'string',
  startsWithState: true,
});

async function listRecordedDays(rawStore: RawStore, workspaceId: string): Promise<string[]> {
  const days: string[] = [];
  for await (const { key } of rawStore.list(telemetryPrefix(workspaceId))) {
    const day = parseTelemetryDay(key);
    if (day !== undefined) days.push(day);
  }
  return days;
}

/** The state that an object begins with; undefined if there is none. */
async function readRecordedState(rawStore: RawStore, key: string): Promise<string | undefined> {
  const range = { startByte: 0, endByteExclusive: MAX_STATE_BYTES };
  try {
    const [line = ''] = (await buffer(await rawStore.get(key, { range }))).toString().split('\n');
    const { state } = JSON.parse(line) as { state?: unknown };
    return typeof state === 'string' ? state : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    if (error instanceof RawStoreError && error.code === 'not-found') return undefined;
    throw error;
  }
}

/**
 * Writes the telemetry of each day that changed to the raw store, and deletes objects of days without any. Returns the
 * states of all days. `written` is what an earlier call returned; without it, the objects are asked.
 */
export async function recordTelemetry(
  database: Database,
  rawStore: RawStore,
  { workspaceId, written }: { workspaceId: string; written: ReadonlyMap<string, string> | undefined },
): Promise<Map<string, string>> {
  const states = await readTelemetryStates(database, workspaceId);
  const known = written?.keys() ?? (await listRecordedDays(rawStore, workspaceId));
  for (const day of new Set([...states.keys(), ...known])) {
    const record = toRecord(day, states.get(day));
    const before = written ? written.get(day) : await readRecordedState(rawStore, record.toKey(workspaceId));
    await recordRows(database, rawStore, record, { workspaceId, written: before });
  }
  return states;
}

/** The telemetry that the raw store has of a workspace, page by page. */
export async function* readTelemetryRecord(
  rawStore: RawStore,
  workspaceId: string,
): AsyncGenerator<StoredTelemetryRow[]> {
  for (const day of await listRecordedDays(rawStore, workspaceId)) {
    yield* readRowRecord(rawStore, toRecord(day, undefined), workspaceId);
  }
}
