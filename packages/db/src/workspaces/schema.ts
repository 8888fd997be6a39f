import { bigint, boolean, index, integer, primaryKey, sql, text, unique } from '../drizzle.cjs';
import { identifier, isoTimestamp, jsonObject, recountSchema } from '../schema/column-types.ts';

/** Tenants: no row of one is ever visible to another. */
export const workspaces = recountSchema.table('workspaces', {
  id: identifier().primaryKey(),
  name: text().notNull().unique(),
  /** Shown beside costs; they are not converted. */
  currency_label: text().notNull().default('USD'),
  created_at: isoTimestamp().notNull().default(sql`now()`),
});

/** `admin` includes `ingest` and `read`, `operator` none: it is for what is of all workspaces. */
export const API_KEY_SCOPES = ['ingest', 'read', 'admin', 'operator'] as const;
export type ApiKeyScope = (typeof API_KEY_SCOPES)[number];

/** Keys are stored as SHA-256 only; `hint` is their last characters, for telling them apart. */
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
    /** Whose key it is: what it brings is this person's, whatever the upload says. Null: the upload says it. */
    person: text(),
    created_at: isoTimestamp().notNull().default(sql`now()`),
    /** From then on it is refused; null: never. */
    expires_at: isoTimestamp(),
    /** What the key was before it was rotated; valid until then. */
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

/** Machines that ask for a key by a code which an admin approves (RFC 8628). Of no workspace until then. */
export const deviceRequests = recountSchema.table(
  'device_requests',
  {
    /** What the admin types. */
    user_code: text().primaryKey(),
    /** SHA-256 of what the machine fetches its key with. */
    device_code_hash: text().notNull(),
    machine: text().notNull(),
    /** Of the key; never `admin` or `operator`. */
    scopes: text().array().$type<Exclude<ApiKeyScope, 'admin' | 'operator'>[]>().notNull(),
    requested_at: isoTimestamp().notNull().default(sql`now()`),
    expires_at: isoTimestamp().notNull(),
    last_polled_at: isoTimestamp(),
    /** Null until it is approved, as are those that follow. */
    workspace_id: identifier().references(() => workspaces.id, { onDelete: 'cascade' }),
    person: text(),
    key_expires_at: isoTimestamp(),
    approved_by: text().$type<`key:${string}` | `operator:${string}` | 'system'>(),
  },
  (table) => [unique('device_requests_device_code_hash_unique').on(table.device_code_hash)],
);

/**
 * Who changed what. A trigger refuses to change or delete rows, but for those of a workspace that is being deleted. No foreign
 * key: that a workspace was deleted is told by a row of no workspace.
 */
export const auditLog = recountSchema.table(
  'audit_log',
  {
    /** '' for what is of no workspace (any more). */
    workspace_id: identifier().notNull(),
    id: identifier().notNull(),
    at: isoTimestamp().notNull().default(sql`now()`),
    /** `key:<id>`, `operator:<name on the operating system>` for who has the database itself, or `system`. */
    actor: text().notNull(),
    /** `<noun>.<verb>`; new ones may come at any time. */
    action: text().notNull(),
    /** Ids of what was changed. */
    subjects: text().array().notNull(),
    /** Counts, names, and values of settings; never text of transcripts, nor secrets. */
    details: jsonObject().notNull(),
  },
  (table) => [primaryKey({ columns: [table.workspace_id, table.id] })],
);

/**
 * off: secrets stay where they are. rows: what is read from a transcript is free of them, its raw object is not.
 * rows-and-raw: a redacted copy takes the place of the raw object.
 */
export const REDACTION_MODES = ['off', 'rows', 'rows-and-raw'] as const;
export type RedactionMode = (typeof REDACTION_MODES)[number];

/** What a workspace chose; without a row, the defaults. */
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
 * The checks that were started by a request, one row for each kind and workspace: a second one cannot start while the first one runs. No
 * foreign key: the installation has checks of its own.
 */
export const maintenanceChecks = recountSchema.table(
  'maintenance_checks',
  {
    /** '' for a check of all workspaces. */
    workspace_id: identifier().notNull(),
    kind: text().$type<MaintenanceCheckKind>().notNull(),
    /** ULID of the run: what a process writes of another run changes nothing. */
    run_id: identifier().notNull(),
    state: text().$type<'running' | 'done' | 'failed' | 'interrupted'>().notNull(),
    /** Mends what it finds. */
    is_fix: boolean().notNull(),
    actor: text().notNull(),
    started_at: isoTimestamp().notNull().default(sql`now()`),
    /** When its process last said that it goes on. */
    seen_at: isoTimestamp().notNull().default(sql`now()`),
    ended_at: isoTimestamp(),
    /** What it looks at. */
    step: text().notNull(),
    done_count: bigint({ mode: 'number' }).notNull().default(0),
    /** Null: not known. */
    total_count: bigint({ mode: 'number' }),
    /** Why it failed. */
    failure_reason: text(),
    /** Of the last run that was done, which may be an earlier one. */
    report: jsonObject(),
    report_at: isoTimestamp(),
    report_is_fix: boolean(),
  },
  (table) => [primaryKey({ columns: [table.workspace_id, table.kind] })],
);
