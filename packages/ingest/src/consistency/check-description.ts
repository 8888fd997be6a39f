import { findTranscript, type TranscriptReference } from '@recount/db';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { parseTranscriptDescription, toTranscriptDescription } from '../raw-objects/describe-transcript.ts';

/**
 * A description that says something else about the bytes than the transcript's row. A rebuild would file them under
 * another session, or attribute them to someone else. `reason` names the fields.
 */
export interface DescriptionFinding {
  kind: 'wrong-description';
  workspaceId: string;
  transcriptId: string;
  objectKey: string;
  reason: string;
  fixed: boolean;
}

/** The fields that identify the transcript and its uploader; it never changes after the upload. */
const IDENTITY = [
  'id',
  'session_id',
  'agent',
  'format',
  'path',
  'is_subagent',
  'parent_session_id',
  'agent_id',
  'sha256',
  'size_bytes',
  'uploader_key_id',
  'machine',
  'person',
  'sent_repository',
  'worktree',
] as const;

type Deps = Pick<IngestDependencies, 'database' | 'rawStore'>;

/** The fields where a description differs from its transcript's row; undefined if there is none to compare. */
export async function compareDescription(
  deps: Deps,
  { workspace_id: workspaceId, id }: Pick<TranscriptReference, 'workspace_id' | 'id'>,
): Promise<string[] | undefined> {
  const row = await findTranscript(deps.database.database, workspaceId, id);
  if (row === undefined || row.raw_deleted_at !== null) return undefined;
  const stored = await deps.rawStore.readDescription(row.object_key);
  if (stored === undefined) return undefined;
  const described = parseTranscriptDescription(stored);
  if (described === undefined) return ['everything'];
  const expected = toTranscriptDescription(row, row.created_at);
  return IDENTITY.filter((field) => (described[field] ?? null) !== (expected[field] ?? null));
}

/** Compares a transcript's description with its row. With `fix`, writes it again from the row. */
export async function* checkDescription(
  deps: Deps,
  reference: TranscriptReference,
  { fix }: { fix: boolean },
): AsyncGenerator<DescriptionFinding> {
  // An upload that completes machine, person and repository writes the row first, so fields that differs twice is no such upload.
  if (((await compareDescription(deps, reference)) ?? []).length === 0) return;
  const fields = (await compareDescription(deps, reference)) ?? [];
  const { workspace_id: workspaceId, id: transcriptId } = reference;
  const row = await findTranscript(deps.database.database, workspaceId, transcriptId);
  if (row === undefined || fields.length === 0) return;
  if (fix) {
    const stored = await deps.rawStore.readDescription(row.object_key);
    await deps.rawStore.describe(row.object_key, { ...stored, ...toTranscriptDescription(row, row.created_at) });
  }
  const reason = `differs in ${fields.join(', ')}`;
  yield { kind: 'wrong-description', workspaceId, transcriptId, objectKey: row.object_key, reason, fixed: fix };
}
