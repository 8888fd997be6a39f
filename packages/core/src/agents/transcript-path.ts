import type { PathIdentity } from './agent.ts';

/**
 * The end of the name of a session that OpenClaw reset, deleted or took into its database. It renames `<id>.jsonl` to
 * `<id>.jsonl.reset.2026-05-07T01-26-08.695Z`. https://github.com/openclaw/openclaw src/config/sessions/artifacts.ts
 */
const RENAMED = '\\.(?:(?:reset|deleted)\\.\\d[\\dT:.-]*Z?|imported-\\d+(?:\\.\\d+)?)';
const ENDINGS = new RegExp(`(\\.(jsonl|ndjson|json|txt|log)(${RENAMED})?)?(\\.(gz|zst|br))?$`, 'i');
const RENAMED_ENDING = new RegExp(`\\.jsonl${RENAMED}(\\.(gz|zst|br))?$`, 'i');

/** The parts of a path, which need not exist and may use `/` or `\` as separator. */
export function toPathParts(path: string): string[] {
  return path.split(/[\\/]+/).filter((part) => part !== '' && part !== '.');
}

/** True if OpenClaw renamed the file when it reset, deleted or imported the session. */
export function isRenamedTranscript(path: string): boolean {
  return RENAMED_ENDING.test(path);
}

/** A file's name without its extensions, including extensions of compression and of sessions that were reset. */
export function toStem(path: string): string {
  return (toPathParts(path).at(-1) ?? '').replace(ENDINGS, '');
}

/** Identity from the file's name alone, for paths that fit no agent's layout. */
export function toFileIdentity(path: string): PathIdentity {
  return {
    sessionId: undefined,
    isSubagent: false,
    parentSessionId: undefined,
    agentId: undefined,
    stem: toStem(path),
  };
}
