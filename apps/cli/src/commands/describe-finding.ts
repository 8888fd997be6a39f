import type { Finding, RebuildFinding } from '@recount/ingest';
import { toWorkspaceNames } from '../cluster/format-cluster.ts';
import { describeNotice } from '../report/describe-notice.ts';
import { formatBytes, formatCountOf } from '../terminal/format-values.ts';

const HEALING = 'upload the same file again (`recount upload FILE`), which replaces it, or restore a backup';

const ATTACHMENT_STATES = {
  missing: 'lost',
  'wrong-size': 'of another size than the file',
  'wrong-content': 'no longer the stored bytes',
  unreadable: 'not readable to its end',
} as const;

/** One line for people about what a doctor found, or a rebuilt database lacks. */
export function describeFinding(finding: Finding | RebuildFinding, rawStore: string): string {
  switch (finding.kind) {
    case 'orphan-object':
      return `orphan object ${finding.objectKey}, ${formatBytes(finding.sizeBytes)}: ${toOrphanState(finding)}`;
    case 'missing-object':
      return `missing object ${finding.objectKey} of transcript ${finding.transcriptId}: its bytes are lost, or RECOUNT_RAW_STORE names another store. If lost: ${HEALING}`;
    case 'wrong-size':
      return `transcript ${finding.transcriptId}: its object has ${finding.sizeBytes} bytes, which is not what was uploaded: ${HEALING}`;
    case 'wrong-content':
      return `transcript ${finding.transcriptId}: the bytes of its object ${finding.objectKey} have changed since they were stored: ${HEALING}`;
    case 'unreadable-object':
      return `transcript ${finding.transcriptId}: its object ${finding.objectKey} cannot be read completely; if that persists, ${HEALING}`;
    case 'wrong-description':
      return `transcript ${finding.transcriptId}: the description of its object ${finding.objectKey} ${finding.reason}, and a rebuild would believe it: ${finding.fixed ? 'written again from the database' : '`recount doctor --checksums --fix` writes it again from the database'}`;
    case 'lost-job':
      return `transcript ${finding.transcriptId} waits for a job that is not in the queue${finding.fixed ? ': enqueued again' : ''}`;
    case 'failed-transcript':
      return `transcript ${finding.transcriptId} was marked as failed. \`recount requeue ${finding.transcriptId}\` tries again`;
    case 'orphan-stream':
      return `orphan stream ${finding.objectKey}, ${formatBytes(finding.sizeBytes)}: ${finding.fixed ? 'has its row again' : 'no stream names it'}`;
    case 'missing-stream':
      return `missing object ${finding.objectKey} of stream ${finding.streamId}: its bytes are lost, or RECOUNT_RAW_STORE names another store`;
    case 'wrong-stream-size':
      return `stream ${finding.streamId}: its object has ${finding.sizeBytes} bytes, which is not what was sent`;
    case 'wrong-stream-content':
      return `stream ${finding.streamId}: the bytes of its object ${finding.objectKey} have changed since they were stored, or cannot be read. Restore a backup`;
    case 'orphan-attachment':
      return `orphan attachment ${finding.objectKey}, ${formatBytes(finding.sizeBytes)}: ${finding.fixed ? 'has its row again, or was not needed' : 'no session names it'}`;
    case 'damaged-attachment':
      return `attachment ${finding.attachmentId}: its object ${finding.objectKey} is ${ATTACHMENT_STATES[finding.state]}: \`recount backfill --rescan\` of the folder that has the file replaces it`;
    case 'unfinished-deletion':
      return `${finding.objectKey} was being deleted, and that was interrupted: ${finding.fixed ? 'deleted' : 'a worker deletes it within the hour'}`;
    case 'notice':
      return describeNotice({ ...finding, message: finding.reason, occurrenceCount: finding.count });
    case 'search-behind':
      return `search: ${formatCountOf(finding.waitingSessions, 'session')} to be indexed, after a failure ${finding.failingSessions} of them`;
    case 'lost-segments':
      return `remains of ${formatCountOf(finding.count, 'segment')} of search whose row is lost: ${finding.fixed ? 'deleted' : 'a worker deletes them within the hour'}`;
    case 'silent-node':
      return `node ${finding.node} of the database's cluster does not answer (${finding.reason}): start it. It has ${toWorkspaceNames(finding.workspaces.map((name) => ({ name })))}. Nothing else was compared, because its rows cannot be read`;
    case 'damaged-relation':
      return `damaged ${finding.relation}: ${finding.reason}; \`REINDEX\` rebuilds an index, a table needs a backup`;
    case 'unchecked-database':
      return `tables and indexes were not checked: ${finding.reason}`;
    case 'stale-uploads':
      return `remains of ${finding.count} interrupted uploads, deleted`;
    case 'unwritable-store':
      return `raw store ${rawStore} cannot be written, so uploads are refused: ${finding.message}. ${finding.reason}`;
    case 'undescribed-objects':
      return `${formatCountOf(finding.count, 'object')} without a description in the raw store, which a rebuild of the database needs: ${finding.fixed ? 'described now' : '`recount doctor --fix` writes it from the database'}`;
    default:
      return describeRebuildFinding(finding);
  }
}

const OBSTACLES = {
  'no-workspace': 'its workspace is not in the database: `recount doctor --rebuild` restores it',
  damaged: 'its bytes differ from the stored ones. Restore a backup, or upload the file again and delete it',
  unreadable: 'it is not a readable transcript',
} as const;

function toOrphanState({ fixed, obstacle }: { fixed: boolean; obstacle?: keyof typeof OBSTACLES }): string {
  if (obstacle !== undefined) return OBSTACLES[obstacle];
  return fixed ? 'received as an upload' : 'no transcript names it';
}

/** One line for people about what a rebuilt database lacks. */
function describeRebuildFinding(finding: RebuildFinding): string {
  switch (finding.kind) {
    case 'lost-keys': {
      const names = finding.keyNames.length === 0 ? '' : ` (${finding.keyNames.join(', ')})`;
      return `workspace ${finding.name} is restored, without its keys${names}: create new ones with \`recount keys create\``;
    }
    case 'renamed-workspace':
      return finding.wantedName === null
        ? `workspace ${finding.workspaceId} has no record in the raw store. Its name, settings and prices are lost; it is named by its id`
        : `workspace ${finding.workspaceId} is called ${finding.name}, as another one has the name ${finding.wantedName}`;
    case 'lost-figures':
      return `workspace ${finding.workspaceId} deletes raw transcripts after ${finding.rawMaxAgeDays} days, so the figures of deleted ones are lost`;
    case 'unidentified-object':
      return `object ${finding.objectKey} names no session, so it is now the separate session ${finding.transcriptId}`;
    case 'guessed-objects':
      return `${formatCountOf(finding.count, 'object')} without a description. Their sessions come from their lines, their paths are lost`;
    case 'young-objects':
      return `${formatCountOf(finding.count, 'object')} younger than --min-age skipped. Run it again later, or with --min-age 0m if no upload is in progress`;
    case 'unknown-objects':
      return `${formatCountOf(finding.count, 'object')} not of recount, left alone`;
  }
}
