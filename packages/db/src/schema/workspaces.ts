import { bigint, boolean, index, integer, primaryKey, sql, text, unique } from '../drizzle.cjs';
import { identifier, isoTimestamp, jsonObject, recountSchema } from './column-types.ts';

/** Tenants. No row of one is ever visible to another. */
export const workspaces = recountSchema.table('workspaces', {
  id: identifier().primaryKey(),
  name: text().notNull().unique(),
  /** Shown beside costs, which are not converted. */
  currency_label: text().notNull().default('USD'),
  created_at: isoTimestamp().notNull().default(sql`now()`),
});

/** `admin` includes `ingest` and `read`; `operator` includes none and is for what concerns all workspaces. */
export const API_KEY_SCOPES = ['ingest', 'read', 'admin', 'operator'] as const;
export type ApiKeyScope = (typeof API_KEY_SCOPES)[number];

/** Only the SHA-256 of keys is stored; `hint` is their last characters, to distinguish them. */
export const apiKeys = recountSchema.table(
  'api_keys',
  {
    workspace_id: identifier()
      .notNull()
      .references(() => workspaces.id, { onDelete: 'cascade' }),
    id: identifier().notNull(),
    name: text().notNull(),
    key_hash: text().notNull(),
    hint: text().notNull(),
    scopes: text().array().$type<ApiKeyScope[]>().notNull(),
    /**
     * The owner of the key. Its uploads are attributed to this person, whatever they state. Null means as the upload
     * states.
     */
    person: text(),
    created_at: isoTimestamp().notNull().default(sql`now()`),
    /** The key is rejected from then on; null means never. */
    expires_at: isoTimestamp(),
    /** Hash of the key before it was rotated; valid until then. */
    previous_key_hash: text(),
    previous_expires_at: isoTimestamp(),
    last_used_at: isoTimestamp(),
    revoked_at: isoTimestamp(),
  },
  (table) => [
    primaryKey({ columns: [table.workspace_id, table.id] }),
    unique('api_keys_key_hash_unique').on(table.key_hash),
    unique('api_keys_previous_key_hash_unique').on(table.previous_key_hash),
    index('api_keys_workspace_name').on(table.workspace_id, table.name),
  ],
);

/**
 * Browsers that are signed in to the dashboard. Only the SHA-256 of their two secrets is stored. One is a cookie, the
 * other is in the path of each request.
 */
export const signIns = recountSchema.table(
  'sign_ins',
  {
    workspace_id: identifier()
      .notNull()
      .references(() => workspaces.id, { onDelete: 'cascade' }),
    id: identifier().notNull(),
    key_id: identifier().notNull(),
    /** Hash of the key's secret at that time. The sign-in ends with that secret. */
    key_hash: text().notNull(),
    cookie_hash: text().notNull(),
    page_hash: text().notNull(),
    /** As it names itself, shortened; null if it does not. */
    browser: text(),
    created_at: isoTimestamp().notNull().default(sql`now()`),
    last_used_at: isoTimestamp().notNull().default(sql`now()`),
    expires_at: isoTimestamp().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.workspace_id, table.id] }),
    unique('sign_ins_cookie_hash_unique').on(table.cookie_hash),
  ],
);

/**
 * Machines that request a key with a code that an admin approves (RFC 8628). They belong to no workspace until then.
 */
export const deviceRequests = recountSchema.table(
  'device_requests',
  {
    /** The code that the admin types. */
    user_code: text().primaryKey(),
    /** SHA-256 of the code that the machine redeems for its key. */
    device_code_hash: text().notNull(),
    machine: text().notNull(),
    /** Scopes of the key; never `admin` or `operator`. */
    scopes: text().array().$type<Exclude<ApiKeyScope, 'admin' | 'operator'>[]>().notNull(),
    requested_at: isoTimestamp().notNull().default(sql`now()`),
    expires_at: isoTimestamp().notNull(),
    last_polled_at: isoTimestamp(),
    /** Null until it is approved, like the columns below. */
    workspace_id: identifier().references(() => workspaces.id, { onDelete: 'cascade' }),
    person: text(),
    key_expires_at: isoTimestamp(),
    approved_by: text().$type<`key:${string}` | `operator:${string}` | 'system'>(),
  },
  (table) => [unique('device_requests_device_code_hash_unique').on(table.device_code_hash)],
);

/**
 * The log of changes. A trigger rejects changes and deletions of rows, except in a workspace that is being deleted. No
 * foreign key, because a workspace's deletion is recorded in a row without a workspace.
 */
export const auditLog = recountSchema.table(
  'audit_log',
  {
    /** '' for entries about no (existing) workspace. */
    workspace_id: identifier().notNull(),
    id: identifier().notNull(),
    at: isoTimestamp().notNull().default(sql`now()`),
    /** `key:<id>`, `operator:<operating system user>` for someone with direct access to the database, or `system`. */
    actor: text().notNull(),
    /** `<noun>.<verb>`; new ones may be added at any time. */
    action: text().notNull(),
    /** Ids of what changed. */
    subjects: text().array().notNull(),
    /** Counts, names, and values of settings; never text of transcripts or secrets. */
    details: jsonObject().notNull(),
  },
  (table) => [primaryKey({ columns: [table.workspace_id, table.id] })],
);

/**
 * off means secrets stay. rows means they are removed from what is read from a transcript, but not from its raw object.
 * rows-and-raw means a redacted copy also replaces the raw object.
 */
export const REDACTION_MODES = ['off', 'rows', 'rows-and-raw'] as const;
export type RedactionMode = (typeof REDACTION_MODES)[number];

/** A workspace's choices; without a row, the defaults. */
export const workspaceSettings = recountSchema.table('workspace_settings', {
  workspace_id: identifier()
    .primaryKey()
    .references(() => workspaces.id, { onDelete: 'cascade' }),
  redaction: text().$type<RedactionMode>().notNull().default('off'),
  rows_max_age_days: integer(),
  raw_max_age_days: integer(),
  updated_at: isoTimestamp().notNull().default(sql`now()`),
});

export const MAINTENANCE_CHECKS = ['doctor', 'verify'] as const;
export type MaintenanceCheckKind = (typeof MAINTENANCE_CHECKS)[number];

/**
 * Checks that were started by a request, one row for each kind and workspace. A second one cannot start while the first
 * one is running. No foreign key, because there are checks of the whole installation.
 */
export const maintenanceChecks = recountSchema.table(
  'maintenance_checks',
  {
    /** '' for a check of all workspaces. */
    workspace_id: identifier().notNull(),
    kind: text().$type<MaintenanceCheckKind>().notNull(),
    /** ULID of the run. A process cannot change the row of another run. */
    run_id: identifier().notNull(),
    state: text().$type<'running' | 'done' | 'failed' | 'interrupted'>().notNull(),
    /** Repairs what it finds. */
    is_fix: boolean().notNull(),
    actor: text().notNull(),
    started_at: isoTimestamp().notNull().default(sql`now()`),
    /** The time of its process's last report of progress. */
    seen_at: isoTimestamp().notNull().default(sql`now()`),
    ended_at: isoTimestamp(),
    /** The current step. */
    step: text().notNull(),
    done_count: bigint({ mode: 'number' }).notNull().default(0),
    /** Null if unknown. */
    total_count: bigint({ mode: 'number' }),
    /** Why it failed. */
    failure_reason: text(),
    /** Of the last completed run, which may be an earlier one. */
    report: jsonObject(),
    report_at: isoTimestamp(),
    report_is_fix: boolean(),
  },
  (table) => [primaryKey({ columns: [table.workspace_id, table.kind] })],
);
