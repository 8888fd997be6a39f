import type { PathIdentity } from './agent.ts';

const ENDINGS = /(\.(jsonl|ndjson|json|txt|log))?(\.(gz|zst|br))?$/i;

/** The parts of a path, which need not exist and may use `/` or `\` as separator. */
export function toPathParts(path: string): string[] {
  return path.split(/[\\/]+/).filter((part) => part !== '' && part !== '.');
}

/** A file's name without its extensions, including those of compression. */
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
