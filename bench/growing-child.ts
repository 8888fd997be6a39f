import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { createDatabasePool, ensureWorkspace, findTranscript } from '@recount/db';
import { deleteSession, handleJob, receiveTranscript } from '@recount/ingest';
import { createFolderRawStore } from '@recount/storage';
import { median } from './child.ts';

const WORKSPACE = '01J0000000000000000000GROW';
/** Keeps a transcript, so that deletions never leave tables empty: PostgreSQL would plan for tables without rows. */
const OTHER_WORKSPACE = '01J0000000000000000000KEPT';
/** A worker prepares a statement the second time and keeps its plan from then on, so most rounds are of that. */
const ROUNDS = 7;
/** The first one whose boundary no response's lines span; a worker parses the others from the beginning. */
const GROWN_BY = [0.01, 0.011, 0.012, 0.013, 0.014];
const MAX_LINE_BYTES = 64 * 1024 * 1024;

const [connectionString = '', directory = '', path = ''] = process.argv.slice(2);
const database = createDatabasePool({ connectionString, preparesStatements: true });
const deps = { database, rawStore: createFolderRawStore({ directory }), onReport: () => undefined };

/** Offset of the last line that ends before the last `share` of the file. */
async function findEndOfBeginning(share: number): Promise<number> {
  const file = await open(path);
  try {
    const end = Math.floor((await file.stat()).size * (1 - share));
    const bytes = Buffer.alloc(Math.min(end, MAX_LINE_BYTES));
    await file.read(bytes, 0, bytes.length, end - bytes.length);
    return end - bytes.length + bytes.lastIndexOf('\n') + 1;
  } finally {
    await file.close();
  }
}

/** Receives the file's beginning, or the whole; returns how long a worker then takes. */
async function ingest(
  sessionId: string,
  endByte: number | undefined,
  workspaceId = WORKSPACE,
): Promise<{ id: string; milliseconds: number }> {
  const body = createReadStream(path, endByte === undefined ? {} : { end: endByte - 1 });
  const request = { workspaceId, uploaderKeyId: null, sessionId, body, maxBytes: 2 ** 33 };
  const { id } = (await receiveTranscript(deps, request)).transcript;
  const start = performance.now();
  const job = { workspaceId, transcriptId: id };
  const outcome = await handleJob(deps, job, { maxLineBytes: MAX_LINE_BYTES });
  if (outcome.status !== 'done') throw new Error(`the job ended as ${outcome.status}`);
  return { id, milliseconds: performance.now() - start };
}

await ensureWorkspace(database.database, WORKSPACE, 'growing');
await ensureWorkspace(database.database, OTHER_WORKSPACE, 'kept');
await ingest('kept', undefined, OTHER_WORKSPACE);

/** Milliseconds for the file that grew from `endByte`; undefined if it was parsed from its beginning. */
async function grow(endByte: number): Promise<number | undefined> {
  const beginning = await ingest('grown', endByte);
  const { id, milliseconds } = await ingest('grown', undefined);
  const transcript = await findTranscript(database.database, WORKSPACE, id);
  await deleteSession(deps, WORKSPACE, 'grown');
  return transcript?.row_set_id === beginning.id ? milliseconds : undefined;
}

async function chooseEnd(): Promise<number> {
  for (const share of GROWN_BY) {
    const endByte = await findEndOfBeginning(share);
    if ((await grow(endByte)) !== undefined) return endByte;
  }
  throw new Error('the transcript was parsed from its beginning wherever it was cut');
}

const endByte = await chooseEnd();
const [grown, whole]: [number[], number[]] = [[], []];
for (let round = 0; round < ROUNDS; round += 1) {
  grown.push((await grow(endByte)) ?? Number.NaN);
  whole.push((await ingest('whole', undefined)).milliseconds);
  await deleteSession(deps, WORKSPACE, 'whole');
}
console.log(JSON.stringify({ grownMs: median(grown), wholeMs: median(whole) }));
await database.close();
