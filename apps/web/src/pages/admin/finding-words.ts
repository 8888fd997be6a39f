import type { DoctorFinding, DoctorReport } from '@recount/contract';

/** Findings that share an explanation. */
export interface FindingGroup {
  id: string;
  count: number;
  /** Whether someone must see to it. */
  isSerious: boolean;
  what: string;
  /** What to do; for repaired findings, what was done. */
  todo: string;
  /** Ids of the transcripts. */
  transcriptIds: string[];
  /** Keys of objects, ids of streams, names of tables: whatever else identifies them. */
  names: string[];
}

type Words = readonly [what: string, todo: string, done?: string];

const UPLOAD_AGAIN = 'Upload the same files again, which puts the bytes in their place, or put a backup there.';

const WORDS: Readonly<Record<DoctorFinding['kind'], Words>> = {
  'orphan-object': [
    'Objects in the raw store that no transcript names',
    'Mending receives them as uploads. Left alone, they take up room and no more.',
    'Received as uploads.',
  ],
  'orphan-stream': [
    'Objects of recorded streams that no stream names',
    'Mending gives them their rows back. Left alone, they take up room and no more.',
    'They have their rows again.',
  ],
  'orphan-attachment': [
    'Objects of files beside transcripts that no session names',
    'Mending gives them their rows back. Left alone, they take up room and no more.',
    'They have their rows again, or were not needed.',
  ],
  'missing-object': [
    'Transcripts whose raw bytes are not in the store',
    `${UPLOAD_AGAIN} If nearly all are missing, the server looks into another store: see RECOUNT_RAW_STORE.`,
  ],
  'wrong-size': ['Transcripts whose raw object has another size than was uploaded', UPLOAD_AGAIN],
  'wrong-content': ['Transcripts whose raw bytes have changed since they were stored', UPLOAD_AGAIN],
  'unreadable-object': [
    'Transcripts whose raw object the store fails to give',
    `Check again later. If it stays so: ${UPLOAD_AGAIN}`,
  ],
  'missing-stream': [
    'Recorded streams whose bytes are not in the store',
    'Put a backup there. If nearly all are missing, the server looks into another store: see RECOUNT_RAW_STORE.',
  ],
  'wrong-stream-size': ['Recorded streams whose object has another size than was sent', 'Put a backup in its place.'],
  'wrong-stream-content': [
    'Recorded streams whose bytes have changed or cannot be read',
    'Put a backup in their place.',
  ],
  'damaged-attachment': [
    'Files beside transcripts whose bytes are lost or have changed',
    'recount backfill --rescan of the folder that has the same files heals them.',
  ],
  'lost-job': [
    'Transcripts that wait for a job which is not in the queue',
    'Mending puts the jobs into the queue again.',
    'Their jobs are in the queue again.',
  ],
  'failed-transcript': ['Transcripts that were given up', 'Open Failed jobs: it says why, and ingests them again.'],
  'unfinished-deletion': [
    'Objects that were to be deleted and are still there',
    'A worker deletes them within the hour; mending does it now.',
    'Deleted.',
  ],
  'search-behind': [
    'Search does not find some sessions yet',
    'If it stays so, look at the log of the worker: it says why they cannot be indexed.',
  ],
  'damaged-relation': [
    'Damaged tables or indexes of the database',
    'REINDEX rebuilds an index; a table needs a backup of the database.',
  ],
  'unchecked-database': ['Tables and indexes were not checked', 'The reason says what is missing.'],
  'undescribed-objects': [
    'Raw objects without a description, from which the database could be rebuilt',
    'Mending describes them.',
    'They are described now.',
  ],
  'stale-uploads': ['Remains of uploads that were cut off', 'Mending deletes them.', 'Deleted.'],
};

const OBSTACLES: Readonly<Record<NonNullable<DoctorFinding['obstacle']>, Words>> = {
  'no-workspace': [
    'Objects in the raw store whose workspace is not in the database',
    'recount doctor --rebuild, on the server, makes the workspace again.',
  ],
  damaged: [
    'Objects in the raw store whose bytes are not those that were stored',
    'Put a backup in their place, or upload the files again and delete these.',
  ],
  unreadable: [
    'Objects in the raw store that are no transcripts that can be read',
    'Look at them; delete them from the store if nobody needs them.',
  ],
};

const SHOWN_NAMES = 10;

const isHarmless = ({ kind, obstacle }: DoctorFinding): boolean =>
  (kind === 'orphan-object' && obstacle === undefined) ||
  kind === 'orphan-stream' ||
  kind === 'orphan-attachment' ||
  kind === 'unfinished-deletion';

/** Whether a repair does something about it. */
const isMendable = (finding: DoctorFinding): boolean =>
  !finding.fixed && (isHarmless(finding) || finding.kind === 'lost-job');

export const hasMendable = ({ findings }: DoctorReport): boolean => findings.some(isMendable);

const toCount = ({ kind, count, waitingSessions }: DoctorFinding): number =>
  (kind === 'search-behind' ? waitingSessions : count) ?? 1;

/** The findings in sentences, those that someone must see to first. */
export function groupFindings({ findings }: DoctorReport): FindingGroup[] {
  const groups = new Map<string, FindingGroup>();
  for (const finding of findings) {
    const { kind, obstacle, fixed, transcriptId } = finding;
    const id = [kind, obstacle ?? '', fixed ? 'fixed' : ''].join(' ');
    const [what, todo, done] = obstacle === undefined ? WORDS[kind] : OBSTACLES[obstacle];
    const isSerious = kind === 'search-behind' ? (finding.failingSessions ?? 0) > 0 : !fixed && !isHarmless(finding);
    const group = groups.get(id) ?? {
      id,
      count: 0,
      isSerious,
      what,
      todo: fixed ? (done ?? 'Mended.') : todo,
      transcriptIds: [],
      names: [],
    };
    group.count += toCount(finding);
    const name = finding.relation ?? finding.streamId ?? finding.objectKey;
    const text = [name, finding.reason].filter((part) => part !== undefined).join(': ');
    if (transcriptId !== undefined) {
      if (group.transcriptIds.length < SHOWN_NAMES) group.transcriptIds.push(transcriptId);
    } else if (text !== '' && group.names.length < SHOWN_NAMES) group.names.push(text);
    groups.set(id, group);
  }
  return [...groups.values()].sort((one, other) => Number(other.isSerious) - Number(one.isSerious));
}
