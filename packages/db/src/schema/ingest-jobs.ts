import { bigint, boolean, index, integer, primaryKey, sql } from '../drizzle.cjs';
import { identifier, isoTimestamp, recountSchema } from './column-types.ts';

/**
 * Transcripts to be ingested. A row is inserted with its transcript's, and deleted in the transaction that ingests it.
 * Without foreign keys, because workers of all workspaces read it, and on a cluster it stays on the coordinator.
 */
export const ingestJobs = recountSchema.table(
  'ingest_jobs',
  {
    workspace_id: identifier().notNull(),
    transcript_id: identifier().notNull(),
    size_bytes: bigint({ mode: 'number' }).notNull(),
    /** Higher ones go first. */
    priority: integer().notNull().default(0),
    /** Not for a batch, because the transcript is large or a stream, or was tried before. */
    is_alone: boolean().notNull(),
    /** The time that a worker took it; null if none has it. Another may take it from a moment later on, unless locked. */
    taken_at: isoTimestamp(),
    /** The end of its pause after a failed attempt or an outage. */
    not_before: isoTimestamp(),
    /** Outages that ended an attempt while others continued. */
    outage_count: integer().notNull().default(0),
    created_at: isoTimestamp().notNull().default(sql`now()`),
  },
  (table) => [
    primaryKey({ name: 'ingest_jobs_pk', columns: [table.workspace_id, table.transcript_id] }),
    index('ingest_jobs_order').on(
      table.is_alone,
      table.priority.desc().nullsFirst(),
      table.created_at,
      table.transcript_id,
    ),
  ],
);
