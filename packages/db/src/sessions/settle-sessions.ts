import { createRowCopier } from '../copy/row-copier.ts';
import type { Database, DatabaseClient } from '../database/database.ts';
import { isInWorkspace, preferIndexes } from '../database/planner.ts';
import { sql } from '../drizzle.cjs';
import { writeFindings } from '../findings/write-findings.ts';
import { transcripts } from '../schema/transcripts.ts';
import { deleteReplacedUsage, type UsageChange } from '../transcripts/replaced-usage.ts';
import { type Attributions, markReattributed } from '../usage/attribution.ts';
import { lockLedger, toResponseName } from '../usage/changed-responses.ts';
import { settleUsageLedger } from '../usage/settle-usage-ledger.ts';
import { writeRollups } from '../usage/write-rollups.ts';
import { readShownRepositories } from '../workspaces/repository-renames.ts';
import { addDerivedRows, type DerivedTranscript } from './add-derived-rows.ts';
import { lockSessionRows } from './lock-session-rows.ts';
import { refreshSessions } from './refresh-sessions.ts';
import { deleteReplacedLedger, replaceDerived, sharesResponses } from './replace-derived.ts';

/** The rows that the parse of transcripts has derived, and the transaction's connection, where no rows are under way. */
export interface Parsed {
  client: DatabaseClient;
  derived: readonly DerivedTranscript[];
}

/** Two writers of the same new responses need two; each further one is for another writer that came in between. */
const MAX_TRIES = 5;

/**
 * Makes everything derived from the transcripts of sessions agree with them: the usage ledger, even where it credits
 * other sessions, the sessions' rows, the roll-ups and the findings. It is the last step of every write or deletion of
 * transcripts' rows; the caller holds the sessions' locks.
 *
 * What was derived while transcripts were parsed is written by COPY, for sessions that share no response with another
 * and have one version. Everything else is derived from stored rows.
 *
 * Locks are always taken in the same order, ledger rows by key, then session rows by id. Each statement sees what
 * earlier lock holders committed. If another transaction inserts one of the same responses, starts again once that one
 * has ended.
 */
export async function settleSessions(transaction: Database, change: UsageChange, parsed?: Parsed): Promise<void> {
  await transaction.execute(sql`SAVEPOINT settled`);
  for (let tries = 1; ; tries++) {
    try {
      await settle(transaction, change, parsed);
      return;
    } catch (error) {
      if (tries === MAX_TRIES || !isConflict(error)) throw error;
      await transaction.execute(sql`ROLLBACK TO settled`);
    }
  }
}

async function settle(transaction: Database, change: UsageChange, parsed: Parsed | undefined): Promise<void> {
  const { workspaceId, written, removedRowSetIds } = change;
  if (written.length === 0 && removedRowSetIds.length === 0)
    return await deriveFromRows(transaction, change, new Set());
  const single = await listSingle(transaction, workspaceId, parsed?.derived ?? []);
  const singleIds = single.map(({ rowSet }) => rowSet.rowSetId);
  const lockedNames = await lockLedger(transaction, change, singleIds);
  const { known, stored } = await withoutSharing(transaction, workspaceId, single);
  const responses = known.map(({ transcript, rowSet, derived }) => {
    return { rowSetId: rowSet.rowSetId, agent: transcript.agent, responseKeys: derived.responseKeys };
  });
  const { affectedIds, sharedNames } = await settleUsageLedger(transaction, change, responses, lockedNames);
  const isApart = ({ transcript, derived }: DerivedTranscript): boolean =>
    !affectedIds.has(transcript.session_id) &&
    derived.responseKeys.every((key) => !sharedNames.has(toResponseName(transcript.agent, key)));
  const apart = known.filter(isApart);
  await writeKnown(transaction, workspaceId, parsed, { known, apart, sharedNames, stored });
  const apartIds = new Set(apart.map(({ transcript }) => transcript.session_id));
  const apartRowSetIds = new Set(apart.map(({ rowSet }) => rowSet.rowSetId));
  await deriveFromRows(
    transaction,
    {
      ...change,
      sessionIds: change.sessionIds.filter((id) => !apartIds.has(id)),
      written: written.filter(({ rowSetId }) => !apartRowSetIds.has(rowSetId)),
    },
    affectedIds,
  );
}

