import { setTimeout as sleep } from 'node:timers/promises';
import type { DatabasePool } from '@recount/db';
import type { Finding } from '@recount/ingest';
import { parseWorkspaceRecordKey } from '@recount/storage';
import { compareHashes, hashWorkspace, listOwnRows, type TableHash } from './compare-workspaces.ts';
import { type Damaged, findDamaged, healAll } from './damage.ts';
import { readFullDiskReports } from './full-disk-reports.ts';
import type { Installation } from './installation.ts';
import { rebuildAfterwards } from './rebuild-afterwards.ts';
import { type RecountResult, runRecount } from './run-recount.ts';
import { createTally } from './tally.ts';
import { type Attempted, CHAOS_WORKSPACE, upload } from './upload-client.ts';
import type { PlannedUpload } from './uploads.ts';

export interface Afterwards {
  /** Errors found; empty if nothing was lost, doubled or stuck. */
  failures: string[];
  /** Transcripts by status before any repair. */
  statuses: Record<string, number>;
  /** The findings of `recount doctor --fix`, by kind, and whether it was repaired. */
  findings: Record<string, number>;
  requeued: number;
  /** Transcripts whose ingestion was interrupted at least once. */
  repeatedTranscripts: number;
  mostAttempts: number;
  /** Given up by their client, but stored nevertheless. */
  unacknowledgedThere: number;
  /** From the last fault until no job was left. */
  settleMs: number;
  tables: Record<string, TableHash>;
  crashes: string[];
  /** Damaged raw objects healed by the final uploads; the clients' uploads had healed the others. */
  healedAfterwards: number;
  /** Number of jobs, some counted repeatedly. */
  putOffByFullDisk: number;
  /** For all workspaces, until everything was ingested again and verified. */
  rebuildMs: number;
}

interface StoredTranscript {
  id: string;
  session_id: string;
  sha256: string;
  path: string | null;
  object_key: string;
  status: string;
}

const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;
const QUIET_WORKSPACE = '01J0000000000000000000000B';
/** Only reached if something is stuck. A busy machine takes many minutes to index a long run for search. */
const MAX_SETTLE_MS = 1_800_000;
const QUIET_UPLOADS_AT_ONCE = 8;

interface Context {
  attempted: readonly Attempted[];
  damaged: readonly Damaged[];
  /** The backfill's source, and its key. */
  source: string;
  key: string;
  onProgress: (text: string) => void;
}

/** With all faults off, waits, repairs as an operator would, and compares the state with an undisturbed run. */
export async function checkAfterwards(installation: Installation, context: Context): Promise<Afterwards> {
  const failures: string[] = [];
  const database = installation.openDatabase();
  const expect = (isFine: boolean, failure: string): void => {
    if (!isFine) failures.push(failure);
  };
  try {
    const startedAtMs = performance.now();
    await settle(database);
    const settleMs = performance.now() - startedAtMs;
    const statuses = await countStatuses(database);
    const attempts = await readAttempts(database);
    context.onProgress(`No job left after ${Math.round(settleMs / 1000)} s: ${JSON.stringify(statuses)}`);

    const { putOff: putOffByFullDisk, charged } = await readFullDiskReports(installation);
    failures.push(...charged);
    const repaired = await repair(installation, context);
    await settle(database);
    // Notices name what transcripts hold, not damage. Their issues are compared with the undisturbed run's.
    const leftovers = parseFindings(
      await recount(installation, 'doctor', '--json', '--min-age', '0m', '--checksums'),
    ).filter(({ kind }) => kind !== 'notice');
    expect(leftovers.length === 0, `doctor still finds ${JSON.stringify(leftovers.slice(0, 5))}`);

    const stored = await readStored(database);
    failures.push(...findLost(context.attempted, stored), ...findIncomplete(context.attempted, stored));
    failures.push(...(await compareObjects(installation, stored)));
    failures.push(...(await findDamaged(installation, database, context.damaged)));
    const verify = await recount(installation, 'verify');
    expect(verify.exitCode === 0, `verify: ${verify.stdout}${verify.stderr}`);

    context.onProgress('The undisturbed run');
    await runQuietly(installation, context, stored);
    await settle(database);
    const [disturbed, quiet] = [
      await hashWorkspace(database, CHAOS_WORKSPACE),
      await hashWorkspace(database, QUIET_WORKSPACE),
    ];
    const different = compareHashes(disturbed, quiet, 'an undisturbed run');
    failures.push(...different);
    for (const table of different.map((failure) => failure.split(':')[0] ?? '')) {
      const own = await listOwnRows(database, table, [CHAOS_WORKSPACE, QUIET_WORKSPACE]);
      const others = await listOwnRows(database, table, [QUIET_WORKSPACE, CHAOS_WORKSPACE]);
      failures.push(...own.map((row) => `${table} has ${row}`), ...others.map((row) => `${table} lacks ${row}`));
    }

    context.onProgress('The rebuild of a lost database');
    const rebuildStartedAtMs = performance.now();
    const workspaceIds = [CHAOS_WORKSPACE, QUIET_WORKSPACE];
    const rebuild = { database, workspaceIds, settle: () => settle(database) };
    failures.push(...(await rebuildAfterwards(installation, rebuild)));
    failures.push(...findUnequal(stored, await readStored(database)));
    const rebuildMs = performance.now() - rebuildStartedAtMs;
    const crashes = [installation.api, ...installation.workers].flatMap((program) =>
      program.crashes.map((output) => `${program.name} ended by itself: ${output}`),
    );
    failures.push(...crashes);
    const acknowledged = new Set(
      context.attempted.flatMap(({ sha256, receipt }) => (receipt === undefined ? [] : [sha256])),
    );
    const given = toGivenUp(context.attempted);
    return {
      failures,
      statuses,
      ...repaired,
      ...attempts,
      unacknowledgedThere: stored.filter(({ sha256 }) => given.has(sha256) && !acknowledged.has(sha256)).length,
      settleMs,
      tables: disturbed,
      crashes,
      putOffByFullDisk,
      rebuildMs,
    };
  } finally {
    await database.close();
  }
}

