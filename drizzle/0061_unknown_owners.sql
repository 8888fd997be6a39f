-- A session that continues what an unknown uploader began is no longer counted as another's.
UPDATE recount.sessions AS s
SET other_uploader_count = s.other_uploader_count - 1
FROM recount.transcripts AS p
WHERE s.other_uploader_count > 0
  AND p.workspace_id = s.workspace_id AND p.id = s.primary_transcript_id
  AND p.uploader_key_id <> 'operator'
  AND (p.person IS NULL OR p.person IS DISTINCT FROM s.person)
  AND EXISTS (
    SELECT 1 FROM recount.transcripts AS f
    WHERE f.workspace_id = s.workspace_id AND f.session_id = s.session_id AND f.uploader_key_id IS NULL
      AND (f.ingested_at IS NOT NULL OR f.superseded_by IS NOT NULL)
      AND NOT EXISTS (
        SELECT 1 FROM recount.transcripts AS e
        WHERE e.workspace_id = s.workspace_id AND e.session_id = s.session_id AND e.id < f.id
          AND (e.ingested_at IS NOT NULL OR e.superseded_by IS NOT NULL)
      )
  );
