export interface CheckpointOptions {
  /** The number of newest checkpoints to keep for each session. Default 100. */
  maxPerSession?: number | undefined;
  /** The number of sessions to keep, by latest addition. Default 10,000. */
  maxSessions?: number | undefined;
}

/** Points that sessions can be rewound to, as uuids of user messages. */
export interface CheckpointRegistry {
  /** A known uuid keeps its place. Beyond the bound, the oldest is dropped. */
  addCheckpoint(sessionId: string, uuid: string): void;
  /** Oldest first; a copy. */
  getCheckpoints(sessionId: string): string[];
  clearCheckpoints(sessionId: string): void;
}

export function createCheckpointRegistry(options: CheckpointOptions = {}): CheckpointRegistry {
  const { maxPerSession = 100, maxSessions = 10_000 } = options;
  const sessions = new Map<string, Set<string>>();
  return {
    addCheckpoint(sessionId, uuid) {
      const checkpoints = sessions.get(sessionId) ?? new Set();
      sessions.delete(sessionId);
      sessions.set(sessionId, checkpoints.add(uuid));
      dropOldest(checkpoints, maxPerSession);
      dropOldest(sessions, maxSessions);
    },
    getCheckpoints: (sessionId) => [...(sessions.get(sessionId) ?? [])],
    clearCheckpoints(sessionId) {
      sessions.delete(sessionId);
    },
  };
}

function dropOldest(entries: Map<string, unknown> | Set<string>, maxSize: number): void {
  for (const key of entries.keys()) {
    if (entries.size <= maxSize) return;
    entries.delete(key);
  }
}
