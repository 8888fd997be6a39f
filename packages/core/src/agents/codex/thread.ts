import { readObject, readText } from '../../records/fields.ts';
import { parseTimestampMs } from '../../records/timestamps.ts';
import type { JsonObject } from '../../rows.ts';
import { isUniqueId } from '../../usage/open-response.ts';

/** Lines that were copied when a thread was forked are written at once, without turns of their own. */
const MAX_COPYING_MS = 1000;

/** Whose rollout it is, and where its reader stands. */
export interface ThreadState {
  /** Id of the thread that the file belongs to; null before its first `session_meta`. */
  id: string | null;
  /** When the thread began: its id says so, else the line. */
  createdMs: number | undefined;
  /** Time of the first line. */
  firstLineMs: number | undefined;
  /** The thread began with another's history, or was started by another. */
  isForked: boolean;
  isSubagent: boolean;
  /** In numbered rollouts: the number of the first line of a sub-agent's own history. */
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

/** The thread that started this one as its sub-agent, reviewer or the like; null for a user's own. */
export function readParentThreadId(meta: JsonObject): string | null {
  const spawn = readObject(readObject(readObject(meta.source)?.subagent)?.thread_spawn);
  const isSubagent = meta.thread_source === 'subagent' || readObject(meta.source)?.subagent !== undefined;
  return readText(spawn?.parent_thread_id) ?? (isSubagent ? readText(meta.parent_thread_id) : null);
}

/** Takes in a `session_meta`, and returns whether it is that of the file's own thread. */
export function observeThread(state: ThreadState, meta: JsonObject, lineMs: number | undefined): boolean {
  const id = readText(meta.id);
  if (state.id !== null) {
    // A file has its own header first; those of others came with their history.
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

/** Takes in the id of the turn that begins or goes on; false if it is the same as before. */
export function observeTurn(state: ThreadState, turnId: string | null): boolean {
  if (turnId === null || !isUniqueId(turnId) || turnId === state.turnId) return false;
  state.turnId = turnId;
  state.turnMs = toUuidTimeMs(turnId);
  return true;
}

/**
 * Whether a line is of another thread's history, copied when this one began. A turn that is older than the thread is
 * another's; where turns do not tell, the line's number, and else its time: a copy keeps the original's, or is written
 * with all others as the file begins.
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

/** When a UUID of version 7 was made; undefined for any other id. */
function toUuidTimeMs(id: string | null): number | undefined {
  return id !== null && UUID_V7.test(id) ? Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) : undefined;
}
