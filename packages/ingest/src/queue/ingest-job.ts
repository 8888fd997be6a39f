/** Names the transcript to ingest; everything else is read from its row. */
export interface IngestJob {
  workspaceId: string;
  transcriptId: string;
}

/** A job as the queue stores it. */
export interface StoredJob extends IngestJob {
  /** How often it was put off because of an outage of its own. Default 0. */
  outageCount?: number;
}
