import { index, primaryKey, sql, text, unique } from '../drizzle.cjs';
import { identifier, isoTimestamp } from '../schema/column-types.ts';
import { recountSchema } from '../schema/recount-schema.ts';

/** Tenants: no row of one is ever visible to another. */
export const workspaces = recountSchema.table('workspaces', {
  id: identifier().primaryKey(),
  name: text().notNull().unique(),
  /** Shown beside costs; they are not converted. */
  currency_label: text().notNull().default('USD'),
  created_at: isoTimestamp().notNull().default(sql`now()`),
});

export const API_KEY_SCOPES = ['ingest', 'read', 'admin'] as const;
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
