import type { WorkspacePrices } from '@recount/contract';

/** The content of `recount status`; null if unknown from here. */
export interface Status {
  running: { pid: number | null; url: string | null; is_ready: boolean } | null;
  data_directory: string | null;
  /** Why the raw store cannot be written, with what to do; null if it can be, or if its place is unknown. */
  raw_store_fault: string | null;
  transcripts: Record<string, number>;
  live: { running_streams: number };
  search: { waiting_sessions: number; failing_sessions: number };
  /** Bytes. The database's are for the whole installation, excluding the write-ahead log. */
  disk: {
    database_bytes: number | null;
    search_bytes: number | null;
    wal_bytes: number | null;
    raw_bytes: number | null;
    spool_bytes: number;
  };
  /** The price lists in use; null if the server is too old to say. */
  prices: {
    version: string;
    /** Date of the newest list, ISO 8601. */
    date: string;
    file: Pick<NonNullable<WorkspacePrices['price_file']>, 'location' | 'date' | 'invalid_count' | 'error'> | null;
  } | null;
  last_failures: { transcript_id: string; path: string | null; reason: string | null; created_at: string }[];
}

export const MAX_FAILURES = 5;
