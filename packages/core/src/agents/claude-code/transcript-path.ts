import type { PathIdentity } from '../agent.ts';
import { toSubagentSessionId } from '../subagent-session-id.ts';
import { toPathParts, toStem } from '../transcript-path.ts';

/** A session's id. */
export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/**
 * Reads a path, which need not exist and may use `/` or `\` as separator: `<session>.jsonl`,
 * `<session>/subagents/[workflows/wf_x/]agent-<id>.jsonl`, `<session>/subagents/workflows/wf_x/journal.jsonl`, and the
 * older flat `agent-<id>.jsonl`.
 */
export function readClaudeCodePath(path: string): PathIdentity {
  const parts = toPathParts(path);
  const stem = toStem(path);
  const subagentsIndex = parts.lastIndexOf('subagents', parts.length - 2);
  const parentSessionId = subagentsIndex > 0 ? parts[subagentsIndex - 1] : undefined;
  const agentId = /^agent-(.+)$/.exec(stem)?.[1];
  if (parentSessionId !== undefined) {
    const folders = parts.slice(subagentsIndex + 1, -1).filter((part) => part !== 'workflows');
    const id = agentId ?? [...folders, stem].join('/');
    return {
      sessionId: toSubagentSessionId(parentSessionId, id),
      isSubagent: true,
      parentSessionId,
      agentId: id,
      stem,
    };
  }
  if (agentId !== undefined) return { sessionId: undefined, isSubagent: true, parentSessionId, agentId, stem };
  const sessionId = UUID.test(stem) ? stem.toLowerCase() : undefined;
  return { sessionId, isSubagent: false, parentSessionId, agentId, stem };
}
