import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createDatabasePool,
  type DatabasePool,
  ensureWorkspace,
  findTranscript,
  type IngestJob,
  sql,
  type TranscriptRow,
} from '@recount/db';
import { createTestDatabase } from '@recount/local-postgres/testing';
import { createFolderRawStore, type RawStore } from '@recount/storage';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import type { ProcessOptions } from '../process/process-options.ts';
import type { ReceiveRequest } from '../receive/prepare-upload.ts';
import { receiveTranscript } from '../receive/receive-transcript.ts';
import type { ReceiveResult } from '../receive/settle-upload.ts';
import { listJobs, workJobs } from './work-jobs.ts';

export const TEST_WORKSPACE = '01J00000000000000000000001';

export interface TestInstallation extends IngestDependencies {
  database: DatabasePool;
  rawStore: RawStore;
  /** Jobs of transcripts that are not ingested yet, in order. */
  listJobs(): Promise<IngestJob[]>;
  clearJobs(): Promise<void>;
  /** Folder of the raw objects, whose keys are paths in it. */
  storeDirectory: string;
  receive(text: string | Uint8Array, request?: Partial<ReceiveRequest>): Promise<ReceiveResult>;
  /** Ingests what is waiting, in the order of the queue. */
  work(options?: Pick<ProcessOptions, 'priceSource'>): Promise<void>;
  find(transcriptId: string): Promise<TranscriptRow | undefined>;
  listObjectKeys(): Promise<string[]>;
  close(): Promise<void>;
}

/**
 * A database with its jobs, and a folder store. Sessions that grew are always parsed incrementally, however small they
 * are.
 */
export async function createTestInstallation(): Promise<TestInstallation> {
  const testDatabase = await createTestDatabase();
  const directory = await mkdtemp(join(tmpdir(), 'recount-ingest-'));
  const database = createDatabasePool({ connectionString: testDatabase.connectionString });
  const rawStore = createFolderRawStore({ directory });
  await ensureWorkspace(database.database, TEST_WORKSPACE, 'test');
  const deps = { database, rawStore };
  return {
    ...deps,
    listJobs: () => listJobs(database),
    async clearJobs() {
      await database.database.execute(sql`DELETE FROM recount.ingest_jobs`);
    },
    storeDirectory: directory,
    receive: (text, request = {}) =>
      receiveTranscript(deps, {
        workspaceId: TEST_WORKSPACE,
        uploaderKeyId: null,
        body: toBody(text),
        maxBytes: 1024 * 1024 * 1024,
        ...request,
      }),
    work: (options = {}) => workJobs(deps, { maxLineBytes: 1024 * 1024, minCheckpointBytes: 0, ...options }),
    find: (transcriptId) => findTranscript(database.database, TEST_WORKSPACE, transcriptId),
    async listObjectKeys() {
      const keys: string[] = [];
      for await (const { key } of rawStore.list('')) keys.push(key);
      return keys.sort();
    },
    async close() {
      await database.close();
      await rawStore.close();
      await testDatabase.drop();
      await rm(directory, { recursive: true });
    },
  };
}

async function* toBody(text: string | Uint8Array): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let start = 0; start < bytes.length; start += 1000) yield bytes.subarray(start, start + 1000);
}

/** A line of a transcript, either a prompt, or an answer with usage. */
export function toLine(session: string, index: number, fields: Record<string, unknown> = {}): string {
  const timestamp = new Date(Date.UTC(2026, 0, 1, 0, 0, index)).toISOString();
  const envelope = { sessionId: session, uuid: `uuid-${index}`, parentUuid: null, timestamp, cwd: '/home/ada/app' };
  const message =
    index % 2 === 0
      ? { type: 'user', message: { role: 'user', content: `prompt ${index}` } }
      : {
          type: 'assistant',
          requestId: `req-${index}`,
          message: {
            id: `msg-${index}`,
            role: 'assistant',
            model: 'claude-sonnet-4-5',
            stop_reason: 'end_turn',
            content: [{ type: 'text', text: `answer ${index}` }],
            usage: { input_tokens: 10, output_tokens: 100 + index, cache_read_input_tokens: 1000 },
          },
        };
  return `${JSON.stringify({ ...envelope, ...message, ...fields })}\n`;
}

export function toTranscript(session: string, lineCount: number): string {
  return Array.from({ length: lineCount }, (_, index) => toLine(session, index)).join('');
}
