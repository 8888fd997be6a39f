import { readObject, readText } from '../../records/fields.ts';
import type { Reader, ReaderContext } from '../agent.ts';
import { readCanonicalRow, readJsonColumn } from '../canonical-lines.ts';
import { toCutTitle, toSessionRecord } from '../reader-kit.ts';
import type { SessionDatabase } from '../session-places.ts';
import { newUnknown } from '../unread-lines.ts';
import { createPiReader } from './reader.ts';

/** Columns of a session's row that change with every event. */
const CHANGING = ['updated_at', 'transcript_updated_at', 'transcript_observed_at', 'status', 'ended_at'];

/**
 * `agents/<agent>/agent/openclaw-agent.sqlite`, where OpenClaw keeps sessions since version 2026.6: each line of the
 * former files is a row. Schema 23.
 * https://github.com/openclaw/openclaw docs/reference/database-schemas
 */
export const openclawDatabase: SessionDatabase = {
  sessions: [{ table: 'session_windows', id: 'session_id', changed: 'updated_at', without: CHANGING }],
  rows: [
    {
      ...{ table: 'transcript_events', owner: 'session_id', order: ['seq'], changed: 'seq' },
      packed: { column: 'event_zstd', into: 'event_json' },
    },
  ],
  unread: {
    schema_meta: 'the version of the schema',
    session_nodes: 'settings, names and counts of conversations',
    'session_*': 'indexes, members, drafts and states of sessions, and archives that are files as well',
    'transcript_*': 'indexes of the events',
    trajectory_runtime_events: 'what each run traced, which its session has as well',
    acp_parent_stream_events: 'what other programs were sent',
    'conversation*': 'messages to and from chat services, which the sessions have as well',
    'board_*': 'the dashboard',
    heartbeat_outcomes: 'results of timed runs',
    message_tool_run_outcomes: 'whether messages were sent',
    context_engine_turn_outbox: 'what waits for an extension',
    cache_entries: 'caches',
    'auth_*': 'accounts',
    'memory_*': 'memories and their index',
    'standing_intents*': 'memories and their index',
  },
};

/** Reads a session of OpenClaw's database, as `packages/collect` writes it. Its events are the lines of Pi's files. */
export function createOpenClawStoreReader(
  context: ReaderContext,
  state?: Parameters<typeof createPiReader>[1],
): Reader {
  const events = createPiReader(context, state);
  return {
    ...events,
    read(line, place) {
      if (line.recount === 'session') {
        const session = toSessionRecord({ sessionId: readText(line.session) });
        return { type: 'header', timestampMs: undefined, records: session === undefined ? [] : [session] };
      }
      const row = readCanonicalRow(line);
      const type = row?.table ?? 'row';
      if (row === undefined) return { type, timestampMs: undefined, records: [newUnknown(type, line)] };
      if (type === 'session_windows') {
        const title = readText(row.row.display_name);
        return { type, timestampMs: undefined, records: title === null ? [] : [toCutTitle('generated', title)] };
      }
      if (type !== 'transcript_events') return { type, timestampMs: undefined, records: [newUnknown(type, line)] };
      const event = readObject(readJsonColumn(row.row.event_json));
      if (event !== undefined) return events.read(event, place);
      context.report('invalid_json', 'error', 'An event of the session cannot be read');
      return { type, timestampMs: undefined, records: [] };
    },
  };
}