/** Does what an operator would (to upload again what is damaged, and to repair the rest). */
async function repair(
  installation: Installation,
  { damaged, source, key }: Context,
): Promise<Pick<Afterwards, 'healedAfterwards' | 'findings' | 'requeued'>> {
  const healedAfterwards = await healAll(installation, key, damaged);
  // Objects have times in whole seconds.
  await sleep(1100);
  const findings = parseFindings(await recount(installation, 'doctor', '--fix', '--json', '--min-age', '0m'));
  const requeue = await recount(installation, 'requeue', '--failed');
  await backfill(installation, source, key);
  const requeued = requeue.stdout.split('\n').filter(Boolean).length;
  return { healedAfterwards, findings: countFindings(findings), requeued };
}

const recount = (installation: Installation, ...commandArguments: string[]): Promise<RecountResult> =>
  runRecount(commandArguments, installation.environment);

function parseFindings({ stdout, stderr }: RecountResult): Finding[] {
  if (stdout === '') throw new Error(`recount doctor failed: ${stderr}`);
  return (JSON.parse(stdout) as { findings: Finding[] }).findings;
}

function countFindings(findings: readonly Finding[]): Record<string, number> {
  const tally = createTally();
  for (const { kind, fixed } of findings) tally.add(`${kind}${fixed ? ' (repaired)' : ''}`);
  return tally.toObject();
}

/** Waits until no job is waiting or running, and nothing is left to be indexed for search. */
async function settle({ pool }: DatabasePool): Promise<void> {
  const deadlineMs = performance.now() + MAX_SETTLE_MS;
  for (;;) {
    const { rows } = await pool.query<{ jobs: number; sessions: number }>(
      `SELECT (SELECT count(*)::int FROM recount.ingest_jobs) AS jobs,
              (SELECT count(*)::int FROM recount.search_waiting) AS sessions`,
    );
    const { jobs = 0, sessions = 0 } = rows[0] ?? {};
    if (jobs + sessions === 0) return;
    if (performance.now() > deadlineMs) throw new Error(`Stuck: ${jobs} jobs, ${sessions} sessions to be indexed`);
    await sleep(200);
  }
}

/** Transcripts that took more than one attempt, and the highest number of attempts. */
async function readAttempts({ pool }: DatabasePool): Promise<Pick<Afterwards, 'repeatedTranscripts' | 'mostAttempts'>> {
  const { rows } = await pool.query<Pick<Afterwards, 'repeatedTranscripts' | 'mostAttempts'>>(
    `SELECT count(*) FILTER (WHERE attempt_count > 1)::int AS "repeatedTranscripts", max(attempt_count)::int AS "mostAttempts"
     FROM recount.transcripts`,
  );
  return rows[0] ?? { repeatedTranscripts: 0, mostAttempts: 0 };
}

async function countStatuses({ pool }: DatabasePool): Promise<Record<string, number>> {
  const { rows } = await pool.query<{ status: string; count: number }>(
    'SELECT status, count(*)::int AS count FROM recount.transcripts GROUP BY status ORDER BY status',
  );
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
}

