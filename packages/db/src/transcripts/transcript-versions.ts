import { outranks } from '@recount/core';
import type { Database } from '../database/database.ts';
import { opaqueWorkspaceId } from '../database/planner.ts';
import { and, desc, eq, gte, inArray, isNotNull, lt, ne, sql } from '../drizzle.cjs';
import { transcriptFigures } from '../schema/transcript-figures.ts';
import { OPERATOR, type TranscriptRow, transcripts } from '../schema/transcripts.ts';
import { usageEntries } from '../schema/usage.ts';
import { apiKeys } from '../schema/workspaces.ts';
import { deleteTranscriptRows } from './delete-rows.ts';
import { isReplaced } from './replaced-usage.ts';
import type { RowSet } from './transcript-rows.ts';

/** Versions that a longer transcript of the session is compared with. */
export interface StoredVersion {
  id: string;
  sizeBytes: number;
  sha256: string;
}

/** Number of versions considered. If a session is uploaded repeatedly, all but the latest are superseded. */
const MAX_VERSIONS = 20;

/** The largest transcripts of a session that have rows or will have some, with at least `minBytes`. */
export async function listSessionVersions(
  database: Database,
  workspaceId: string,
  sessionId: string,
  minBytes: number,
): Promise<StoredVersion[]> {
  return await database
    .select({ id: transcripts.id, sizeBytes: transcripts.size_bytes, sha256: transcripts.sha256 })
    .from(transcripts)
    .where(
      and(
        eq(transcripts.workspace_id, opaqueWorkspaceId(workspaceId)),
        eq(transcripts.session_id, sessionId),
        gte(transcripts.size_bytes, minBytes),
        inArray(transcripts.status, ['queued', 'processing', 'ingested']),
      ),
    )
    .orderBy(desc(transcripts.size_bytes))
    .limit(MAX_VERSIONS);
}

/** True if a session has transcripts shorter than this one that are not, or not yet, superseded. */
export async function hasShorterVersions(
  database: Database,
  { workspace_id, session_id, size_bytes }: Pick<TranscriptRow, 'workspace_id' | 'session_id' | 'size_bytes'>,
): Promise<boolean> {
  const shorter = await database
    .select({ id: transcripts.id })
    .from(transcripts)
    .where(
      and(
        eq(transcripts.workspace_id, opaqueWorkspaceId(workspace_id)),
        eq(transcripts.session_id, session_id),
        lt(transcripts.size_bytes, size_bytes),
        ne(transcripts.status, 'superseded'),
      ),
    )
    .limit(1);
  return shorter.length > 0;
}

/** A transcript with rows that another version of its session replaces, and that version. */
interface Replacement {
  replaced: Pick<TranscriptRow, 'id' | 'row_set_id'>;
  by: string;
}

/**
 * The versions of a session that are replaced by others which do not begin with their bytes, see `isRewritten` and
 * `outranks` of packages/core's `Format`. An uploader's versions can be replaced only by that uploader, by another key
 * of the same person, or by the operator. Otherwise anyone could remove figures. Which version replaces which depends
 * only on the versions and their keys, not on the order of arrival. `written` are the row sets that the transaction has
 * written, whose old entries still exist.
 */
export async function listReplacements(
  transaction: Database,
  workspaceId: string,
  sessionId: string,
  written: readonly RowSet[],
): Promise<Replacement[]> {
  const versions = await transaction
    .select()
    .from(transcripts)
    .where(
      and(
        eq(transcripts.workspace_id, opaqueWorkspaceId(workspaceId)),
        eq(transcripts.session_id, sessionId),
        isNotNull(transcripts.row_set_id),
        isNotNull(transcripts.ingested_at),
      ),
    );
  if (versions.length < 2) return [];
  // Latest first. Each is replaced by the first that can.
  const inOrder = versions.toSorted(compareVersions);
  const personOf = await readKeyPersons(transaction, workspaceId, versions);
  const replacements: Replacement[] = [];
  for (const replaced of inOrder.toReversed()) {
    for (const version of inOrder) {
      if (version.id === replaced.id || !mayReplace(version, replaced, personOf)) continue;
      if (!(await replaces(transaction, version, replaced, written))) continue;
      replacements.push({ replaced, by: version.id });
      break;
    }
  }
  return replacements;
}

function compareVersions(one: TranscriptRow, other: TranscriptRow): number {
  const toTime = ({ last_timestamp: last }: TranscriptRow): number => (last === null ? 0 : Date.parse(last));
  return toTime(other) - toTime(one) || other.size_bytes - one.size_bytes || (one.sha256 < other.sha256 ? -1 : 1);
}

/**
 * The persons whom keys were made for, by key id. That identifies the uploader; what an upload states about itself does
 * not.
 */
