interface StatementForAllNodes {
  /** A part of the statement, with single spaces. */
  part: string;
  reason: string;
}

/** Statements that query all nodes of a cluster on purpose. */
export const ALL_NODES: readonly StatementForAllNodes[] = [
  {
    part: 'select "status", count(*) from "recount"."transcripts" group by',
    reason: 'The metrics count the transcripts of all workspaces.',
  },
  {
    part: 'order by "recount"."transcripts"."workspace_id" asc, "recount"."transcripts"."id" asc limit',
    reason: 'The doctor compares the raw store with the rows of all workspaces, page by page.',
  },
  {
    part: 'order by "recount"."live_streams"."workspace_id" asc, "recount"."live_streams"."id" asc limit',
    reason: 'The doctor, as above.',
  },
  {
    part: 'order by "recount"."attachments"."workspace_id" asc, "recount"."attachments"."id" asc limit',
    reason: 'The doctor, as above.',
  },
  {
    part: 'from "recount"."raw_object_deletions" where "recount"."raw_object_deletions"."recorded_at" <',
    reason: 'Interrupted deletions are finished for all workspaces.',
  },
  {
    part: '"workspace_settings"."workspace_id" in (',
    reason: 'Records of all workspaces are written into the raw store.',
  },
  {
    part: '"price_overrides"."workspace_id" in (',
    reason: 'As above.',
  },
  {
    part: '"budgets"."workspace_id" in (',
    reason: 'As above.',
  },
  {
    part: '"finding_dismissals"."workspace_id" in (',
    reason: 'As above.',
  },
  {
    part: '"addressed_findings"."workspace_id" in (',
    reason: 'As above.',
  },
  {
    part: '"alert_destinations"."workspace_id" in (',
    reason: 'As above.',
  },
  {
    part: '"digests"."workspace_id" in (',
    reason: 'As above.',
  },
  {
    part: '"repository_renames"."workspace_id" in (',
    reason: 'As above.',
  },
  {
    part: 'from "recount"."repository_renames" where "recount"."repository_renames"."applied_at" is null',
    reason: 'Which workspaces have renamed repositories that stored sessions do not show yet.',
  },
  {
    part: '"workspace_settings"."rows_max_age_days" is not null or',
    reason: 'Retention runs in all workspaces that want it.',
  },
  {
    part: 'FROM "recount"."search_waiting" WHERE next_attempt_at <= now() ORDER BY next_attempt_at LIMIT',
    reason: 'Which workspaces have rows that wait for segments of search.',
  },
  {
    part: 'AS failure_count FROM "recount"."search_waiting" GROUP BY workspace_id, session_id',
    reason: 'How many sessions wait for segments of search, in the metrics.',
  },
  {
    part: 'FROM "recount"."search_waiting" AS w JOIN "recount"."transcripts" AS t ON t.workspace_id = w.workspace_id AND t.row_set_id = w.row_set_id',
    reason: 'As above, in blocks.',
  },
  {
    part: 'FROM "recount"."search_segments" WHERE document_count <= $1 GROUP BY workspace_id HAVING count(*) >=',
    reason: 'Which workspaces have segments of search to merge.',
  },
  {
    part: 'WHERE true AND t.row_set_id IS NOT NULL AND t.rows_deleted_at IS NULL AND t.content_block_count > 0 AND NOT EXISTS',
    reason: 'Rows of all workspaces that are lost to search, for the doctor.',
  },
  {
    part: 'from "recount"."live_streams" where (state <> \'closed\' and ((',
    reason: 'Streams that fell silent are ended, in all workspaces.',
  },
  {
    part: 'FROM "recount"."live_streams" WHERE has_events AND ended_at <',
    reason: 'Events of streams that ended are deleted after a while.',
  },
  {
    part: "FROM recount.live_streams WHERE state <> 'closed' AND state = 'open'",
    reason: '`recount status` counts the streams of all workspaces.',
  },
  {
    part: "FROM recount.transcripts WHERE status = 'failed' ORDER BY id DESC LIMIT",
    reason: '`recount status` names the last failures.',
  },
];
