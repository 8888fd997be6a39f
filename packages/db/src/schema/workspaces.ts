import type { ApiKeyScope, DeviceScope, TextReaders } from '@recount/contract/access';
import type { MAINTENANCE_CHECKS, REDACTION_MODES, REPRICE_STATES } from '@recount/contract/choices';
import { bigint, boolean, index, integer, jsonb, primaryKey, sql, text, unique } from '../drizzle.cjs';
import { identifier, isoTimestamp, jsonObject, recountSchema } from './column-types.ts';

/** Tenants. No row of one is ever visible to another. */
export const workspaces = recountSchema.table('workspaces', {
  id: identifier().primaryKey(),
  name: text().notNull().unique(),
  /** Shown beside costs, which are not converted. */
  currency_label: text().notNull().default('USD'),
  /** For a demo, the moment that its generated transcripts end at; null for any other workspace. */
  demo_ends_at: isoTimestamp(),
  /** Who may see the texts of others: all who read, or only keys with the scope `texts`. */
  text_readers: text().$type<TextReaders>().notNull().default('readers'),
  /** Names of people are shown only in workspaces of at least this many; null means always. */
  names_from_people: integer(),
  /** Secret that pseudonyms are made with; null until they are switched on. */
  pseudonym_salt: text(),
  created_at: isoTimestamp().notNull().default(sql`now()`),
});

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
    /**
     * The account at an OpenID provider that signs in with this key, which then is the account in this workspace. No one
     * knows its secret. Null for other keys.
     */
    issuer: text(),
    subject: text(),
    created_at: isoTimestamp().notNull().default(sql`now()`),
    /** The key is rejected from then on; null means never. */
    expires_at: isoTimestamp(),
    /** Hash of the key before it was rotated; valid until then. */
    previous_key_hash: text(),
    previous_expires_at: isoTimestamp(),
    /** The number of machines that a key with the scope enrol may have; null means any number. */
    machine_limit: integer(),
    /** The key that this one's machine enrolled with; null for other keys. */
    enrolled_by: identifier(),
    /** SHA-256 of what tells that machine from others; null for other keys. */
    machine_id: text(),
    /** SHA-256 of the code of the link that signs a browser in with this key, once; null if there is none. */
    sign_in_link_hash: text(),
    sign_in_link_expires_at: isoTimestamp(),
    /** The key that made the link; null if it was made on the server. */
    sign_in_link_by: identifier(),
    /** The end of that key's secret, when browsers are signed out that used the link; null means never. */
    sign_in_link_ends_at: isoTimestamp(),
    last_used_at: isoTimestamp(),
    revoked_at: isoTimestamp(),
  },
  (table) => [
    primaryKey({ columns: [table.workspace_id, table.id] }),
    unique('api_keys_sign_in_link_unique').on(table.sign_in_link_hash),
    unique('api_keys_key_hash_unique').on(table.key_hash),
    unique('api_keys_previous_key_hash_unique').on(table.previous_key_hash),
    unique('api_keys_machine_unique').on(table.workspace_id, table.enrolled_by, table.machine_id),
    unique('api_keys_account_unique').on(table.workspace_id, table.issuer, table.subject),
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
    /** The key that made the link that it signed in with, whose revocation ends it; null without a link of a key. */
    linked_by: identifier(),
    cookie_hash: text().notNull(),
    page_hash: text().notNull(),
    /** As it names itself, shortened; null if it does not. */
    browser: text(),
    /** Id of the provider in the settings; null for a sign-in with a key or a link. */
    provider: text(),
    /** Encrypted tokens of the provider; null if there are none. */
    sealed_tokens: text(),
    /** Last time that the provider confirmed the account. Null without a refresh token. */
    checked_at: isoTimestamp(),
    /** Start of a check that is under way. */
    check_started_at: isoTimestamp(),
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
    /** Scopes of the key. */
    scopes: text().array().$type<DeviceScope[]>().notNull(),
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
    /** `key:<id>`, `link:<share id>`, `operator:<operating system user>` for someone with direct access to the database, or `system`. */
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
export type RedactionMode = (typeof REDACTION_MODES)[number];

/** A workspace's choices; without a row, the defaults. */
export const workspaceSettings = recountSchema.table('workspace_settings', {
  workspace_id: identifier()
    .primaryKey()
    .references(() => workspaces.id, { onDelete: 'cascade' }),
  redaction: text().$type<RedactionMode>().notNull().default('off'),
  rows_max_age_days: integer(),
  raw_max_age_days: integer(),
  /** Subscriptions, in the order of their addition. */
  plans: jsonb().$type<StoredPlan[]>().notNull().default([]),
  updated_at: isoTimestamp().notNull().default(sql`now()`),
});

/** A subscription of the workspace (`person` is null) or of one person. */
export interface StoredPlan {
  name: string;
  person: string | null;
  /** The agent that it is for; null means all. */
  agent: string | null;
  /** Price of a seat in a month, US dollars. */
  monthly_usd: number;
  seats: number;
}

export type MaintenanceCheckKind = (typeof MAINTENANCE_CHECKS)[number];

/** The request and the start of a run that reprices stored usage. */
export interface RepriceTask {
  /** Names of models, which may end in `*`; empty means all. */
  models: string[];
  /** `worker` means that any worker takes it, also after the one before has died; `process` runs it itself. */
  runner: 'worker' | 'process';
  /** Sums of the workspace before the run; absent until it begins. */
  before?: RepriceSums;
}

/** Sums of all responses of a workspace, each counted once. */
export interface RepriceSums {
  responses: number;
  unpriced_responses: number;
  cost_usd: number;
}

/**
 * Checks and repricing that were started by a request, one row for each kind and workspace. A second one cannot start
 * while the first one is running. No foreign key, because there are checks of the whole installation.
 */
export const maintenanceChecks = recountSchema.table(
  'maintenance_checks',
  {
    /** '' for a check of all workspaces. */
    workspace_id: identifier().notNull(),
    kind: text().$type<MaintenanceCheckKind | 'reprice'>().notNull(),
    /** ULID of the run. A process cannot change the row of another run. */
    run_id: identifier().notNull(),
    /** Only repricing is queued, and can be cancelled. */
    state: text().$type<(typeof REPRICE_STATES)[number]>().notNull(),
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
    /** The result of the last completed run, which may be an earlier one. */
    report: jsonObject(),
    report_at: isoTimestamp(),
    report_is_fix: boolean(),
    /** The request and start of a run that reprices; null for checks. */
    task: jsonb().$type<RepriceTask>(),
  },
  (table) => [primaryKey({ columns: [table.workspace_id, table.kind] })],
);
