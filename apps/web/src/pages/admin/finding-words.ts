import type { DoctorFinding, DoctorReport } from '@recount/contract';

/** Findings that share an explanation. */
export interface FindingGroup {
  id: string;
  count: number;
  /** True if a person must act. */
  isSerious: boolean;
  what: string;
  /** The advice; for repaired findings, the action taken. */
  todo: string;
  /** Ids of the transcripts. */
  transcriptIds: string[];
  /** Keys of objects, ids of streams, names of tables, or whatever else identifies them. */
  names: string[];
}

type Words = readonly [what: string, todo: string, done?: string];

const UPLOAD_AGAIN = 'Upload the same files again, which replaces the bytes, or restore a backup.';

const WORDS: Readonly<Record<DoctorFinding['kind'], Words>> = {
  'orphan-object': [
    'Objects in the raw store without a transcript',
    'Repairing receives them as uploads. Otherwise they only take up space.',
    'Received as uploads.',
  ],
  'orphan-stream': [
    'Objects of recorded streams without a row',
    'Repairing restores their rows. Otherwise they only take up space.',
    'Their rows were restored.',
  ],
  'orphan-attachment': [
    'Objects of attachments without a session',
    'Repairing restores their rows. Otherwise they only take up space.',
    'Their rows were restored, or were not needed.',
  ],
  'missing-object': [
    'Transcripts whose raw bytes are not in the store',
    `${UPLOAD_AGAIN} If nearly all are missing, the server uses another store. See RECOUNT_RAW_STORE.`,
  ],
  'wrong-size': ['Transcripts whose raw object has another size than was uploaded', UPLOAD_AGAIN],
  'wrong-content': ['Transcripts whose raw bytes have changed since they were stored', UPLOAD_AGAIN],
  'unreadable-object': [
    'Transcripts whose raw object the store fails to return',
    `Check again later. If it persists: ${UPLOAD_AGAIN}`,
  ],
  'missing-stream': [
    'Recorded streams whose bytes are not in the store',
    'Restore a backup. If nearly all are missing, the server uses another store. See RECOUNT_RAW_STORE.',
  ],
  'wrong-stream-size': ['Recorded streams whose object has another size than was sent', 'Restore a backup.'],
  'wrong-stream-content': ['Recorded streams whose bytes have changed or cannot be read', 'Restore a backup.'],
  'damaged-attachment': [
    'Attachments whose bytes are lost or have changed',
    'recount backfill --rescan of the folder that has the same files replaces them.',
  ],
  'lost-job': [
    'Transcripts that wait for a job which is not in the queue',
    'Repairing enqueues the jobs again.',
    'Their jobs were enqueued again.',
  ],
  'failed-transcript': ['Failed transcripts', 'Ingestion shows the reasons, and ingests them again.'],
  'unfinished-deletion': [
    'Objects that should have been deleted',
    'A worker deletes them within the hour; repairing does it now.',
    'Deleted.',
  ],
  notice: [
    'Types of lines, content or usage that recount does not read or does not know',
    'A newer recount may read them; the raw bytes stay stored.',
  ],
  'search-behind': [
    'Search does not find some sessions yet',
    'If it persists, the worker’s log says why they cannot be indexed.',
  ],
  'lost-segments': [
    'Remains of lost segments of search',
    'A worker deletes them within the hour; repairing does it now.',
    'Deleted.',
  ],
  'wrong-description': [
    'Descriptions of raw objects that say something else than the database',
    'A rebuild would believe them. Repairing writes them again from the database.',
    'They are written again.',
  ],
  'silent-node': [
    'A node of the database’s cluster does not answer',
    'Start it. Nothing else was compared, because its rows cannot be read.',
  ],
  'damaged-relation': [
    'Damaged tables or indexes of the database',
    'REINDEX rebuilds an index; a table needs a backup of the database.',
  ],
  'unchecked-database': ['Tables and indexes were not checked', 'The reason says what is missing.'],
  'undescribed-objects': [
    'Raw objects without a description, which a rebuild of the database needs',
    'Repairing describes them.',
    'They are described now.',
  ],
  'unwritable-store': ['The raw store cannot be written, so uploads are refused', 'The reason says what to do.'],
  'stale-uploads': ['Remains of interrupted uploads', 'Repairing deletes them.', 'Deleted.'],
};

const OBSTACLES: Readonly<Record<NonNullable<DoctorFinding['obstacle']>, Words>> = {
  'no-workspace': [
    'Objects in the raw store whose workspace is not in the database',
    'recount doctor --rebuild, on the server, restores the workspace.',
  ],
  damaged: [
    'Objects in the raw store whose bytes are not those that were stored',
    'Restore a backup, or upload the files again and delete these.',
  ],
  unreadable: [
    'Objects in the raw store that are not readable transcripts',
    'Look at them, and delete them from the store if they are not needed.',
  ],
};

const SHOWN_NAMES = 10;

const isHarmless = ({ kind, obstacle }: DoctorFinding): boolean =>
  (kind === 'orphan-object' && obstacle === undefined) ||
  kind === 'orphan-stream' ||
  kind === 'orphan-attachment' ||
  kind === 'unfinished-deletion' ||
  kind === 'lost-segments';

/** True if a repair helps. */
const isRepairable = (finding: DoctorFinding): boolean =>
  !finding.fixed && (isHarmless(finding) || finding.kind === 'lost-job');

/** True if a person must act. */
function isSeriousFinding(finding: DoctorFinding): boolean {
  if (finding.kind === 'notice') return false;
  if (finding.kind === 'search-behind') return (finding.failingSessions ?? 0) > 0;
  return !finding.fixed && !isHarmless(finding);
}

export const hasRepairable = ({ findings }: DoctorReport): boolean => findings.some(isRepairable);

const toCount = ({ kind, count, waitingSessions }: DoctorFinding): number =>
  (kind === 'search-behind' ? waitingSessions : kind === 'notice' ? 1 : count) ?? 1;

/** The findings in sentences, those that someone must see to first. */
export function groupFindings({ findings }: DoctorReport): FindingGroup[] {
  const groups = new Map<string, FindingGroup>();
  for (const finding of findings) {
    const { kind, obstacle, fixed, transcriptId } = finding;
    const id = [kind, obstacle ?? '', fixed ? 'fixed' : ''].join(' ');
    const [what, todo, done] = obstacle === undefined ? WORDS[kind] : OBSTACLES[obstacle];
    const isSerious = isSeriousFinding(finding);
    const group = groups.get(id) ?? {
      id,
      count: 0,
      isSerious,
      what,
      todo: fixed ? (done ?? 'Repaired.') : todo,
      transcriptIds: [],
      names: [],
    };
    group.count += toCount(finding);
    const agent = finding.agent && [finding.agent, finding.agentVersion].filter(Boolean).join(' ');
    const name = agent ?? finding.relation ?? finding.streamId ?? finding.objectKey;
    const text = [name, finding.reason].filter((part) => part !== undefined).join(': ');
    if (transcriptId !== undefined) {
      if (group.transcriptIds.length < SHOWN_NAMES) group.transcriptIds.push(transcriptId);
    } else if (text !== '' && group.names.length < SHOWN_NAMES) group.names.push(text);
    groups.set(id, group);
  }
  return [...groups.values()].sort((one, other) => Number(other.isSerious) - Number(one.isSerious));
}
