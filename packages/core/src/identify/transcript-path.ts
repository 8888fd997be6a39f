/** What the path of a transcript tells, by Claude Code's layout below `~/.claude/projects`. */
export interface TranscriptPath {
  /** Present where the file is named by a UUID, or lies in the folder of its parent session. */
  sessionId: string | undefined;
  isSubagent: boolean;
  /** Present where the path has the parent's folder: `<parent>/subagents/agent-<id>.jsonl`. */
  parentSessionId: string | undefined;
  agentId: string | undefined;
  /** File name without its ending. */
  stem: string;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const ENDINGS = /(\.(jsonl|ndjson|json|txt|log))?(\.(gz|zst|br))?$/i;

/**
 * Reads a path, which need not exist and may have `/` or `\` between its parts:
 * `<session>.jsonl`, `<session>/subagents/[workflows/wf_x/]agent-<id>.jsonl`, `<session>/subagents/workflows/wf_x/journal.jsonl`,
 * and the older flat `agent-<id>.jsonl`.
 */
export function parseTranscriptPath(path: string): TranscriptPath {
  const parts = path.split(/[\\/]+/).filter((part) => part !== '' && part !== '.');
  const stem = (parts.at(-1) ?? '').replace(ENDINGS, '');
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

/** A sub-agent's transcript is a session of its own; agent ids alone are too short to be unique. */
export function toSubagentSessionId(parentSessionId: string, agentId: string): string {
  return `${parentSessionId}:${agentId}`;
}
