import type { Agent } from '../agent.ts';
import { toCanonicalFormat } from '../canonical-lines.ts';
import { createGooseReader } from './reader.ts';

/**
 * Goose: its SQLite store.
 * https://github.com/aaif-goose/goose crates/goose/src/session/session_manager.rs
 */
export const goose: Agent = {
  id: 'goose',
  label: 'Goose',
  places: [
    {
      ...{ holds: 'database', variable: 'XDG_DATA_HOME', bases: ['.local/share'], platforms: ['linux', 'darwin'] },
      files: ['goose/sessions/sessions.db'],
    },
    {
      ...{ holds: 'database', variable: 'APPDATA', bases: ['AppData/Roaming'], platforms: ['win32'] },
      files: ['Block/goose/data/sessions/sessions.db'],
    },
    { holds: 'database', variable: 'GOOSE_PATH_ROOT', bases: [], files: ['data/sessions/sessions.db'] },
  ],
  database: {
    sessions: {
      ...{ table: 'sessions', id: 'id', parent: 'parent_session_id', changed: 'updated_at' },
      without: [
        ...['updated_at', 'extension_data', 'total_tokens', 'input_tokens', 'output_tokens', 'cache_read_tokens'],
        ...['cache_write_tokens', 'accumulated_total_tokens', 'accumulated_input_tokens', 'accumulated_output_tokens'],
        ...['accumulated_cache_read_tokens', 'accumulated_cache_write_tokens', 'accumulated_cost'],
      ],
    },
    rows: [
      { table: 'messages', owner: 'session_id', order: ['created_timestamp', 'id'], changed: 'id' },
      { table: 'usage_ledger', owner: 'session_id', order: ['created_timestamp', 'id'], changed: 'id' },
    ],
  },
  formats: [toCanonicalFormat('goose', createGooseReader)],
};
