import { setTimeout as sleep } from 'node:timers/promises';
import { type DemoTranscript, generateDemo, makeDemoBill } from '@recount/core/demo';
import {
  type Actor,
  createApiKey,
  createDemoWorkspace,
  type DemoWorkspace,
  findDemoWorkspace,
  isDemoWorkspace,
  listApiKeys,
  OPERATOR,
  revokeApiKey,
  storeBill,
  withAdvisoryLock,
} from '@recount/db';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { deleteWorkspace } from '../maintenance/deletions.ts';
import { DEFAULT_MAX_TRANSCRIPT_BYTES, receiveTranscript } from '../receive/receive-transcript.ts';
import { createUploadRecorder } from '../receive/record-uploads.ts';
import { addDemoTeams } from './add-demo-teams.ts';
import { chooseDemoBudget } from './choose-demo-budget.ts';
import { readDemoCosts } from './read-demo-costs.ts';

/** The dates of an older demo look stale, so it is made again. */
const MAX_AGE_MS = 24 * 60 * 60_000;
const KEY_NAME = 'demo';
const LOCK_POLL_MS = 100;
const MAX_AT_ONCE = 64;
/** Those that are stored together share a statement. */
const GATHER_DELAY_MS = 30;

export interface OpenedDemo {
  workspaceId: string;
  name: string;
  /** Secret of a new key, which may read, and delete the demo. It replaces the one before. */
  apiKey: string;
  keyId: string;
}

/**
 * Opens the demo, a workspace with the transcripts, people, teams, plans, budget and bill of an invented company, which ends
 * at `nowMs` in milliseconds since 1970. Makes it first if there is none, or if it is older than a day; continues what
 * an interruption left. Its transcripts are stored and queued when this returns, and workers ingest them.
 */
export async function openDemo(
  deps: IngestDependencies,
  { nowMs, actor, signal }: { nowMs: number; actor: Actor; signal?: AbortSignal },
): Promise<OpenedDemo> {
  // Two calls together would make two demos, or one would delete the workspace that the other fills.
  let demo: DemoWorkspace | undefined;
  while (demo === undefined) {
    signal?.throwIfAborted();
    demo = await withAdvisoryLock(deps.database, 'demo', async () => {
      const provided = await provideWorkspace(deps, nowMs, actor);
      await fill(deps, provided, signal);
      return provided;
    });
    if (demo === undefined) await sleep(LOCK_POLL_MS, undefined, { signal });
  }
  const { database, withTransaction } = deps.database;
  const keys = await listApiKeys(database, demo.id);
  const { id: keyId, key: apiKey } = await withTransaction(async (transaction) => {
    for (const { id, name } of keys) if (name === KEY_NAME) await revokeApiKey(transaction, demo.id, id, actor);
    const scopes = ['read', 'admin'] as const;
    return await createApiKey(transaction, { workspaceId: demo.id, name: KEY_NAME, scopes, actor });
  });
  return { workspaceId: demo.id, name: demo.name, apiKey, keyId };
}

/** Deletes a workspace with all that is in it, if it is a demo. Else returns false. */
export async function deleteDemo(deps: IngestDependencies, workspaceId: string, actor: Actor): Promise<boolean> {
  if (!(await isDemoWorkspace(deps.database.database, workspaceId))) return false;
  await deleteWorkspace(deps, workspaceId, actor);
  return true;
}

async function provideWorkspace(deps: IngestDependencies, nowMs: number, actor: Actor): Promise<DemoWorkspace> {
  const found = await findDemoWorkspace(deps.database.database);
  if (found !== undefined && nowMs - found.endsAtMs < MAX_AGE_MS) return found;
  if (found !== undefined) await deleteWorkspace(deps, found.id, actor);
  const costs = await readDemoCosts(nowMs);
  const budget = chooseDemoBudget(nowMs, costs);
  const bill = makeDemoBill(nowMs, costs);
  return await deps.database.withTransaction(async (transaction) => {
    const demo = await createDemoWorkspace(transaction, { endsAtMs: nowMs, actor });
    await addDemoTeams(transaction, { workspaceId: demo.id, actor }, budget);
    await storeBill(transaction, { workspaceId: demo.id, vendor: 'anthropic', actor }, bill);
    return demo;
  });
}

/** Transcripts that are stored already add nothing. */
async function fill(
  deps: IngestDependencies,
  { id: workspaceId, endsAtMs }: DemoWorkspace,
  signal: AbortSignal | undefined,
): Promise<void> {
  const record = createUploadRecorder(deps, { delayMs: GATHER_DELAY_MS });
  const store = async ({ path, text, person, machine, repository }: DemoTranscript): Promise<unknown> => {
    const body = ReadableStream.from([Buffer.from(text)]);
    const upload = { workspaceId, uploaderKeyId: OPERATOR, person, machine, repository, path, body, signal };
    return await receiveTranscript(deps, { ...upload, maxBytes: DEFAULT_MAX_TRANSCRIPT_BYTES }, { record });
  };
  let storing: Promise<unknown>[] = [];
  for (const transcript of generateDemo(endsAtMs)) {
    signal?.throwIfAborted();
    storing.push(store(transcript));
    if (storing.length < MAX_AT_ONCE) continue;
    await Promise.all(storing);
    storing = [];
  }
  await Promise.all(storing);
}
