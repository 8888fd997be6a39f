import { createRowCopier, type RowCopier } from '../copy/row-copier.ts';
import type { Database, DatabaseClient } from '../database/database.ts';
import { opaqueWorkspaceId, preferIndexes, setLocally } from '../database/planner.ts';
import type { DerivedRows } from '../derive/derived-rows.ts';
import { sql } from '../drizzle.cjs';
import { findings } from '../schema/findings.ts';
import {
  fileDayRollup,
  messageDayRollup,
  messageRollup,
  staleDays,
  toolDayRollup,
  usageDayRollup,
  usageRollup,
} from '../schema/rollups.ts';
import { sessions, type TranscriptRow, transcripts } from '../schema/transcripts.ts';
import { usageLedger } from '../schema/usage.ts';
import type { UsageChange } from '../transcripts/replaced-usage.ts';
import type { RowSet } from '../transcripts/transcript-rows.ts';
import { replaceDerived } from './replace-derived.ts';
import { settleSessions } from './settle-sessions.ts';

/** A transcript that is ingested for the first time, or has grown, and what its parse gave. */
export interface DerivedTranscript {
  transcript: Pick<
    TranscriptRow,
    | 'id'
    | 'session_id'
    | 'agent'
    | 'is_subagent'
    | 'parent_session_id'
    | 'agent_id'
    | 'uploader_key_id'
    | 'machine'
    | 'person'
  >;
  rowSet: RowSet;
  derived: DerivedRows;
}

const toName = (agent: string, responseKey: string): string => `${agent} ${responseKey}`;

/** The caller's transaction, and its connection, where no rows are under way. */
interface Connection {
  transaction: Database;
  client: DatabaseClient;
}

/** Two writers of the same responses need two; each further one is for another writer that came in between. */
const MAX_TRIES = 3;

/**
 * Shorter than the server's deadlock_timeout (1 s by default), so that a transaction that locks responses in another
 * order than `settleSessions` gives way first.
 */
const LOCK_TIMEOUT = `'500ms'`;

/**
 * Like `settleSessions`, but writes by COPY what was derived while transcripts were parsed. SQL derives the others'
 * rows, and all rows of sessions that are entangled with others. If another transaction has inserted one of the same
 * responses, starts again once that one has ended; if that takes too long, leaves everything to SQL, which waits.
 */
export async function settleTranscripts(
  connection: Connection,
  change: UsageChange,
  derived: readonly DerivedTranscript[],
): Promise<void> {
  const { transaction } = connection;
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const entangled = await listEntangledSessions(transaction, change.workspaceId, derived);
    const own = derived.filter(({ transcript }) => !entangled.has(transcript.session_id));
    if (own.length === 0) break;
    await transaction.execute(sql`SAVEPOINT derived`);
    try {
      await setLocally(transaction, { lock_timeout: LOCK_TIMEOUT });
      const isSettled = await settleApart(connection, change, own);
      if (!isSettled) {
        await transaction.execute(sql`ROLLBACK TO derived`);
        break;
      }
      await setLocally(transaction, { lock_timeout: 'DEFAULT' });
      return;
    } catch (error) {
      if (!isLedgerConflict(error)) throw error;
      await transaction.execute(sql`ROLLBACK TO derived`);
    }
  }
  await settleBySql(transaction, change);
}

/** False if a session that grew shares a response with another one. */
async function settleApart(
  { transaction, client }: Connection,
  change: UsageChange,
  own: readonly DerivedTranscript[],
): Promise<boolean> {
  const { workspaceId } = change;
  for (const { transcript, rowSet, derived } of own) {
    const { agent, session_id: sessionId } = transcript;
    const { replaces } = derived;
    if (replaces === undefined) continue;
    if (!(await replaceDerived(transaction, workspaceId, { agent, sessionId, rowSet, replaces }))) return false;
  }
  const copier = createRowCopier(client);
  addDerivedRows(copier.openTable, workspaceId, own);
  await copier.sendAll();
  const ownIds = new Set(own.map(({ transcript }) => transcript.session_id));
  const ownRowSetIds = new Set(own.map(({ rowSet }) => rowSet.rowSetId));
  const written = change.written.filter(({ rowSetId }) => !ownRowSetIds.has(rowSetId));
  const sessionIds = change.sessionIds.filter((id) => !ownIds.has(id));
  if (sessionIds.length > 0) await settleBySql(transaction, { ...change, sessionIds, written });
  return true;
}

async function settleBySql(transaction: Database, change: UsageChange): Promise<void> {
  // Of a long transcript alone, planners should join many rows together.
  if (change.sessionIds.length > 1) await preferIndexes(transaction);
  await settleSessions(transaction, change);
}

