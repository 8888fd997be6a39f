import type {
  ApiResponse,
  Issue,
  ParsedContentBlock,
  SessionEvent,
  ToolCall,
  TranscriptMessage,
  TranscriptSummary,
} from '@recount/core';
import { toRepositoryName } from '@recount/core';
import type { contentBlocks, ingestIssues, transcriptMessages } from '../schema/messages.ts';
import type { transcripts } from '../schema/transcripts.ts';
import type { sessionEvents, toolCalls, usageEntries } from '../schema/usage.ts';

export interface IngestCounts {
  contentBlocks: number;
  errors: number;
  warnings: number;
  /** Occurrences by issue code. */
  issuesByCode: Record<string, number>;
  /** Secrets removed, by rule. Defaults to none. */
  secretsByRule?: Record<string, number>;
}

export interface RowSetKey {
  workspaceId: string;
  rowSetId: string;
}

/** The transcript of usage entries, and the rates of their prices. */
export interface EntryOrigin {
  agent: string;
  priceVersion: string;
}

export function toMessageRow(key: RowSetKey, message: TranscriptMessage): typeof transcriptMessages.$inferInsert {
  return { workspace_id: key.workspaceId, row_set_id: key.rowSetId, ...message };
}

export function toContentBlockRow(key: RowSetKey, block: ParsedContentBlock): typeof contentBlocks.$inferInsert {
  return { workspace_id: key.workspaceId, row_set_id: key.rowSetId, ...block };
}

export function toUsageEntryRow(
  key: RowSetKey,
  { agent, priceVersion }: EntryOrigin,
  entryNumber: number,
  response: ApiResponse,
): typeof usageEntries.$inferInsert {
  return {
    workspace_id: key.workspaceId,
    row_set_id: key.rowSetId,
    entry_number: entryNumber,
    agent,
    price_version: priceVersion,
    ...response,
  };
}

export function toToolCallRow(key: RowSetKey, callNumber: number, call: ToolCall): typeof toolCalls.$inferInsert {
  return {
    workspace_id: key.workspaceId,
    row_set_id: key.rowSetId,
    call_number: callNumber,
    is_own: true,
    ...call,
  };
}

export function toSessionEventRow(
  key: RowSetKey,
  eventNumber: number,
  event: SessionEvent,
): typeof sessionEvents.$inferInsert {
  return { workspace_id: key.workspaceId, row_set_id: key.rowSetId, event_number: eventNumber, ...event };
}

export function toIssueRow(key: RowSetKey, issueNumber: number, issue: Issue): typeof ingestIssues.$inferInsert {
  return {
    workspace_id: key.workspaceId,
    row_set_id: key.rowSetId,
    issue_number: issueNumber,
    code: issue.code,
    severity: issue.severity,
    message: issue.error,
    line_number: issue.lineNumber,
    byte_offset: issue.byteOffset,
    occurrence_count: issue.count,
  };
}

/** The columns of the transcript's own row that a parse's summary fills in. */
export function toTranscriptFigures({ stats, metadata }: TranscriptSummary, sentRepository: string | null) {
  const { cwd, gitBranch, repository, commitHash, version, title, models, ...others } = metadata;
  const { firstTimestamp, lastTimestamp, lineCount, ...rest } = others;
  return {
    ...stats,
    reported_cost_usd: metadata.reportedTotals?.cost_usd ?? null,
    project: cwd,
    git_branch: gitBranch,
    repository: nameRepository({ repository_url: repository, sent_repository: sentRepository, project: cwd }),
    repository_url: repository,
    commit_hash: commitHash,
    agent_version: version,
    title,
    models,
    first_timestamp: firstTimestamp,
    last_timestamp: lastTimestamp,
    line_count: lineCount,
    metadata: { ...rest },
  } satisfies Partial<typeof transcripts.$inferInsert>;
}

/**
 * The repository of a transcript, from its row's other columns. What the agent itself records goes before what the
 * uploader's git said later, and that before the working directory's path.
 */
export const nameRepository = (
  row: Pick<typeof transcripts.$inferSelect, 'repository_url' | 'sent_repository' | 'project'>,
): string | null => toRepositoryName({ address: row.repository_url ?? row.sent_repository, folder: row.project });

/** Numbers of the next usage entries and tool calls of a row set. */
export interface UsageNumbers {
  entry: number;
  call: number;
}

/** Numbers of the next rows of a row set. */
export interface RowNumbers extends UsageNumbers {
  event: number;
  issue: number;
}

/** Rows of a shorter version that remain when its transcript has grown. */
export interface PrefixRows {
  /** Rows with smaller numbers remain unchanged; the others are replaced. */
  numbers: RowNumbers;
  counts: IngestCounts;
  /** True if issues about the whole transcript are among those that are replaced. Default false. */
  hasTranscriptIssues?: boolean;
}

/** A transcript's rows as one transaction writes them, and what it keeps of a shorter version's. */
export interface RowSet extends RowSetKey {
  /** Entries and calls from these numbers on are new. */
  firstNewNumbers: UsageNumbers;
  /** Undefined means that all old rows are replaced. */
  prefix?: PrefixRows | undefined;
}

/** The row set of a transcript that has no rows yet. */
export const toNewRowSet = (key: RowSetKey): RowSet => ({ ...key, firstNewNumbers: { entry: 0, call: 0 } });
