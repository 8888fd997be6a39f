import { basename, join } from 'node:path';
import { type Machine, toBaseFolders, toNameTest } from '@recount/collect';
import type { Attachment, Transcript } from '@recount/contract';
import { AGENTS, toAttachmentKind } from '@recount/core';
import { CliError } from '../terminal/cli-error.ts';

/** One file cannot be restored; others may be. */
export class NotRestoredError extends CliError {}

/**
 * The place where this machine's agent looks for a transcript that was at `path` on another one. The part after the
 * agent's folder is the same, except for Claude Code's name for a project's folder. Throws NotRestoredError if it
 * cannot be determined.
 */
export function toRestoredPath(
  machine: Machine,
  { agent: id, path, session_id: sessionId }: Pick<Transcript, 'agent' | 'path' | 'session_id'>,
  { project, folder }: { project?: string | undefined; folder?: string | undefined },
): string {
  const parts = (path ?? '').replace(/\.(zst|gz)$/, '').split(/[\\/]/);
  for (const place of AGENTS.find((agent) => agent.id === id)?.places ?? []) {
    if (place.holds !== 'transcripts') continue;
    for (const pattern of place.files) {
      const start = parts.lastIndexOf(pattern.split('/')[0] ?? '');
      const [base] = folder === undefined ? toBaseFolders(place, machine) : [folder];
      if (start < 0 || base === undefined) continue;
      const rest = parts.slice(start);
      // A session in a database beside the files is not one of these.
      if (!toNameTest(basename(pattern.replace(/\.zst$/, '')))(rest.at(-1) ?? '')) continue;
      // The path comes from an uploader, so it must not lead elsewhere.
      if (rest.some((part) => part === '' || part === '.' || part === '..' || part.includes('\0'))) continue;
      if (project !== undefined && id === 'claude-code') rest[1] = project.replaceAll(/[^A-Za-z0-9]/g, '-');
      return join(base, ...rest);
    }
  }
  if (folder !== undefined) return join(folder, `${basename(sessionId).replaceAll(/[^\w.-]/g, '_')}.jsonl`);
  throw new NotRestoredError(`recount does not know where ${id} would look for ${sessionId}: name a folder with --to.`);
}

/**
 * The place where this machine's agent looks for a file in the folder of a session whose transcript is at
 * `transcriptPath`. Undefined if the agent keeps no such file. The path comes from an uploader, and must not lead
 * elsewhere.
 */
export function toRestoredAttachmentPath(
  transcriptPath: string,
  { agent, path }: Pick<Attachment, 'agent' | 'path'>,
): string | undefined {
  if (!transcriptPath.endsWith('.jsonl') || toAttachmentKind(agent, path) === undefined) return undefined;
  return join(transcriptPath.slice(0, -'.jsonl'.length), ...path.split('/'));
}
