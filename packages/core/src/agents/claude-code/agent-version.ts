import type { JsonObject } from '../../lines/json.ts';

/** Lines of later major versions are read on a best-effort basis. */
export const NEWEST_KNOWN_MAJOR_VERSION = 2;

export interface AgentVersionState {
  /** The version on the last line that had one. */
  version: string | undefined;
  isTooNew: boolean;
}

/** True if the line is the first one of a version later than recount knows. */
export function isFirstTooNew(line: JsonObject, state: AgentVersionState): boolean {
  const version = line.version ?? line.claude_code_version;
  if (version === undefined || version === state.version || typeof version !== 'string') return false;
  state.version = version.slice(0, 64);
  if (state.isTooNew || Number.parseInt(version, 10) <= NEWEST_KNOWN_MAJOR_VERSION) return false;
  state.isTooNew = true;
  return true;
}
