/** Names the transcript to ingest; everything else is read from its row. */
export interface IngestJob {
  workspaceId: string;
  transcriptId: string;
}

/** A job as the queue stores it. */
export interface StoredJob extends IngestJob {
  /** Number of outages that put it off while others continued. Default 0. */
  outageCount?: number;
}
