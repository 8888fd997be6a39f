import type { DatabaseFinding } from './check-database-files.ts';
import type { OrphanFinding } from './check-orphans.ts';
import type { StreamFinding } from './check-streams.ts';
import type { TranscriptFinding } from './check-transcripts.ts';

/** A disagreement between raw store, database and queue. */
export type Finding =
  | OrphanFinding
  | TranscriptFinding
  /** A raw object that somebody deleted, and that is still there or was not seen to be gone. */
  | { kind: 'unfinished-deletion'; objectKey: string; fixed: boolean }
  /** Sessions that wait to be indexed for search, some of them for long, or after a failure. */
  | { kind: 'search-behind'; waitingSessions: number; failingSessions: number; fixed: false }
  | StreamFinding
  | DatabaseFinding
  /** Objects that had no description of what their bytes do not tell, as recount 0.3 stored them. */
  | { kind: 'undescribed-objects'; count: number; fixed: true }
  /** Remains of uploads that were cut off, which are no objects yet. */
  | { kind: 'stale-uploads'; count: number; fixed: true };
