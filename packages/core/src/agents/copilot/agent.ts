import { isJsonObject, readObject, readText } from '../../records/fields.ts';
import type { Agent } from '../agent.ts';
import { createCopilotReader } from './reader.ts';

/** GitHub Copilot CLI: `events.jsonl` of a session. */
export const copilot: Agent = {
  id: 'copilot',
  label: 'Copilot CLI',
  places: [
    {
      holds: 'transcripts',
      variable: 'COPILOT_HOME',
      bases: ['.copilot'],
      files: ['session-state/*.jsonl', 'session-state/*/events.jsonl', 'history-session-state/*.json'],
    },
    { holds: 'database', variable: 'COPILOT_HOME', bases: ['.copilot'], files: ['session-store.db'] },
  ],
  formats: [
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
