import type { RowCopier } from '../copy/row-copier.ts';
import type { DerivedRows } from '../derive/derived-rows.ts';
import { compareBytes } from '../derive/keys.ts';
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
import { sessions, type TranscriptRow } from '../schema/transcripts.ts';
import { usageLedger } from '../schema/usage.ts';
import type { RowSet } from '../transcripts/transcript-rows.ts';

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

type LedgerRow = DerivedRows['ledger'][number];

interface AddedRows {
  ledger: readonly LedgerRow[];
  derived: readonly DerivedTranscript[];
  /** The names of renamed repositories, by those that transcripts tell. */
  shownNames: ReadonlyMap<string, string>;
}

/** Adds rows of the ledger, and all other rows that were derived from transcripts, to tables that are copied. */
export function addDerivedRows(
  openTable: RowCopier['openTable'],
  workspaceId: string,
  { ledger, derived: all, shownNames }: AddedRows,
): void {
  // In one order by all writers, who wait for each other's rows.
  ledger.toSorted(compareKeys).forEach(openTable(usageLedger));
  const addSession = openTable(sessions, ['created_at', 'updated_at']);
  for (const { transcript, derived } of all) {
    if (derived.replaces !== undefined) continue;
    const { id, ...origin } = transcript;
    const { repository: told } = derived.session;
    addSession({
      workspace_id: workspaceId,
      ...origin,
      ...derived.session,
      repository: told === null ? null : (shownNames.get(told) ?? told),
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

const compareKeys = (one: LedgerRow, other: LedgerRow): number =>
  compareBytes(one.agent, other.agent) || compareBytes(one.response_key, other.response_key);
