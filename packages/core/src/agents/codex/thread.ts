import type { JsonObject } from '../../lines/json.ts';
import { isUniqueId, readObject, readText } from '../../records/fields.ts';
import { parseTimestampMs } from '../../records/timestamps.ts';

/** Lines copied when a thread is forked are all written together, without separate turns. */
const MAX_COPYING_MS = 1000;

/** The owner of the rollout, and how far it has been read. */
export interface ThreadState {
  /** Id of the thread that the file belongs to; null before its first `session_meta`. */
  id: string | null;
  /** The start of the thread, from its id or else from the line. */
  createdMs: number | undefined;
  /** Time of the first line. */
  firstLineMs: number | undefined;
  /** The thread began with another one's history, or was started by another one. */
  isForked: boolean;
  isSubagent: boolean;
  /** In numbered rollouts, the number of the first line of a sub-agent's own history. */
  startOrdinal: number | undefined;
  /** Id of the turn that the lines belong to; null if the version gives turns no ids. */
  turnId: string | null;
  turnMs: number | undefined;
}

export function createThreadState(): ThreadState {
  return {
    id: null,
    createdMs: undefined,
    firstLineMs: undefined,
    isForked: false,
    isSubagent: false,
    startOrdinal: undefined,
    turnId: null,
    turnMs: undefined,
  };
}

/** The thread that started this one, e.g. as its sub-agent or reviewer; null for a user's own. */
export function readParentThreadId(meta: JsonObject): string | null {
  const spawn = readObject(readObject(readObject(meta.source)?.subagent)?.thread_spawn);
  const isSubagent = meta.thread_source === 'subagent' || readObject(meta.source)?.subagent !== undefined;
  return readText(spawn?.parent_thread_id) ?? (isSubagent ? readText(meta.parent_thread_id) : null);
}

/** Takes in a `session_meta`; returns true if it belongs to the file's own thread. */
export function observeThread(state: ThreadState, meta: JsonObject, lineMs: number | undefined): boolean {
  const id = readText(meta.id);
  if (state.id !== null) {
    // A file's own header comes first; others were copied with their history.
    if (id !== state.id) state.isForked = true;
    return id === state.id;
  }
  state.id = id;
  state.createdMs = toUuidTimeMs(id) ?? parseTimestampMs(meta.timestamp) ?? lineMs;
  state.isSubagent = readParentThreadId(meta) !== null || readObject(meta.source)?.subagent !== undefined;
  state.isForked = state.isSubagent || readText(meta.forked_from_id) !== null;
  const start = meta.subagent_history_start_ordinal;
  state.startOrdinal = typeof start === 'number' ? start : undefined;
  return true;
}

/** Takes in the id of the turn that begins or continues; returns false if it has not changed. */
export function observeTurn(state: ThreadState, turnId: string | null): boolean {
  if (turnId === null || !isUniqueId(turnId) || turnId === state.turnId) return false;
  state.turnId = turnId;
  state.turnMs = toUuidTimeMs(turnId);
  return true;
}

/**
 * True if a line was copied from another thread's history when this one began. A turn older than the thread belongs to
 * another. If turns do not tell, the line number decides, or else its time. A copy either keeps the original's time or
 * is written with all the others as the file begins.
 */
export function isCopiedLine(state: ThreadState, lineMs: number | undefined, ordinal: number | undefined): boolean {
  const { createdMs, firstLineMs, startOrdinal, turnMs } = state;
  if (!state.isForked) return false;
  if (turnMs !== undefined && createdMs !== undefined) return turnMs < createdMs;
  if (startOrdinal !== undefined && ordinal !== undefined) return ordinal < startOrdinal;
  if (lineMs === undefined || firstLineMs === undefined) return false;
  return lineMs < (createdMs ?? firstLineMs) || lineMs <= firstLineMs + MAX_COPYING_MS;
}

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** The time of generation of a version 7 UUID; undefined for any other id. */
function toUuidTimeMs(id: string | null): number | undefined {
  return id !== null && UUID_V7.test(id) ? Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) : undefined;
}
