import { isJsonObject, readObject } from '../../records/fields.ts';
import type { Agent, PathIdentity } from '../agent.ts';
import { toSubagentSessionId } from '../subagent-session-id.ts';
import { toFileIdentity, toPathParts, toStem } from '../transcript-path.ts';
import { createKimiReader } from './reader.ts';

/** Kimi CLI and its successor Kimi Code: `wire.jsonl` of a session. Only its folder names the session; no line does. */
export const kimi: Agent = {
  id: 'kimi',
  label: 'Kimi',
  places: [
    {
      holds: 'transcripts',
      bases: ['.kimi'],
      files: ['sessions/*/*/wire.jsonl', 'sessions/*/*/subagents/*/wire.jsonl'],
    },
    { holds: 'transcripts', bases: ['.kimi-code'], files: ['sessions/*/*/agents/*/wire.jsonl'] },
  ],
  formats: [
    {
      id: 'kimi-wire',
      kind: 'session',
      detect(line) {
        if (line.type === 'metadata' && typeof line.protocol_version === 'string') return 0.9;
        const message = readObject(line.message);
        return typeof message?.type === 'string' && isJsonObject(message.payload) && 'timestamp' in line ? 0.7 : 0;
      },
      identify(line, found) {
        found.hasMessage ||= line.type === 'turn.prompt' || isJsonObject(line.message);
      },
      createReader: createKimiReader,
    },
  ],
  readPath: readKimiPath,
};

/**
 * `<session>/wire.jsonl` and `<session>/subagents/<sub-agent>/wire.jsonl`; for Kimi Code
 * `session_<session>/agents/<main, or a sub-agent's name>/wire.jsonl`.
 */
function readKimiPath(path: string): PathIdentity {
  const parts = toPathParts(path);
  const stem = toStem(path);
  if (stem !== 'wire' || parts.length < 2) return toFileIdentity(path);
  const folder = parts.at(-2);
  const isOfAgent = parts.at(-3) === 'agents' || parts.at(-3) === 'subagents';
  const parent = isOfAgent ? parts.at(-4)?.replace(/^session_/, '') : undefined;
  if (parent === undefined || folder === 'main') {
    return { ...toFileIdentity(path), sessionId: isOfAgent ? parent : folder };
  }
  const sessionId = toSubagentSessionId(parent, folder ?? '');
  return { sessionId, isSubagent: true, parentSessionId: parent, agentId: folder, stem };
}
