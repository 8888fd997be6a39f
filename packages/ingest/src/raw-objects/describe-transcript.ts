import { findFormat, isSessionId } from '@recount/core';
import type { LiveStreamRow, NewTranscript, TranscriptRow } from '@recount/db';
import type { ObjectDescription } from '@recount/storage';

/**
 * The data beside a transcript's bytes, so that its row can be rebuilt from the raw store alone. They are the upload's
 * facts, the derived ones, and a hash that reveals later damage.
 */
interface TranscriptDescription extends Omit<NewTranscript, 'object_key' | 'grown_from' | 'tail_sha256'> {
  /** SHA-256 (hex) of the object if it is a redacted copy of the upload. */
  stored_sha256: string | null;
  /** ISO 8601. */
  received_at: string;
  /** The stream that the transcript was, with the times of its lines. */
  live_stream?: StoredLiveStream | undefined;
}

/** A stream's row, without fields that only matter while it is open or that follow from its place. */
export type StoredLiveStream = Omit<
  LiveStreamRow,
  'workspace_id' | 'writer_id' | 'state' | 'has_events' | 'object_key'
>;

type DescribedRow = Omit<NewTranscript, 'grown_from' | 'tail_sha256'> & Partial<Pick<TranscriptRow, 'stored_sha256'>>;

export function toTranscriptDescription(row: DescribedRow, receivedAt: string): TranscriptDescription {
  const { id, session_id, agent, format, path, is_subagent, parent_session_id, agent_id, sha256, size_bytes } = row;
  return {
    ...{ id, session_id, agent, format, path, is_subagent, parent_session_id, agent_id, sha256, size_bytes },
    stored_sha256: row.stored_sha256 ?? null,
    uploader_key_id: row.uploader_key_id ?? null,
    machine: row.machine ?? null,
    person: row.person ?? null,
    sent_repository: row.sent_repository ?? null,
    worktree: row.worktree ?? null,
    received_at: receivedAt,
  };
}

export function toStoredLiveStream(row: LiveStreamRow): StoredLiveStream {
  const { workspace_id: _, writer_id: _writer, state: _state, has_events: _events, object_key: _key, ...stored } = row;
  return stored;
}

/** Undefined if it does not describe a transcript. */
export function parseTranscriptDescription(value: ObjectDescription | undefined): TranscriptDescription | undefined {
  if (value === undefined) return undefined;
  const texts = [value.id, value.agent, value.sha256, value.received_at];
  const textsOrNull = [value.path, value.parent_session_id, value.agent_id, value.stored_sha256, value.uploader_key_id];
  // Absent in descriptions from before these were recorded.
  const newTexts = [value.machine, value.person, value.sent_repository, value.worktree];
  const isWhole =
    texts.every(isText) &&
    textsOrNull.every((text) => text === null || isText(text)) &&
    newTexts.every((text) => text === undefined || text === null || isText(text)) &&
    isText(value.session_id) &&
    isSessionId(value.session_id) &&
    isText(value.format) &&
    findFormat(value.format) !== undefined &&
    typeof value.is_subagent === 'boolean' &&
    Number.isSafeInteger(value.size_bytes) &&
    !Number.isNaN(Date.parse(String(value.received_at)));
  // All fields were checked.
  return isWhole ? (value as unknown as TranscriptDescription) : undefined;
}

/** Undefined if no stream is described. */
export function parseStoredLiveStream(value: ObjectDescription | undefined): StoredLiveStream | undefined {
  const stream = value?.live_stream as Partial<StoredLiveStream> | undefined;
  const isWhole = [stream?.id, stream?.session_id, stream?.agent, stream?.started_at].every(isText);
  return isWhole ? (stream as StoredLiveStream) : undefined;
}

const isText = (value: unknown): value is string => typeof value === 'string';
