import type { SessionDatabase } from '../session-places.ts';

/**
 * The store of Crush, and of opencode as it was in 2025, which Crush continues. Only Crush's messages have a
 * `provider`. https://github.com/charmbracelet/crush, https://github.com/opencode-ai/opencode internal/db/migrations
 */
export const crushDatabase: SessionDatabase = {
  sessions: [
    {
      ...{ table: 'sessions', id: 'id', parent: 'parent_session_id', changed: 'updated_at' },
      // Its token counts cover only the last request.
      without: ['updated_at', 'message_count', 'prompt_tokens', 'completion_tokens', 'todos', 'summary_message_id'],
    },
  ],
  rows: [{ table: 'messages', owner: 'session_id', order: ['created_at'], changed: 'updated_at' }],
  unread: {
    files: 'contents of the files that were read and edited, for undoing',
    goose_db_version: 'which migrations have been applied',
    read_files: 'when each file was last read',
  },
};
