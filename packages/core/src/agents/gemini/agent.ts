import type { JsonObject } from '../../lines/json.ts';
import { isJsonObject, readObject, readText } from '../../records/fields.ts';
import type { Agent, ContentIdentity, PathIdentity } from '../agent.ts';
import { toSubagentSessionId } from '../subagent-session-id.ts';
import { toFileIdentity, toPathParts, toStem } from '../transcript-path.ts';
import { createGeminiReader } from './reader.ts';
import { createGeminiStreamReader } from './stream.ts';
import { geminiTelemetry } from './telemetry.ts';

const MESSAGE_TYPES = new Set<unknown>(['user', 'gemini', 'info', 'error', 'warning']);

const isHeader = ({ sessionId, projectHash }: JsonObject): boolean =>
  typeof sessionId === 'string' && typeof projectHash === 'string';

function identify(line: JsonObject, found: ContentIdentity): void {
  found.sessionId ??= readText(line.sessionId) ?? undefined;
  // Sub-agents have separate sessions, which do not name their parent.
  if (line.kind === 'subagent') found.isSubagent = true;
  found.hasMessage ||= isJsonObject(line.messages) || MESSAGE_TYPES.has(line.type);
}

/**
 * The stream states the usage of the whole run, which cannot be told apart from the usage of the session's messages.
 */
const outranks = ['gemini-stream-json'];

/**
 * Gemini CLI: session files below `~/.gemini/tmp/<project>/chats` (documents before version 0.40, lines since), and the
 * output of `gemini --output-format stream-json`.
 */
export const gemini: Agent = {
  id: 'gemini',
  label: 'Gemini CLI',
  telemetry: geminiTelemetry,
  toResumeWords: (sessionId) => ['gemini', '--resume', sessionId],
  places: [
    {
      ...{ holds: 'transcripts', bases: ['.gemini'] },
      files: ['tmp/*/chats/*.json', 'tmp/*/chats/*.jsonl', 'tmp/*/chats/*/*.jsonl'],
    },
  ],
  formats: [
    {
      id: 'gemini-session',
      kind: 'session',
      outranks,
      detect: (line) => (isHeader(line) ? 1 : 0),
      identify,
      createReader: createGeminiReader,
    },
    {
      id: 'gemini-document',
      kind: 'session',
      outranks,
      layout: 'document',
      detect(outline) {
        const first = readObject(outline.messages);
        if (isHeader(outline)) return 1;
        return typeof outline.sessionId === 'string' && MESSAGE_TYPES.has(first?.type) ? 0.8 : 0;
      },
      identify,
      createReader: createGeminiReader,
    },
    {
      id: 'gemini-stream-json',
      kind: 'stream',
      detect: (line) => (line.type === 'init' && typeof line.session_id === 'string' && 'model' in line ? 0.7 : 0),
      identify(line, found) {
        found.sessionId ??= readText(line.session_id) ?? undefined;
        found.hasMessage ||= line.type === 'message';
      },
      createReader: createGeminiStreamReader,
    },
  ],
  readPath: readGeminiPath,
};

/** `chats/session-<time>-<id>.jsonl`; sub-agents: `chats/<parent's id>/<id>.jsonl`. */
function readGeminiPath(path: string): PathIdentity {
  const parts = toPathParts(path);
  const parentSessionId = parts.at(-3) === 'chats' ? parts.at(-2) : undefined;
  if (parentSessionId === undefined) return toFileIdentity(path);
  const stem = toStem(path);
  const sessionId = toSubagentSessionId(parentSessionId, stem);
  return { sessionId, isSubagent: true, parentSessionId, agentId: stem, stem };
}
