import type { AttachmentIdentity, AttachmentKind, AttachmentReference } from '../agent.ts';
import { toPathParts } from '../transcript-path.ts';
import { UUID } from './transcript-path.ts';

/** Files other than transcripts that Claude Code keeps in a session's folder, by their path in that folder. */
const KINDS: readonly (readonly [RegExp, AttachmentKind])[] = [
  [/^tool-results\/./, 'tool_result'],
  [/^subagents\/(?:.+\/)?[^/]+\.meta\.json$/, 'subagent'],
  [/^subagents\/workflows\/[^/]+\/journal\.jsonl$/, 'workflow'],
  [/^workflows\/./, 'workflow'],
];
const RESULTS_FOLDER = 'tool-results';
/**
 * Both sentences precede the beginning of the result that they replace: `Full output saved to: PATH`, and for tools of
 * MCP servers `Output has been saved to PATH.`
 */
const SAVED_TO = /(?:Full output saved to:|[Oo]utput has been saved to) ([^\n]{1,1500})/;
const MAX_LOOKED_AT = 4096;

/**
 * `…/projects/<project>/<session>/tool-results/<id>.txt` and the like. Paths in an archive or a bucket may be relative
 * to a lower folder: `<session>/tool-results/<id>.txt` matches after any prefix.
 */
export function readClaudeCodeAttachmentPath(path: string): AttachmentIdentity | undefined {
  const parts = toPathParts(path);
  const readAt = (index: number): AttachmentIdentity | undefined => {
    const [sessionId, ...inSession] = parts.slice(index);
    const kind = toClaudeCodeAttachmentKind(inSession.join('/'));
    return sessionId !== undefined && kind !== undefined ? { sessionId, path: inSession.join('/'), kind } : undefined;
  };
  // A parent folder may have the same name, so take the first one that has a session's files in the right place.
  for (const [index, part] of parts.entries()) {
    const found = part === 'projects' ? readAt(index + 2) : undefined;
    if (found !== undefined) return found;
  }
  // Any other folder name is not a session's.
  const index = parts.findIndex((part) => UUID.test(part));
  return index === -1 ? undefined : readAt(index);
}

export function toClaudeCodeAttachmentKind(path: string): AttachmentKind | undefined {
  return KINDS.find(([pattern]) => pattern.test(path))?.[1];
}

/**
 * The path in a tool result where its full text was saved. It may name another session (the parent, or the forked one).
 */
export function findClaudeCodeAttachment(text: string): AttachmentReference | undefined {
  const parts = toPathParts(SAVED_TO.exec(text.slice(0, MAX_LOOKED_AT))?.[1] ?? '');
  const index = parts.lastIndexOf(RESULTS_FOLDER);
  const sessionId = parts[index - 1];
  // The sentence may end right after the path.
  const path = parts
    .slice(index)
    .join('/')
    .replace(/\.?(?:\s.*)?$/, '');
  const isReference = index > 0 && sessionId !== undefined && toClaudeCodeAttachmentKind(path) === 'tool_result';
  return isReference ? { sessionId, path } : undefined;
}
