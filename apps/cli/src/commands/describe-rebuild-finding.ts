import type { RebuildFinding } from '@recount/ingest';
import { formatCountOf } from '../terminal/format-values.ts';

/** One line for people about what a rebuilt database lacks. */
export function describeRebuildFinding(finding: RebuildFinding): string {
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
