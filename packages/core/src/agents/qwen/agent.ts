import type { JsonObject } from '../../lines/json.ts';
import { isJsonObject, readObject, readText } from '../../records/fields.ts';
import type { Agent, ContentIdentity, PathIdentity } from '../agent.ts';
import { toSubagentSessionId } from '../subagent-session-id.ts';
import { toFileIdentity, toPathParts, toStem } from '../transcript-path.ts';
import { createQwenReader } from './reader.ts';
import { createQwenStreamReader } from './stream.ts';

/**
 * Qwen Code, with session files below `~/.qwen/projects/<project>/chats`, sub-agents' files beside them, and the output
 * of `qwen --output-format stream-json`.
 */
export const qwen: Agent = {
  id: 'qwen',
  label: 'Qwen Code',
  toResumeWords: (sessionId) => ['qwen', '--resume', sessionId],
  places: [
    {
      ...{ holds: 'transcripts', bases: ['.qwen'] },
      files: ['projects/*/chats/*.jsonl', 'tmp/*/chats/*.jsonl', 'projects/*/subagents/*/agent-*.jsonl'],
    },
  ],
  formats: [
    {
      id: 'qwen-session',
      kind: 'session',
      // The stream names no responses, and lacks what sub-agents use.
      outranks: ['qwen-stream-json'],
      // Claude Code uses the same envelope for different messages.
      detect: (line) => (isQwenLine(line) ? 1 : 0),
      identify(line, found) {
        found.sessionId ??= readText(line.sessionId) ?? undefined;
        identifyMessage(line, found);
      },
      createReader: createQwenReader,
    },
    {
      id: 'qwen-stream-json',
      kind: 'stream',
      detect: (line) => (isQwenStreamLine(line) ? 0.9 : 0),
      identify(line, found) {
        found.sessionId ??= readText(line.session_id) ?? undefined;
        found.hasMessage ||= line.type === 'user' || line.type === 'assistant';
      },
      createReader: createQwenStreamReader,
    },
  ],
  readPath: readQwenPath,
};

function isQwenLine(line: JsonObject): boolean {
  if (typeof line.uuid !== 'string' || typeof line.sessionId !== 'string') return false;
  return Array.isArray(readObject(line.message)?.parts) || (line.type === 'system' && isJsonObject(line.systemPayload));
}

/**
 * The stream has the shape of Claude Code's. Only Qwen's first line names its version, only its messages have the id of
 * their line, and only its usage has a total.
 */
function isQwenStreamLine(line: JsonObject): boolean {
  if (typeof line.session_id !== 'string') return false;
  const message = readObject(line.message);
  switch (line.type) {
    case 'system':
      return typeof line.qwen_code_version === 'string' || isJsonObject(line.data);
    case 'assistant':
      return typeof message?.id === 'string' && message.id === line.uuid;
    case 'result':
      return readObject(line.usage)?.total_tokens !== undefined && line.total_cost_usd === undefined;
    default:
      return false;
  }
}

function identifyMessage(line: JsonObject, found: ContentIdentity): void {
  if (found.hasMessage || (line.type !== 'user' && line.type !== 'assistant')) return;
  found.hasMessage = true;
  if (line.isSidechain === true) found.agentId = readText(line.agentId) ?? undefined;
}

/** `chats/<id>.jsonl`; sub-agents: `subagents/<parent's id>/agent-<id>.jsonl`. */
function readQwenPath(path: string): PathIdentity {
  const parts = toPathParts(path);
  const stem = toStem(path);
  const agentId = /^agent-(.+)$/.exec(stem)?.[1];
  const parentSessionId = parts.at(-3) === 'subagents' ? parts.at(-2) : undefined;
  if (parentSessionId === undefined || agentId === undefined) return toFileIdentity(path);
  const sessionId = toSubagentSessionId(parentSessionId, agentId);
  return { sessionId, isSubagent: true, parentSessionId, agentId, stem };
}