/**
 * The sessions whose derived rows are not theirs alone, so that only `settleSessions` can tell them. They share a
 * response with another transcript, stored or of this transaction, or have other versions.
 */
async function listEntangledSessions(
  transaction: Database,
  workspaceId: string,
  all: readonly DerivedTranscript[],
): Promise<Set<string>> {
  const entangled = new Set<string>();
  if (all.length === 0) return entangled;
  const owners = new Map<string, string>();
  const [agents, responseKeys]: [string[], string[]] = [[], []];
  for (const { transcript, derived } of all) {
    const { agent, session_id } = transcript;
    for (const key of derived.responseKeys) {
      const owner = owners.get(toName(agent, key));
      if (owner !== undefined) {
        entangled.add(owner).add(session_id);
        continue;
      }
      owners.set(toName(agent, key), session_id);
      agents.push(agent);
      responseKeys.push(key);
    }
  }
  const workspace = opaqueWorkspaceId(workspaceId);
  // A session that grew has its shorter version.
  const first = all.filter(({ derived }) => derived.replaces === undefined);
  const ids = first.map(({ transcript }) => transcript.id);
  const sessionIds = first.map(({ transcript }) => transcript.session_id);
  // Looked up one by one, as planners that expect few rows would read all of the workspace.
  const { rows } = await transaction.execute<{ agent: string; name: string; is_session: boolean }>(sql`
    SELECT k.agent, k.response_key AS name, false AS is_session
    FROM unnest(${sql.param(agents)}::text[], ${sql.param(responseKeys)}::text[]) AS k(agent, response_key)
    JOIN LATERAL (
      SELECT FROM ${usageLedger}
      WHERE workspace_id = ${workspace} AND agent = k.agent AND response_key = k.response_key OFFSET 0
    ) AS l ON true
    UNION ALL
    SELECT DISTINCT '', s.session_id, true
    FROM unnest(${sql.param(sessionIds)}::text[], ${sql.param(ids)}::text[]) AS s(session_id, id)
    JOIN LATERAL (
      SELECT FROM ${transcripts}
      WHERE workspace_id = ${workspace} AND session_id = s.session_id AND id <> s.id
        AND (ingested_at IS NOT NULL OR superseded_by IS NOT NULL) OFFSET 0
    ) AS t ON true`);
  for (const { agent, name, is_session } of rows) {
    entangled.add(is_session ? name : (owners.get(toName(agent, name)) ?? ''));
  }
  return entangled;
}

function addDerivedRows(
  openTable: RowCopier['openTable'],
  workspaceId: string,
  all: readonly DerivedTranscript[],
): void {
  // In one order by all writers, who wait for each other's rows.
  const ledger = all.flatMap(({ derived }) => derived.ledger).sort(compareKeys);
  ledger.forEach(openTable(usageLedger));
  const addSession = openTable(sessions, ['created_at', 'updated_at']);
  for (const { transcript, derived } of all) {
    if (derived.replaces !== undefined) continue;
    const { id, ...origin } = transcript;
    addSession({
      workspace_id: workspaceId,
      ...origin,
      ...derived.session,
      primary_transcript_id: id,
      transcript_count: 1,
      other_uploader_count: 0,
    });
  }
  const tables = {
    usageRollup: openTable(usageRollup),
    usageDayRollup: openTable(usageDayRollup),
    messageRollup: openTable(messageRollup),
    messageDayRollup: openTable(messageDayRollup),
    toolDayRollup: openTable(toolDayRollup),
    fileDayRollup: openTable(fileDayRollup),
    findings: openTable(findings),
  };
  for (const { derived } of all) {
    for (const name of Object.keys(tables) as (keyof typeof tables)[]) {
      derived[name].forEach(tables[name] as (row: object) => void);
    }
  }
  const addStaleDay = openTable(staleDays);
  const days = new Set(all.flatMap(({ derived }) => derived.days));
  for (const day of days) addStaleDay({ workspace_id: workspaceId, day });
}

type LedgerRow = DerivedRows['ledger'][number];

const compareKeys = (one: LedgerRow, other: LedgerRow): number =>
  one.agent === other.agent ? compareTexts(one.response_key, other.response_key) : compareTexts(one.agent, other.agent);

const compareTexts = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);

const UNIQUE_VIOLATION = '23505';
/** deadlock_detected and lock_not_available. */
const LOCKED = ['40P01', '55P03'];

/** True if another transaction writes, or has written, a response that this one derived as its own. */
function isLedgerConflict(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, message, cause } = error as Error & { code?: string };
  // Citus keeps the message of a node's error and not its code.
  const isDuplicate = code === UNIQUE_VIOLATION || message.includes('duplicate key');
  return LOCKED.includes(code ?? '') || (isDuplicate && message.includes('usage_ledger')) || isLedgerConflict(cause);
}
