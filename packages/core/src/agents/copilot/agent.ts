import { isJsonObject, readObject, readText } from '../../records/fields.ts';
import type { Agent } from '../agent.ts';
import { toCanonicalFormat } from '../canonical-lines.ts';
import { createCopilotReader } from './reader.ts';
import { createCopilotStoreReader } from './store-reader.ts';
import { copilotTelemetry } from './telemetry.ts';

/** GitHub Copilot CLI: `events.jsonl` of a session, and the store of all sessions. */
export const copilot: Agent = {
  id: 'copilot',
  label: 'Copilot CLI',
  telemetry: copilotTelemetry,
  toResumeWords: (sessionId) => ['copilot', `--resume=${sessionId}`],
  places: [
    {
      holds: 'transcripts',
      variable: 'COPILOT_HOME',
      bases: ['.copilot'],
      files: ['session-state/*.jsonl', 'session-state/*/events.jsonl', 'history-session-state/*.json'],
    },
    { holds: 'database', variable: 'COPILOT_HOME', bases: ['.copilot'], files: ['session-store.db'] },
  ],
  databases: [
    {
      sessions: [
        {
          table: 'sessions',
          id: 'id',
          changed: 'updated_at',
          without: ['updated_at', 'summary', 'summary_count'],
          summedIn: 'assistant_usage_events',
        },
      ],
      rows: [
        { table: 'assistant_usage_events', owner: 'session_id', order: ['created_at', 'id'], changed: 'id' },
        { table: 'turns', owner: 'session_id', order: ['timestamp', 'turn_index'], changed: 'timestamp' },
      ],
      log: {
        ...{
          database: 'session-store.db',
          file: 'session-state/*/events.jsonl',
          time: 'timestamp',
          replaces: ['turns'],
        },
      },
      has: ['assistant_usage_events.session_id'],
      unread: {
        checkpoints: 'summaries of compactions, which the log has',
        dynamic_context_items: 'notes that Copilot keeps about repositories',
        'forge_*': 'steps of sessions that Copilot derives skills from',
        schema_version: 'which migrations have been applied',
        session_files: 'which files a session touched, which its tool calls show',
        session_refs: 'issues and pull requests of a session',
      },
    },
  ],
  formats: [
    toCanonicalFormat('copilot', createCopilotStoreReader, ['copilot-cli']),
    {
      id: 'copilot-cli',
      kind: 'session',
      detect: ({ type, data }) =>
        typeof type === 'string' && /^(session|user|assistant|tool|hook)\./.test(type) && isJsonObject(data) ? 0.8 : 0,
      identify(line, found) {
        if (line.type === 'session.start') found.sessionId ??= readText(readObject(line.data)?.sessionId) ?? undefined;
        found.hasMessage ||= line.type === 'user.message' || line.type === 'assistant.message';
      },
      createReader: createCopilotReader,
    },
  ],
};
