import { createReadStream } from 'node:fs';
import { streamTranscript, type TranscriptBatch } from '@recount/core';
import {
  createDatabasePool,
  createTranscriptCopier,
  type DatabasePool,
  ensureWorkspace,
  TRANSCRIPT_STATUSES,
  TranscriptWriter,
  toNewRowSet,
} from '@recount/db';
import { handleJob, receiveTranscript, requeueTranscript } from '@recount/ingest';
import { createFolderRawStore, type RawStore } from '@recount/storage';
import { reportMeasurement } from './child.ts';

const WORKSPACE = '01J0000000000000000000BENC';
const MAX_LINE_BYTES = 64 * 1024 * 1024;

interface Deps {
  database: DatabasePool;
  rawStore: RawStore;
}

/** Uploads the file once. The measurement begins at the raw object. */
async function receive(deps: Deps, path: string): Promise<string> {
  await ensureWorkspace(deps.database.database, WORKSPACE, 'bench');
  const request = { workspaceId: WORKSPACE, uploaderKeyId: null, body: createReadStream(path), maxBytes: 2 ** 33 };
  return (await receiveTranscript(deps, request)).transcript.id;
}

/** Raw object to committed rows, as a worker does it. */
async function ingest(deps: Deps, transcriptId: string): Promise<void> {
  const job = { workspaceId: WORKSPACE, transcriptId };
  const outcome = await handleJob({ ...deps, onReport: () => undefined }, job, { maxLineBytes: MAX_LINE_BYTES });
  if (outcome.status !== 'done') throw new Error(`the job ended as ${outcome.status}`);
}

async function parse(path: string): Promise<TranscriptBatch[]> {
  const batches: TranscriptBatch[] = [];
  const stream = streamTranscript('bench', createReadStream(path), { maxLineBytes: MAX_LINE_BYTES });
  for await (const batch of stream) batches.push(batch);
  return batches;
}

/** Writes rows that are already in memory to the database (only the insert stage). */
async function insert({ database }: Deps, transcriptId: string, batches: readonly TranscriptBatch[]): Promise<void> {
  await database.withTransaction(async (transaction, client) => {
    const rowSet = toNewRowSet({ workspaceId: WORKSPACE, rowSetId: transcriptId });
    const copier = createTranscriptCopier(client);
    const writer = new TranscriptWriter(transaction, copier, rowSet, { agent: 'claude-code', priceVersion: 'bench' });
    for (const batch of batches) await writer.write(batch);
    await copier.sendAll();
  });
}

const [subject, connectionString = '', directory = '', path = ''] = process.argv.slice(2);
const deps: Deps = {
  database: createDatabasePool({ connectionString }),
  rawStore: createFolderRawStore({ directory }),
};
const truncate = () =>
  deps.database.pool.query(
    `TRUNCATE recount.transcript_messages, recount.content_blocks, recount.ingest_issues, recount.usage_entries,
     recount.usage_ledger, recount.usage_rollup, recount.message_rollup, recount.tool_calls,
     recount.usage_day_rollup, recount.message_day_rollup, recount.tool_day_rollup, recount.file_day_rollup,
     recount.session_events, recount.findings`,
  );
switch (subject) {
  case 'upload':
    console.log(await receive(deps, path));
    break;
  case 'insert': {
    const batches = await parse(path);
    await truncate();
    await reportMeasurement(1, () => insert(deps, 'bench', batches));
    break;
  }
  default: {
    const transcriptId = path;
    await truncate();
    await requeueTranscript(deps, { workspaceId: WORKSPACE, transcriptId }, TRANSCRIPT_STATUSES);
    await reportMeasurement(1, () => ingest(deps, transcriptId));
  }
}
await deps.database.close();