async function readKeyPersons(
  transaction: Database,
  workspaceId: string,
  versions: readonly TranscriptRow[],
): Promise<ReadonlyMap<string, string>> {
  const ids = [...new Set(versions.flatMap(({ uploader_key_id: id }) => id ?? []))];
  if (ids.length < 2) return new Map();
  const keys = await transaction
    .select({ id: apiKeys.id, person: apiKeys.person })
    .from(apiKeys)
    .where(and(eq(apiKeys.workspace_id, opaqueWorkspaceId(workspaceId)), inArray(apiKeys.id, ids)));
  return new Map(keys.flatMap(({ id, person }) => (person === null ? [] : [[id, person] as const])));
}

function mayReplace(
  { uploader_key_id: uploader }: TranscriptRow,
  { uploader_key_id: other }: TranscriptRow,
  personOf: ReadonlyMap<string, string>,
): boolean {
  if (uploader === other || uploader === null || uploader === OPERATOR) return true;
  const person = personOf.get(uploader);
  return person !== undefined && person === personOf.get(other ?? '');
}

async function replaces(
  transaction: Database,
  version: TranscriptRow,
  other: TranscriptRow,
  written: readonly RowSet[],
): Promise<boolean> {
  if (version.agent !== other.agent) return false;
  if (outranks(version.format, other.format)) return true;
  const isLater = compareVersions(version, other) < 0;
  return (
    isLater &&
    version.is_rewritten &&
    version.format === other.format &&
    (await holdsAll(transaction, version, other, written))
  );
}

/**
 * True if no figure is lost with the rows of `other`, because the version has each of its responses, with at least as
 * many tokens.
 */
async function holdsAll(
  transaction: Database,
  version: TranscriptRow,
  other: TranscriptRow,
  written: readonly RowSet[],
): Promise<boolean> {
  const isStale = (alias: string) => isReplaced({ written, removedRowSetIds: [] }, alias, 'entry');
  const { rows } = await transaction.execute<{ holds_all: boolean }>(sql`
    SELECT NOT EXISTS (
      SELECT FROM ${usageEntries} AS o
      WHERE o.workspace_id = ${opaqueWorkspaceId(version.workspace_id)} AND o.row_set_id = ${other.row_set_id}
        AND NOT ${isStale('o')} AND NOT EXISTS (
        SELECT FROM ${usageEntries} AS v
        WHERE v.workspace_id = o.workspace_id AND v.row_set_id = ${version.row_set_id}
          AND NOT ${isStale('v')} AND v.agent = o.agent
          AND v.response_key = o.response_key AND v.tokens_in >= o.tokens_in AND v.tokens_out >= o.tokens_out
          AND v.cache_read >= o.cache_read AND v.cache_write >= o.cache_write
      )
    ) AS holds_all`);
  return rows[0]?.holds_all === true;
}

/** Columns that describe rows, which a superseded transcript does not have. */
const CLEARED_COLUMNS = [
  ...Object.keys(transcriptFigures()),
  'line_count',
  'content_block_count',
  'error_count',
  'warning_count',
  'issue_counts',
  'secret_counts',
  'rows_deleted_at',
  'parser_version',
  'price_version',
  'row_set_id',
];

/**
 * Removes the rows and figures of transcripts that `supersededBy` contains, so that nothing is counted twice and the
 * order of arrival leaves no trace. The raw objects remain.
 */
export async function supersedeTranscripts(
  transaction: Database,
  workspaceId: string,
  superseded: readonly Pick<TranscriptRow, 'id' | 'row_set_id'>[],
  supersededBy: string,
): Promise<void> {
  if (superseded.length === 0) return;
  const rowSetIds = superseded.flatMap(({ row_set_id }) => row_set_id ?? []);
  await deleteTranscriptRows(transaction, workspaceId, rowSetIds);
  await markSuperseded(transaction, workspaceId, superseded, supersededBy);
}

/**
 * Detaches transcripts from their rows without deleting these: `supersededBy`, which continues them, takes them over.
 */
export async function markSuperseded(
  transaction: Database,
  workspaceId: string,
  superseded: readonly Pick<TranscriptRow, 'id'>[],
  supersededBy: string,
): Promise<void> {
  await transaction
    .update(transcripts)
    .set({
      ...Object.fromEntries(CLEARED_COLUMNS.map((column) => [column, sql`DEFAULT`])),
      status: 'superseded',
      superseded_by: supersededBy,
      is_diverged: false,
      failure_reason: null,
      ingested_at: null,
    })
    .where(
      and(
        eq(transcripts.workspace_id, opaqueWorkspaceId(workspaceId)),
        inArray(
          transcripts.id,
          superseded.map(({ id }) => id),
        ),
      ),
    );
}
