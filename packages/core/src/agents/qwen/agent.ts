import { isJsonObject, readObject, readText } from '../../records/fields.ts';
import type { JsonObject } from '../../rows.ts';
import type { Agent } from '../agent.ts';
import { createQwenReader } from './reader.ts';

/** Qwen Code: session files below `~/.qwen/projects/<project>/chats`. */
export const qwen: Agent = {
  id: 'qwen',
  label: 'Qwen Code',
  places: [{ holds: 'transcripts', bases: ['.qwen'], files: ['projects/*/chats/*.jsonl', 'tmp/*/chats/*.jsonl'] }],
  formats: [
    {
      id: 'qwen-session',
      kind: 'session',
      // Claude Code uses the same envelope for different messages.
      detect: (line) => (isQwenLine(line) ? 1 : 0),
      identify(line, found) {
        found.sessionId ??= readText(line.sessionId) ?? undefined;
        found.hasMessage ||= line.type === 'user' || line.type === 'assistant';
      },
      createReader: createQwenReader,
    },
  ],
};

function isQwenLine(line: JsonObject): boolean {
  if (typeof line.uuid !== 'string' || typeof line.sessionId !== 'string') return false;
  return Array.isArray(readObject(line.message)?.parts) || (line.type === 'system' && isJsonObject(line.systemPayload));
}
