import { isJsonObject, readText } from '../../records/fields.ts';
import type { Agent, PathIdentity } from '../agent.ts';
import { toCanonicalFormat } from '../canonical-lines.ts';
import { toSubagentSessionId } from '../subagent-session-id.ts';
import { toFileIdentity, toPathParts, toStem } from '../transcript-path.ts';
import { createCursorReader, createCursorStreamReader } from './reader.ts';
import { cursorBlobs } from './store.ts';
import { createCursorStoreReader } from './store-reader.ts';

const ROLES = new Set<unknown>(['user', 'assistant', 'system']);

/**
 * Cursor, with the CLI's store of each session, agent transcripts below
 * `~/.cursor/projects/<project>/agent-transcripts`, and the output of `cursor-agent --output-format stream-json`.
 */
export const cursor: Agent = {
  id: 'cursor',
  label: 'Cursor',
  places: [
    {
      holds: 'transcripts',
      bases: ['.cursor'],
      files: ['projects/*/agent-transcripts/*.jsonl', 'projects/*/agent-transcripts/*/**/*.jsonl'],
    },
    { holds: 'database', bases: ['.cursor'], files: ['chats/*/*/store.db'] },
  ],
  blobs: cursorBlobs,
  formats: [
    toCanonicalFormat('cursor', createCursorStoreReader, ['cursor-transcript']),
    {
      id: 'cursor-transcript',
      kind: 'session',
      detect(line, path) {
        const isMessage = ROLES.has(line.role) && isJsonObject(line.message) && !('type' in line) && !('uuid' in line);
        if (!isMessage) return 0;
        return path !== undefined && toPathParts(path).includes('agent-transcripts') ? 0.9 : 0.5;
      },
      identify(_line, found) {
        found.hasMessage = true;
      },
      createReader: createCursorReader,
    },
    {
      id: 'cursor-stream-json',
      kind: 'stream',
      // Claude Code's first line also names its tools.
      detect: (line) =>
        typeof line.session_id === 'string' && line.type === 'system' && line.subtype === 'init' && !('tools' in line)
          ? 0.55
          : 0,
      identify(line, found) {
        found.sessionId ??= readText(line.session_id) ?? undefined;
        found.hasMessage ||= line.type === 'user' || line.type === 'assistant';
      },
      createReader: createCursorStreamReader,
    },
  ],
  readPath: readCursorPath,
};

/** `agent-transcripts/<id>/<id>.jsonl`; sub-agents: `agent-transcripts/<id>/subagents/<sub-agent's id>.jsonl`. */
function readCursorPath(path: string): PathIdentity {
  const parts = toPathParts(path);
  const stem = toStem(path);
  const parentSessionId = parts.at(-2) === 'subagents' ? parts.at(-3) : undefined;
  if (parentSessionId === undefined) {
    return { ...toFileIdentity(path), sessionId: parts.includes('agent-transcripts') ? stem : undefined };
  }
  const sessionId = toSubagentSessionId(parentSessionId, stem);
  return { sessionId, isSubagent: true, parentSessionId, agentId: stem, stem };
}
