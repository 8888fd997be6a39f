import type { TRANSCRIPT_STATUSES } from '@recount/contract/choices';
import {
  type AnyPgColumn,
  bigint,
  boolean,
  index,
  integer,
  primaryKey,
  type SQL,
  sql,
  text,
  unique,
} from '../drizzle.cjs';
import { bytes, identifier, isoTimestamp, jsonObject, recountSchema } from './column-types.ts';
import { transcriptFigures } from './transcript-figures.ts';
import { workspaces } from './workspaces.ts';

/**
 * queued means stored, its job is waiting. processing means a worker has it. ingested means that its rows exist.
 * superseded means that its bytes are the beginning of a longer transcript of the session, whose rows include its own.
 * failed means all attempts failed, see failure_reason.
 */
export type TranscriptStatus = (typeof TRANSCRIPT_STATUSES)[number];

/** Uploader with direct access to database and store, who may do everything anyway. */
export const OPERATOR = 'operator';

/** One uploaded file, with its raw object, the state of its ingestion, and the result of the parse. */
export const transcripts = recountSchema.table(
  'transcripts',
  {
    workspace_id: identifier()
      .notNull()
      .references(() => workspaces.id),
    id: identifier().notNull(),
    session_id: identifier().notNull(),
    agent: text().notNull(),
    /** Id of one of the agent's formats. */
    format: text().notNull(),
    /** The output of a run, which shows the same session as the agent's own file in different lines. */
    is_stream: boolean().notNull(),
    /** The agent rewrites its files, so neither of two versions need begin with the other. */
    is_rewritten: boolean().notNull().default(false),
    path: text(),
    is_subagent: boolean().notNull().default(false),
    parent_session_id: identifier(),
    agent_id: text(),
    sha256: text().notNull(),
    size_bytes: bigint({ mode: 'number' }).notNull(),
    object_key: text().notNull(),
    /**
     * Id of the API key that first uploaded these bytes, or OPERATOR; null if from before 0.4, or received without a
     * row.
     */
    uploader_key_id: identifier(),
    /**
     * The machine that the bytes came from, and the person of the work; as stated by the uploader, or the person of the
     * key. Null means unknown.
     */
    machine: text(),
    person: text(),
    /**
     * Address of the remote, or else the main folder, of the repository that git found at the working directory, and the
     * folder of its worktree; as stated by the uploader, without credentials. Null means unknown.
     */
    sent_repository: text(),
    worktree: text(),
    /** Transcript of the session whose bytes this one begins with, as seen when this one was received. */
    grown_from: identifier(),
    /** SHA-256 of the bytes after those. */
    tail_sha256: text(),
    status: text().$type<TranscriptStatus>().notNull().default('queued'),
    is_diverged: boolean().notNull().default(false),
    superseded_by: identifier(),
    /** Key of its rows in the bulk tables; null if it has none. A version that grew takes over its beginning's. */
    row_set_id: identifier(),
    attempt_count: integer().notNull().default(0),
    failure_reason: text(),
    parser_version: text(),
    price_version: text(),
    line_count: integer().notNull().default(0),
    content_block_count: integer().notNull().default(0),
    error_count: integer().notNull().default(0),
    warning_count: integer().notNull().default(0),
    issue_counts: jsonObject().notNull().default({}),
    /** Secrets removed from the rows, by rule. */
    secret_counts: jsonObject().notNull().default({}),
    /** Checksum of the raw object if it is a redacted copy of the upload; both have the same length. */
    stored_sha256: text(),
    /** The time that retention deleted the messages and texts; the figures remain. */
    rows_deleted_at: isoTimestamp(),
    /** The time that retention deleted the raw object. */
    raw_deleted_at: isoTimestamp(),
    /**
     * The time that the doctor found the raw object lost or damaged; null again once the same bytes were uploaded
     * again.
     */
    raw_damaged_at: isoTimestamp(),
    ...transcriptFigures(),
    created_at: isoTimestamp().notNull().default(sql`now()`),
    ingested_at: isoTimestamp(),
  },
  (table) => [
    primaryKey({ columns: [table.workspace_id, table.id] }),
    unique('transcripts_row_set_unique').on(table.workspace_id, table.row_set_id),
    unique('transcripts_session_content_unique').on(table.workspace_id, table.session_id, table.sha256),
    index('transcripts_sha256').on(table.workspace_id, table.sha256),
    index('transcripts_status').on(table.workspace_id, table.status, table.id),
    index('transcripts_raw_size').on(table.workspace_id, table.size_bytes).where(sql`raw_deleted_at IS NULL`),
    index('transcripts_errors').on(table.workspace_id, table.id, table.error_count).where(sql`error_count > 0`),
  ],
);

