import type { AttachmentKind } from '@recount/core';
import { bigint, index, primaryKey, sql, text, unique } from '../drizzle.cjs';
import { identifier, isoTimestamp, recountSchema } from './column-types.ts';
import { workspaces } from './workspaces.ts';

/**
 * Files that an agent keeps with a session's transcript, such as results too large for it. Stored as bytes; their
 * content is not parsed.
 */
export const attachments = recountSchema.table(
  'attachments',
  {
    workspace_id: identifier()
      .notNull()
      .references(() => workspaces.id),
    id: identifier().notNull(),
    /** Session whose folder the file is in. It may have no transcript here. */
    session_id: identifier().notNull(),
    agent: text().notNull(),
    /** Path in the session's folder, with `/` as separator. */
    path: identifier().notNull(),
    kind: text().$type<AttachmentKind>().notNull(),
    size_bytes: bigint({ mode: 'number' }).notNull(),
    /** SHA-256 of the uploaded bytes. */
    sha256: text().notNull(),
    /** SHA-256 of the raw object, if that is a redacted copy of the same length. */
    stored_sha256: text(),
    object_key: text().notNull(),
    /** The file's modification time, by its machine's clock, but never later than its receipt. */
    modified_at: isoTimestamp().notNull(),
    /** Id of the uploading API key, or OPERATOR. */
    uploader_key_id: identifier(),
    machine: text(),
    person: text(),
    created_at: isoTimestamp().notNull().default(sql`now()`),
  },
  (table) => [
    primaryKey({ columns: [table.workspace_id, table.id] }),
    unique('attachments_object_key_unique').on(table.workspace_id, table.object_key),
    index('attachments_session').on(table.workspace_id, table.session_id, table.path),
    index('attachments_modified_at').on(table.workspace_id, table.modified_at),
  ],
);

export type AttachmentRow = typeof attachments.$inferSelect;
