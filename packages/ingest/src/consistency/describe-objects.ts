import {
  findLiveStream,
  findStreamOfTranscript,
  findTranscript,
  listAllTranscripts,
  listStoredStreams,
  type TranscriptReference,
} from '@recount/db';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { toStoredLiveStream, toTranscriptDescription } from '../raw-objects/describe-transcript.ts';
import { describeSecrets, readEarlierSecrets } from '../secrets/redaction.ts';

const OBJECTS_AT_ONCE = 16;

type Deps = Pick<IngestDependencies, 'database' | 'rawStore'>;

/**
 * Describes the raw objects of transcripts and streams that have no description, in one workspace or all, so that the
 * database can be rebuilt exactly. recount 0.3 stored objects without one. Returns the number of objects described.
 */
export async function describeObjects(
  deps: Deps,
  { workspaceId, signal }: { workspaceId?: string | undefined; signal?: AbortSignal | undefined } = {},
): Promise<number> {
  let count = 0;
  for await (const page of listAllTranscripts(deps.database.database, { workspaceId })) {
    for (let start = 0; start < page.length; start += OBJECTS_AT_ONCE) {
      signal?.throwIfAborted();
      const described = await Promise.all(page.slice(start, start + OBJECTS_AT_ONCE).map((row) => describe(deps, row)));
      count += described.filter(Boolean).length;
    }
  }
  for await (const page of listStoredStreams(deps.database.database, workspaceId)) {
    for (const stream of page) if (await describeStream(deps, stream)) count += 1;
  }
  return count;
}

async function describe({ database, rawStore }: Deps, reference: TranscriptReference): Promise<boolean> {
  const { workspace_id: workspaceId, id, object_key: key } = reference;
  if (reference.raw_deleted_at !== null) return false;
  if ((await rawStore.readDescription(key)) !== undefined || (await rawStore.stat(key)) === undefined) return false;
  const find = () => findTranscript(database.database, workspaceId, id);
  const row = await find();
  if (row?.object_key !== key) return false;
  const stream = await findStreamOfTranscript(database.database, workspaceId, id);
  const description = toTranscriptDescription(row, row.created_at);
  await rawStore.describe(key, {
    ...(stream && { live_stream: toStoredLiveStream(stream) }),
    ...describeSecrets(undefined, await readEarlierSecrets({ transaction: database.database, rawStore }, row)),
    ...description,
  });
  const now = await find();
  if (now?.object_key === key && now.raw_deleted_at === null) return true;
  // Deleted, or replaced by a redacted copy since then, and no one would look for the description.
  await rawStore.delete(key);
  return false;
}

async function describeStream(
  { database, rawStore }: Deps,
  { workspaceId, streamId, objectKey: key }: { workspaceId: string; streamId: string; objectKey: string },
): Promise<boolean> {
  if ((await rawStore.readDescription(key)) !== undefined || (await rawStore.stat(key)) === undefined) return false;
  const find = () => findLiveStream(database.database, { workspaceId, streamId });
  const row = await find();
  if (row?.object_key !== key) return false;
  await rawStore.describe(key, { live_stream: toStoredLiveStream(row) });
  if ((await find())?.object_key === key) return true;
  await rawStore.delete(key);
  return false;
}
