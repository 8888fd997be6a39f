import type { AttachmentIdentity, AttachmentKind, AttachmentReference } from './agent.ts';
import { AGENTS } from './all-agents.ts';

const MAX_PATH_LENGTH = 1024;
const MAX_PART_LENGTH = 255;
/** Characters that Windows does not allow in names, and that terminals obey. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
const UNSAFE = /[\u0000-\u001f\u007f\\:*?"<>|]/;

/** An attachment with the agent that keeps it. */
export type KnownAttachment = AttachmentIdentity & { agent: string };

/**
 * Which session's attachment a file at a path on somebody's disk is, by the layouts of all agents; undefined if it is
 * none.
 */
export function identifyAttachment(path: string): KnownAttachment | undefined {
  for (const { id: agent, attachments } of AGENTS) {
    const found = attachments?.readPath(path);
    if (found !== undefined && isSafeAttachmentPath(found.path)) return { agent, ...found };
  }
  return undefined;
}

/**
 * The kind of the file at a path in a session's folder; undefined for paths where the agent keeps no file, and for
 * paths that would leave the folder.
 */
export function toAttachmentKind(agentId: string, path: string): AttachmentKind | undefined {
  if (!isSafeAttachmentPath(path)) return undefined;
  return AGENTS.find(({ id }) => id === agentId)?.attachments?.toKind(path);
}

/** The attachment that a tool result's text points to, in a session of the agent. The text is untrusted. */
export function findAttachmentReference(agentId: string, text: string): AttachmentReference | undefined {
  const found = AGENTS.find(({ id }) => id === agentId)?.attachments?.findReference(text);
  return found !== undefined && isSafeAttachmentPath(found.path) ? found : undefined;
}

function isSafeAttachmentPath(path: string): boolean {
  if (path.length > MAX_PATH_LENGTH || UNSAFE.test(path) || !path.isWellFormed()) return false;
  return path
    .split('/')
    .every((part) => part !== '' && part.length <= MAX_PART_LENGTH && !/^\.+$/.test(part) && !/[. ]$/.test(part));
}