/** Sort key of sessions by time; those without any timestamp come last. */
export const lastActivity = (lastTimestamp: AnyPgColumn | SQL) => sql`coalesce(${lastTimestamp}, '1970-01-01Z')`;

/** The same for equal lists of models, which have no bound that an index could take. */
export const modelListKey = (models: AnyPgColumn | SQL) => sql`hash_array_extended(${models}, 0)`;

/** Sort key of sessions by cost; those without a cost come before those that cost nothing. */
export const knownCost = (cost: AnyPgColumn) => sql`coalesce(${cost}, -1)`;

/** One conversation of a person or machine with an agent, or of a sub-agent with its parent. */
export const sessions = recountSchema.table(
  'sessions',
  {
    workspace_id: identifier()
      .notNull()
      .references(() => workspaces.id),
    session_id: identifier().notNull(),
    agent: text().notNull(),
    is_subagent: boolean().notNull().default(false),
    parent_session_id: identifier(),
    agent_id: text(),
    /**
     * The longest transcript of the session's owner that is not the beginning of another; the figures below are its
     * own.
     */
    primary_transcript_id: identifier().notNull(),
    /** Number of ingested transcripts, including the primary one; more than one if versions diverged. */
    transcript_count: integer().notNull().default(1),
    /** The person of the session, by its first version that names one. See `selectVersions`. */
    uploader_key_id: identifier(),
    machine: text(),
    person: text(),
    /**
     * The number that someone other than the session's owner uploaded, the primary one included if another has extended
     * the session, see `selectVersions`.
     */
    other_uploader_count: integer().notNull().default(0),
    ...transcriptFigures(),
    created_at: isoTimestamp().notNull().default(sql`now()`),
    updated_at: isoTimestamp().notNull().default(sql`now()`),
  },
  (table) => [
    primaryKey({ columns: [table.workspace_id, table.session_id] }),
    index('sessions_last_activity').on(table.workspace_id, lastActivity(table.last_timestamp), table.session_id),
    index('sessions_first_activity').on(table.workspace_id, lastActivity(table.first_timestamp), table.session_id),
    index('sessions_duration').on(table.workspace_id, table.duration_ms, table.session_id),
    index('sessions_messages').on(table.workspace_id, table.total_messages, table.session_id),
    index('sessions_tokens_out').on(table.workspace_id, table.tokens_out, table.session_id),
    index('sessions_cost').on(table.workspace_id, knownCost(table.cost_estimate_usd), table.session_id),
    index('sessions_parent').on(table.workspace_id, table.parent_session_id),
    index('sessions_agent').on(table.workspace_id, table.agent),
    index('sessions_models').on(table.workspace_id, modelListKey(table.models)),
    index('sessions_project').on(table.workspace_id, table.project),
    index('sessions_repository').on(table.workspace_id, table.repository),
    index('sessions_branch').on(table.workspace_id, table.git_branch),
    index('sessions_machine').on(table.workspace_id, table.machine).where(sql`machine IS NOT NULL`),
    index('sessions_person').on(table.workspace_id, table.person, table.machine),
    index('sessions_incomplete').on(table.workspace_id).where(sql`tokens_in IS NULL OR output_only_count > 0`),
  ],
);

export type TranscriptRow = typeof transcripts.$inferSelect;

/**
 * The end of the parse of a large transcript, where the parse of a longer version can continue. Rows with numbers from
 * these on are replaced by that parse.
 */
export const transcriptCheckpoints = recountSchema.table(
  'transcript_checkpoints',
  {
    workspace_id: identifier().notNull(),
    row_set_id: identifier().notNull(),
    byte_offset: bigint({ mode: 'number' }).notNull(),
    entry_number: integer().notNull(),
    call_number: integer().notNull(),
    event_number: integer().notNull(),
    issue_number: integer().notNull(),
    /** Compressed with zstd, as is the next one. */
    state: bytes().notNull(),
    /** State of the deriver at the same place; null if there was too much for it. */
    derived_state: bytes(),
  },
  (table) => [primaryKey({ name: 'transcript_checkpoints_pk', columns: [table.workspace_id, table.row_set_id] })],
);

/**
 * Raw objects to delete. A row is written in the transaction that removes the last reference to the object, and removed
 * once the object is deleted. Whatever fails in between, the object is deleted later and never taken for a lost upload.
 */
export const rawObjectDeletions = recountSchema.table(
  'raw_object_deletions',
  {
    /** Without a foreign key, because the workspace may be deleted too. */
    workspace_id: identifier().notNull(),
    /** A key; or, with a slash at its end, all keys that begin with it. */
    object_key: text().notNull(),
    recorded_at: isoTimestamp().notNull().default(sql`now()`),
  },
  (table) => [primaryKey({ name: 'raw_object_deletions_pk', columns: [table.workspace_id, table.object_key] })],
);
