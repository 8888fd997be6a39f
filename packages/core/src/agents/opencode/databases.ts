import { crushDatabase } from '../crush/database.ts';
import type { SessionDatabase, SessionHeadTable } from '../session-places.ts';

/** Columns that change with every message, or when a session is looked at. */
const sessionColumns: Pick<SessionHeadTable, 'id' | 'parent' | 'changed' | 'without'> = {
  ...{ id: 'id', parent: 'parent_id', changed: 'time_updated' },
  without: [
    ...['time_updated', 'time_compacting', 'time_suspended', 'time_idle', 'time_viewed', 'idle_outcome'],
    ...['resume_attempts', 'summary_additions', 'summary_deletions', 'summary_files', 'summary_diffs', 'cost'],
    ...['tokens_input', 'tokens_output', 'tokens_reasoning', 'tokens_cache_read', 'tokens_cache_write'],
  ],
};

/**
 * One database has the tables of version 1 (`session`, `message`, `part`) and of version 2 (`session_v2`,
 * `session_message`, `event`). When version 2 first starts, it copies the sessions of version 1 under the same ids,
 * without what its own form cannot hold, such as the usage of summaries; it leaves the old tables in place, and version
 * 1 may continue to write to them. So a row of version 1 is read rather than its copy. Test versions of 2 kept their
 * sessions in `session`. https://github.com/anomalyco/opencode packages/core/src/session/sql.ts,
 * packages/core/src/database/v1-migration.bun.ts
 */
export const opencodeDatabase: SessionDatabase = {
  sessions: [
    { table: 'session', ...sessionColumns },
    { table: 'session_v2', ...sessionColumns },
  ],
  rows: [
    {
      table: 'message',
      owner: 'session_id',
      order: ['time_created', 'id'],
      changed: 'time_updated',
      children: { table: 'part', owner: 'message_id', order: ['id'], changed: 'time_updated' },
    },
    {
      ...{ table: 'session_message', owner: 'session_id', order: ['time_created', 'seq', 'id'] },
      ...{ changed: 'time_updated', head: 'session_v2', unless: 'message' },
    },
    {
      // Version 1 has the table without this column, and no usage in it.
      ...{ table: 'event', owner: 'aggregate_id', order: ['created', 'seq'], changed: 'seq', needs: 'created' },
      ...{ only: { column: 'type', prefix: 'session.usage.recorded' }, head: 'session_v2' },
    },
  ],
  unread: {
    __drizzle_migrations: 'which migrations have been applied',
    account: 'signed-in accounts',
    account_state: 'which account is in use',
    control_account: 'signed-in accounts',
    credential: 'passwords and keys of providers',
    data_migration: 'which migrations have been applied',
    event: 'each change of a session, whose result its messages have',
    event_sequence: 'counters of events',
    'instruction_*': 'instructions to the model, which messages repeat',
    'kilo_board*': 'messages between Kilo’s agents, which their sessions have as tool calls',
    kv: 'settings',
    migration: 'which migrations have been applied',
    permission: 'saved permissions',
    project: 'projects, whose folders the sessions name',
    project_directory: 'folders of projects',
    session_context_epoch: 'instructions to the model',
    session_entry: 'an early form of session_message, never in use',
    session_inbox: 'prompts that the model has not been given yet',
    session_input: 'prompts that the model has not been given yet',
    session_pending: 'prompts that the model has not been given yet',
    session_share: 'links to shared sessions, with their secrets',
    todo: 'to-do lists, whose changes are tool calls',
    workspace: 'folders of workspaces',
    worktree: 'folders of worktrees',
  },
};

/**
 * opencode of 2025, written in Go, kept a store in each project's `.opencode` folder.
 * https://github.com/opencode-ai/opencode internal/db/migrations
 */
export const goDatabase: SessionDatabase = {
  ...crushDatabase,
  has: ['sessions.prompt_tokens'],
  lacks: ['messages.provider'],
};
