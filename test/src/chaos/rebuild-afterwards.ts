import { setTimeout as sleep } from 'node:timers/promises';
import type { DatabasePool } from '@recount/db';
import { emptyDatabase } from '@recount/ingest/testing/table-backup';
import { type RawStore, workspaceRecordKey } from '@recount/storage';
import { compareHashes, hashWorkspace } from './compare-workspaces.ts';
import type { Installation } from './installation.ts';
import { runRecount } from './run-recount.ts';

const MAX_RECORD_WAIT_MS = 300_000;

interface RebuildContext {
  database: DatabasePool;
  workspaceIds: readonly string[];
  settle(): Promise<void>;
}

/** Loses the database, rebuilds it from the raw store alone, and returns what differs from before. */
export async function rebuildAfterwards(
  { environment, rawStore }: Installation,
  { database, workspaceIds, settle }: RebuildContext,
): Promise<string[]> {
  const hashAll = () => Promise.all(workspaceIds.map((id) => hashWorkspace(database, id)));
  await waitForRecords(rawStore, workspaceIds);
  const before = await hashAll();
  await emptyDatabase(database);
  const failures: string[] = [];
  // Only the lost keys of each workspace need a person.
  const rebuilt = await runRecount(['doctor', '--rebuild', '--json', '--min-age', '0m'], environment);
  const { needAttention, findings } = JSON.parse(rebuilt.stdout || '{}');
  if (needAttention !== workspaceIds.length) {
    failures.push(`doctor --rebuild: ${rebuilt.stderr}${JSON.stringify(findings?.slice(0, 5))} need attention`);
  }
  await settle();
  for (const command of [['verify'], ['doctor', '--min-age', '0m']]) {
    const { exitCode, stdout, stderr } = await runRecount(command, environment);
    if (exitCode !== 0) failures.push(`${command[0]} of the rebuilt database: ${stdout}${stderr}`);
  }
  const after = await hashAll();
  return before.reduce(
    (all, hashes, index) => all.concat(compareHashes(after[index] ?? {}, hashes, 'the database that was lost')),
    failures,
  );
}

/** Workers write the names of workspaces to the raw store every half a minute. */
async function waitForRecords(rawStore: RawStore, workspaceIds: readonly string[]): Promise<void> {
  const deadline = performance.now() + MAX_RECORD_WAIT_MS;
  for (const id of workspaceIds) {
    while (!(await rawStore.stat(workspaceRecordKey(id)))) {
      if (performance.now() > deadline) throw new Error(`Workspace ${id} has no record in the raw store`);
      await sleep(200);
    }
  }
}