async function readStored({ pool }: DatabasePool): Promise<StoredTranscript[]> {
  const { rows } = await pool.query<StoredTranscript>(
    'SELECT id, session_id, sha256, path, object_key, status FROM recount.transcripts WHERE workspace_id = $1 ORDER BY id',
    [CHAOS_WORKSPACE],
  );
  return rows;
}

/** Acknowledged, but not present exactly once and ingested. */
function findLost(attempted: readonly Attempted[], stored: readonly StoredTranscript[]): string[] {
  const byId = new Map(stored.map((transcript) => [transcript.id, transcript]));
  const contents = createTally();
  for (const { session_id, sha256 } of stored) contents.add(`${session_id} ${sha256}`);
  const counts = contents.toObject();
  return attempted.flatMap(({ sha256, receipt }) => {
    if (receipt === undefined) return [];
    const { transcriptId, sessionId } = receipt;
    const row = byId.get(transcriptId);
    if (row?.session_id !== sessionId || row.sha256 !== sha256) return [`${transcriptId} was acknowledged and is lost`];
    if (counts[`${sessionId} ${sha256}`] !== 1) return [`${transcriptId} is there more than once`];
    const isIngested = row.status === 'ingested' || row.status === 'superseded';
    return isIngested ? [] : [`${transcriptId} was acknowledged and is ${row.status}`];
  });
}

const toGivenUp = (attempted: readonly Attempted[]): Map<string, PlannedUpload> =>
  new Map(attempted.flatMap(({ planned, receipt, sha256 }) => (receipt === undefined ? [[sha256, planned]] : [])));

/** Present, but never sent in this form. */
function findIncomplete(attempted: readonly Attempted[], stored: readonly StoredTranscript[]): string[] {
  const sent = new Set(attempted.map(({ sha256 }) => sha256));
  // Transcripts from the backfill have a path.
  return stored.flatMap(({ id, sha256, path }) =>
    sent.has(sha256) || path !== null ? [] : [`${id}: nobody sent this`],
  );
}

/** Paths and objects must be unchanged as well. */
function findUnequal(before: readonly StoredTranscript[], after: readonly StoredTranscript[]): string[] {
  const rows = new Set(after.map((row) => JSON.stringify(row)));
  return before.flatMap((row) => (rows.has(JSON.stringify(row)) ? [] : [`${row.id}: rebuilt otherwise than it was`]));
}

async function compareObjects({ rawStore }: Installation, stored: readonly StoredTranscript[]): Promise<string[]> {
  const keys = new Set<string>();
  for await (const { key } of rawStore.list('workspaces/'))
    if (parseWorkspaceRecordKey(key) === undefined) keys.add(key);
  const missing = stored.filter(({ object_key }) => !keys.delete(object_key));
  return [
    ...missing.map(({ id }) => `${id}: its object is missing`),
    ...[...keys].map((key) => `orphan object ${key}`),
  ];
}

/**
 * Sends the same transcripts to another workspace (those acknowledged, and those stored although their client gave up).
 */
async function runQuietly(
  installation: Installation,
  { attempted, source }: Context,
  stored: readonly StoredTranscript[],
): Promise<void> {
  const { key } = await installation.createWorkspace(QUIET_WORKSPACE, 'quiet');
  const answers = createTally();
  const givenUp = toGivenUp(attempted);
  const unasked = stored.flatMap((row) => {
    const planned = givenUp.get(row.sha256);
    if (planned === undefined) return [];
    // The doctor receives an orphan without path and session id, and names it itself if its lines do not.
    const isNamed = row.session_id === planned.sessionId || ULID.test(row.session_id);
    const sessionId = isNamed ? row.session_id : undefined;
    return [{ ...planned, path: row.path ?? undefined, sessionId }];
  });
  const acknowledged = attempted.flatMap(({ planned, receipt }) => (receipt === undefined ? [] : [planned]));
  const waiting = [...acknowledged, ...unasked];
  const runClient = async (): Promise<void> => {
    for (let planned = waiting.shift(); planned !== undefined; planned = waiting.shift()) {
      const calm = { ...planned, pauseMs: 0, givesUpAfter: undefined };
      await upload({ baseUrl: installation.apiUrl, key, answers }, calm);
    }
  };
  await Promise.all(Array.from({ length: QUIET_UPLOADS_AT_ONCE }, runClient));
  await backfill(installation, source, key);
}

/** Once more without faults, so that everything is acknowledged. */
async function backfill({ environment, apiUrl }: Installation, source: string, key: string): Promise<void> {
  const server = { RECOUNT_SERVER: apiUrl, RECOUNT_API_KEY: key };
  const { exitCode, stdout, stderr } = await runRecount(['backfill', source], { ...environment, ...server });
  if (exitCode !== 0) throw new Error(`The backfill failed without faults: ${stdout}${stderr}`);
}