/** The transcripts that are the only version of their session, or continue it. */
async function listSingle(
  transaction: Database,
  workspaceId: string,
  all: readonly DerivedTranscript[],
): Promise<DerivedTranscript[]> {
  const first = all.filter(({ derived }) => derived.replaces === undefined);
  if (first.length === 0) return [...all];
  const sessionIds = first.map(({ transcript }) => transcript.session_id);
  const { rows } = await transaction.execute<{ session_id: string }>(sql`
    SELECT session_id FROM ${transcripts} AS t
    WHERE ${isInWorkspace('t', 'session_id', workspaceId, sessionIds)}
      AND (ingested_at IS NOT NULL OR superseded_by IS NOT NULL)
    GROUP BY session_id HAVING count(*) > 1`);
  const versioned = new Set(rows.map(({ session_id }) => session_id));
  return all.filter(
    ({ transcript, derived }) => derived.replaces !== undefined || !versioned.has(transcript.session_id),
  );
}

/**
 * Leaves out sessions that grew and share a response with another one. Locks the rows of those that grew, so that no
 * other transaction changes that.
 */
async function withoutSharing(
  transaction: Database,
  workspaceId: string,
  all: readonly DerivedTranscript[],
): Promise<{ known: readonly DerivedTranscript[]; stored: Attributions }> {
  const grownIds = all
    .filter(({ derived }) => derived.replaces !== undefined)
    .map(({ transcript }) => transcript.session_id);
  if (grownIds.length === 0) return { known: all, stored: new Map() };
  const stored = await lockSessionRows(transaction, workspaceId, grownIds);
  const sharing = await sharesResponses(transaction, workspaceId, grownIds);
  return { known: all.filter(({ transcript }) => !sharing.has(transcript.session_id)), stored };
}

interface Known {
  /** Transcripts whose ledger rows are known, except for the responses `sharedNames`. */
  known: readonly DerivedTranscript[];
  /** The ones among them whose other derived rows are known as well. */
  apart: readonly DerivedTranscript[];
  sharedNames: ReadonlySet<string>;
  /** The stored attributions of sessions that grew. */
  stored: Attributions;
}

async function writeKnown(
  transaction: Database,
  workspaceId: string,
  parsed: Parsed | undefined,
  { known, apart, sharedNames, stored }: Known,
): Promise<void> {
  if (parsed === undefined || known.length === 0) return;
  await deleteReplacedLedger(transaction, workspaceId, known);
  for (const each of apart) await replaceDerived(transaction, workspaceId, each, stored);
  const copier = createRowCopier(parsed.client);
  const isShared = (agent: string, key: string): boolean => sharedNames.has(toResponseName(agent, key));
  const ledger = known
    .flatMap(({ derived }) => derived.ledger)
    .filter(({ agent, response_key }) => !isShared(agent, response_key));
  const names = apart.flatMap(({ derived }) =>
    derived.replaces === undefined ? (derived.session.repository ?? []) : [],
  );
  const shownNames = await readShownRepositories(transaction, workspaceId, names);
  addDerivedRows(copier.openTable, workspaceId, { ledger, derived: apart, shownNames });
  await copier.sendAll();
}

/** Derives sessions again from their stored rows, and those whose credit has changed. */
async function deriveFromRows(
  transaction: Database,
  change: UsageChange,
  affectedIds: ReadonlySet<string>,
): Promise<void> {
  const { workspaceId, sessionIds, rowlessIds = [] } = change;
  const allIds = [...new Set([...sessionIds, ...rowlessIds, ...affectedIds])].sort();
  if (allIds.length === 0) return;
  const stored = await lockSessionRows(transaction, workspaceId, allIds);
  const storedIds = new Set(stored.keys());
  await deleteReplacedUsage(transaction, change);
  const refreshed = await refreshSessions(transaction, workspaceId, [...sessionIds, ...rowlessIds], storedIds);
  await markReattributed(transaction, workspaceId, stored, refreshed);
  const hasOtherPrimary = (id: string): boolean =>
    stored.get(id)?.primary_transcript_id !== refreshed.get(id)?.primary_transcript_id;
  const changedIds = [...sessionIds, ...rowlessIds.filter(hasOtherPrimary)];
  const derivedIds = [...new Set([...changedIds, ...affectedIds])].sort();
  if (derivedIds.length === 0) return;
  // A long transcript alone has many rows, which planners should join together.
  if (derivedIds.length > 1) await preferIndexes(transaction);
  await writeRollups(transaction, { workspaceId, sessionIds: changedIds }, derivedIds, storedIds);
  await writeFindings(transaction, workspaceId, derivedIds, storedIds);
}

const UNIQUE_VIOLATION = '23505';
const DEADLOCK = '40P01';

/**
 * True if another transaction writes, or has written, a response that this one takes for new. A deadlock is possible
 * where responses were inserted after the others were locked in order.
 */
function isConflict(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, message, cause } = error as Error & { code?: string };
  // Citus keeps the message of a node's error and not its code.
  const isDuplicate = code === UNIQUE_VIOLATION || message.includes('duplicate key');
  return code === DEADLOCK || (isDuplicate && message.includes('usage_ledger')) || isConflict(cause);
}
