import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ApiApp, createApiApp, readApiConfig } from '@recount/api';
import { createApiKey, createDatabasePool, ensureWorkspace } from '@recount/db';
import { receiveTranscript } from '@recount/ingest';
import { workJobs } from '@recount/ingest/testing/work-jobs';
import { createTestDatabase } from '@recount/local-postgres/testing';
import { createFolderRawStore } from '@recount/storage';
import { pino } from 'pino';
import type { FleetFile } from './facts.ts';
import { killWorkerInTheMiddle } from './kill-worker.ts';

const WORKSPACE = '01J00000000000000000000001';
/** The API's current time, in the middle of the fleet. */
export const NOW_MS = Date.parse('2026-10-25T01:30:00Z');
const MAX_BYTES = 64 * 1024 * 1024;

export interface FleetInstallation {
  /** The JSON answer of a reading route. */
  read<Answer>(path: string, query?: Record<string, string>): Promise<Answer>;
  readText(path: string, query?: Record<string, string>): Promise<string>;
  close(): Promise<void>;
}

/** An installation that has ingested the files in order, half of them after a worker was killed, queried through the HTTP API. */
export async function ingestFleet(files: readonly FleetFile[]): Promise<FleetInstallation> {
  const testDatabase = await createTestDatabase();
  const directory = await mkdtemp(join(tmpdir(), 'recount-fleet-'));
  const database = createDatabasePool({ connectionString: testDatabase.connectionString });
  const rawStore = createFolderRawStore({ directory });
  const deps = { database, rawStore };
  await ensureWorkspace(database.database, WORKSPACE, 'fleet');
  const receive = async (some: readonly FleetFile[]): Promise<void> => {
    for (const { path, text } of some) {
      const body = toBody(text);
      await receiveTranscript(deps, { workspaceId: WORKSPACE, uploaderKeyId: null, path, body, maxBytes: MAX_BYTES });
    }
  };
  const environment = { DATABASE_URL: testDatabase.connectionString, RECOUNT_RAW_STORE: directory };
  const half = Math.floor(files.length / 2);
  await receive(files.slice(0, half));
  await workJobs(deps, { maxLineBytes: MAX_BYTES });
  await receive(files.slice(half));
  await killWorkerInTheMiddle(environment);
  await workJobs(deps, { maxLineBytes: MAX_BYTES });

  const logLines: string[] = [];
  const log = pino({ level: 'error' }, { write: (line: string) => void logLines.push(line) });
  const app: ApiApp = await createApiApp({ ...deps, log, now: () => NOW_MS }, readApiConfig(environment));
  const { key } = await createApiKey(database.database, { workspaceId: WORKSPACE, name: 'test', scopes: ['read'] });
  const readText: FleetInstallation['readText'] = async (path, query = {}) => {
    const answer = await app.inject({ url: path, query, headers: { authorization: `Bearer ${key}` } });
    if (answer.statusCode !== 200) {
      throw new Error(`${path} ${JSON.stringify(query)}: ${answer.payload}\n${logLines.join('')}`);
    }
    return answer.payload;
  };
  return {
    readText,
    read: async (path, query) => JSON.parse(await readText(path, query)),
    async close() {
      await app.close();
      await database.close();
      await rawStore.close();
      await testDatabase.drop();
      await rm(directory, { recursive: true });
    },
  };
}

async function* toBody(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}
