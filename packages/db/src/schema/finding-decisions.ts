import type { DismissalSubject } from '@recount/contract/choices';
import { date, primaryKey, sql, text, unique } from '../drizzle.cjs';
import { identifier, isoTimestamp, recountSchema } from './column-types.ts';
import type { StoredFindingKind } from './findings.ts';

/** Kinds of findings, stored and computed. */
export type FindingKindName = StoredFindingKind | 'large-result' | 'expensive-session';

/**
 * Findings that people have dismissed. They are kept apart from all rows that ingestion writes, and in the workspace's
 * record in the raw store.
 */
export const findingDismissals = recountSchema.table(
  'finding_dismissals',
  {
    workspace_id: identifier().notNull(),
    id: identifier().notNull(),
    kind: text().$type<FindingKindName>().notNull(),
    subject_type: text().$type<DismissalSubject>().notNull(),
    /** Id of the session, or name of the repository, person or tool. */
    subject: text().notNull(),
    reason: text(),
    /** As the audit log has it. */
    dismissed_by: text().notNull(),
    dismissed_at: isoTimestamp().notNull().default(sql`now()`),
  },
  (table) => [
    primaryKey({ columns: [table.workspace_id, table.id] }),
    unique('finding_dismissals_subject').on(table.workspace_id, table.kind, table.subject_type, table.subject),
  ],
);

/** Kinds of findings that a workspace has done something about; kept like `findingDismissals`. */
export const addressedFindings = recountSchema.table(
  'addressed_findings',
  {
    workspace_id: identifier().notNull(),
    kind: text().$type<FindingKindName>().notNull(),
    /** The first day afterwards. */
    since: date({ mode: 'string' }).notNull(),
    note: text(),
    marked_by: text().notNull(),
    marked_at: isoTimestamp().notNull().default(sql`now()`),
  },
  (table) => [primaryKey({ columns: [table.workspace_id, table.kind] })],
);
