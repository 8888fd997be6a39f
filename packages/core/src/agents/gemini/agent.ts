import type { Agent } from '../agent.ts';

/** Gemini CLI: the output of `gemini --output-format stream-json`. Recognised, not read yet. */
export const gemini: Agent = {
  id: 'gemini',
  label: 'Gemini CLI',
  places: [{ holds: 'transcripts', bases: ['.gemini'], files: ['tmp/*/chats/*.json', 'tmp/*/chats/*.jsonl'] }],
  formats: [
    {
      id: 'gemini-stream-json',
      kind: 'stream',
      detect: (line) => (line.type === 'init' && typeof line.session_id === 'string' && 'model' in line ? 0.7 : 0),
    },
  ],
};
