import type { Agent, PathIdentity } from '../agent.ts';
import { toCanonicalFormat } from '../canonical-lines.ts';
import { toFileIdentity, toPathParts, toStem } from '../transcript-path.ts';
import { createGooseReader, isGooseMessage } from './reader.ts';

/**
 * Goose, with its SQLite store, and the JSONL files of older versions. https://github.com/aaif-goose/goose
 * crates/goose/src/session/session_manager.rs
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
    {
      ...{ holds: 'transcripts', variable: 'XDG_DATA_HOME', bases: ['.local/share'], platforms: ['linux', 'darwin'] },
      files: ['goose/sessions/*.jsonl'],
    },
    {
      ...{ holds: 'transcripts', variable: 'APPDATA', bases: ['AppData/Roaming'], platforms: ['win32'] },
      files: ['Block/goose/data/sessions/*.jsonl'],
    },
  ],
  databases: [
    {
      sessions: [
        {
          ...{ table: 'sessions', id: 'id', parent: 'parent_session_id', changed: 'updated_at' },
          without: [
            ...['updated_at', 'extension_data', 'total_tokens', 'input_tokens', 'output_tokens', 'cache_read_tokens'],
            ...['cache_write_tokens', 'accumulated_total_tokens', 'accumulated_input_tokens'],
            ...['accumulated_output_tokens', 'accumulated_cache_read_tokens', 'accumulated_cache_write_tokens'],
            ...['accumulated_cost', 'parent_delegation'],
          ],
          summedIn: 'usage_ledger',
        },
      ],
      rows: [
        { table: 'messages', owner: 'session_id', order: ['created_timestamp', 'id'], changed: 'id' },
        { table: 'usage_ledger', owner: 'session_id', order: ['created_timestamp', 'id'], changed: 'id' },
      ],
      unread: {
        'provider_inventory_*': 'models that providers offer',
        schema_version: 'which migrations have been applied',
        threads: 'names of conversations in the desktop app',
        thread_messages: 'the sessions’ messages again, as the desktop app showed them',
      },
    },
  ],
  formats: [
    toCanonicalFormat('goose', createGooseReader, ['goose-lines']),
    {
      id: 'goose-lines',
      kind: 'session',
      // The first line has the totals.
      isRewritten: true,
      detect(line) {
        const { description, message_count: count } = line;
        if (typeof description === 'string' && typeof count === 'number') return 0.9;
        return isGooseMessage(line) ? 0.4 : 0;
      },
      identify(line, found) {
        found.hasMessage ||= isGooseMessage(line);
      },
      createReader: createGooseReader,
    },
  ],
  readPath: readGoosePath,
};

/** `sessions/<session>.jsonl`. Only the path names the session; rows of the newer store name it themselves. */
function readGoosePath(path: string): PathIdentity {
  const parts = toPathParts(path);
  const isFile = /\.jsonl(\.(gz|zst|br))?$/i.test(path);
  const isOwn = isFile && parts.at(-2) === 'sessions' && (parts.includes('goose') || /^\d{8}_\d+$/.test(toStem(path)));
  return { ...toFileIdentity(path), sessionId: isOwn ? toStem(path) : undefined };
}
