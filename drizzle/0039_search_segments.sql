-- Search finds texts by segments that are written with their blocks, instead of documents that are made after them.
DROP TABLE recount.search_documents, recount.search_index_state;
--> statement-breakpoint
CREATE TABLE recount.search_postings (
  workspace_id text COLLATE "C" NOT NULL,
  shard smallint NOT NULL,
  segment_id text COLLATE "C" NOT NULL,
  postings bytea NOT NULL,
  CONSTRAINT search_postings_pk PRIMARY KEY (workspace_id, shard, segment_id)
);
--> statement-breakpoint
CREATE TABLE recount.search_segment_row_sets (
  workspace_id text COLLATE "C" NOT NULL,
  segment_id text COLLATE "C" NOT NULL,
  row_set_id text COLLATE "C" NOT NULL,
  document_count integer NOT NULL,
  removed_at timestamp (3) with time zone,
  CONSTRAINT search_segment_row_sets_pk PRIMARY KEY (workspace_id, segment_id, row_set_id)
);
--> statement-breakpoint
CREATE TABLE recount.search_segments (
  workspace_id text COLLATE "C" NOT NULL,
  segment_id text COLLATE "C" NOT NULL,
  document_count integer NOT NULL,
  posting_count integer NOT NULL,
  latest_at timestamp (3) with time zone,
  places bytea NOT NULL,
  keys bytea NOT NULL,
  CONSTRAINT search_segments_pk PRIMARY KEY (workspace_id, segment_id)
);
--> statement-breakpoint
CREATE TABLE recount.search_waiting (
  workspace_id text COLLATE "C" NOT NULL,
  row_set_id text COLLATE "C" NOT NULL,
  session_id text COLLATE "C" NOT NULL,
  failure_count integer DEFAULT 0 NOT NULL,
  waiting_since timestamp (3) with time zone DEFAULT now() NOT NULL,
  next_attempt_at timestamp (3) with time zone DEFAULT now() NOT NULL,
  CONSTRAINT search_waiting_pk PRIMARY KEY (workspace_id, row_set_id)
);
--> statement-breakpoint
CREATE INDEX search_segment_row_sets_row_set ON recount.search_segment_row_sets (workspace_id, row_set_id);
--> statement-breakpoint
CREATE INDEX search_segment_row_sets_removed ON recount.search_segment_row_sets (workspace_id, segment_id, row_set_id) WHERE removed_at IS NOT NULL;
--> statement-breakpoint
CREATE INDEX search_waiting_next ON recount.search_waiting (next_attempt_at);
--> statement-breakpoint
ALTER TABLE recount.search_segments ALTER COLUMN places SET STORAGE EXTERNAL, ALTER COLUMN keys SET STORAGE EXTERNAL;
--> statement-breakpoint
ALTER TABLE recount.search_postings ALTER COLUMN postings SET STORAGE EXTERNAL;
--> statement-breakpoint
-- Workers make the segments of what is stored; search finds it from then on.
INSERT INTO recount.search_waiting (workspace_id, row_set_id, session_id)
SELECT workspace_id, row_set_id, session_id FROM recount.transcripts
WHERE row_set_id IS NOT NULL AND rows_deleted_at IS NULL AND content_block_count > 0;
--> statement-breakpoint
COMMENT ON TABLE recount.search_segments IS 'Up to 4,096 texts of content blocks, by which search finds them. Written with the blocks; merged, and made again without what was removed, but never changed.';
--> statement-breakpoint
COMMENT ON COLUMN recount.search_segments.workspace_id IS 'Workspace that the row belongs to.';
--> statement-breakpoint
COMMENT ON COLUMN recount.search_segments.segment_id IS 'The segment.';
--> statement-breakpoint
COMMENT ON COLUMN recount.search_segments.document_count IS 'Number of its texts.';
--> statement-breakpoint
COMMENT ON COLUMN recount.search_segments.posting_count IS 'Number of its postings: pairs of a text and a token.';
--> statement-breakpoint
COMMENT ON COLUMN recount.search_segments.latest_at IS 'No text is of a later message; null where that is unknown.';
--> statement-breakpoint
COMMENT ON COLUMN recount.search_segments.places IS 'Time, row set and role of each text, compressed with zstd.';
--> statement-breakpoint
COMMENT ON COLUMN recount.search_segments.keys IS 'Row sets, and message, block and length of each text, compressed with zstd.';
--> statement-breakpoint
COMMENT ON TABLE recount.search_postings IS 'Which texts of a segment have a token: three letters or digits in a row, a word, or the beginning of one.';
--> statement-breakpoint
COMMENT ON COLUMN recount.search_postings.workspace_id IS 'Workspace that the row belongs to.';
--> statement-breakpoint
COMMENT ON COLUMN recount.search_postings.shard IS 'Number of shards of the segment (1, 8, 64 or 512), plus the place of this one among them. Each has a range of tokens.';
--> statement-breakpoint
COMMENT ON COLUMN recount.search_postings.segment_id IS 'The segment.';
--> statement-breakpoint
COMMENT ON COLUMN recount.search_postings.postings IS 'Lists of texts by token, compressed with zstd.';
--> statement-breakpoint
COMMENT ON TABLE recount.search_segment_row_sets IS 'The rows of transcripts that have texts in a segment.';
--> statement-breakpoint
COMMENT ON COLUMN recount.search_segment_row_sets.workspace_id IS 'Workspace that the row belongs to.';
--> statement-breakpoint
COMMENT ON COLUMN recount.search_segment_row_sets.segment_id IS 'The segment.';
--> statement-breakpoint
COMMENT ON COLUMN recount.search_segment_row_sets.row_set_id IS 'Rows of a transcript.';
--> statement-breakpoint
COMMENT ON COLUMN recount.search_segment_row_sets.document_count IS 'Number of their texts in the segment.';
--> statement-breakpoint
COMMENT ON COLUMN recount.search_segment_row_sets.removed_at IS 'When they were deleted or replaced. Searches leave them out from then on, and a worker makes the segment again without them.';
--> statement-breakpoint
COMMENT ON TABLE recount.search_waiting IS 'Rows of transcripts whose texts are in no segment yet, or must be put into one again.';
--> statement-breakpoint
COMMENT ON COLUMN recount.search_waiting.workspace_id IS 'Workspace that the row belongs to.';
--> statement-breakpoint
COMMENT ON COLUMN recount.search_waiting.row_set_id IS 'Rows of a transcript.';
--> statement-breakpoint
COMMENT ON COLUMN recount.search_waiting.session_id IS 'Its session.';
--> statement-breakpoint
COMMENT ON COLUMN recount.search_waiting.failure_count IS 'Failed attempts.';
--> statement-breakpoint
COMMENT ON COLUMN recount.search_waiting.waiting_since IS 'When they began to wait.';
--> statement-breakpoint
COMMENT ON COLUMN recount.search_waiting.next_attempt_at IS 'When a worker may take them up.';
