import type { ToolKind } from '@recount/core';
import type { DatabasePool } from '../database/database.ts';
import { sessions } from '../schema/transcripts.ts';
import { sessionEvents, toolCalls, usageEntries, usageLedger } from '../schema/usage.ts';
import { writeRollups } from '../usage/write-rollups.ts';
import { TEST_WORKSPACE } from './create-test-pool.ts';
import { insertTestTranscript } from './insert-test-transcript.ts';

const KINDS: Readonly<Record<string, ToolKind>> = {
  Read: 'read',
  Edit: 'edit',
  Write: 'edit',
  Bash: 'shell',
  Task: 'agent',
  Agent: 'agent',
  Skill: 'skill',
};

type Response = Partial<typeof usageLedger.$inferInsert> & {
  /** Sessions that hold a copy but are not credited. */
  copiedTo?: readonly string[];
};

export interface TestSession extends Partial<typeof sessions.$inferInsert> {
  session_id: string;
  /** Credited to the session. */
  responses?: readonly Response[];
  calls?: readonly Partial<typeof toolCalls.$inferInsert>[];
  events?: readonly (Partial<typeof sessionEvents.$inferInsert> & Pick<typeof sessionEvents.$inferInsert, 'kind'>)[];
}

/**
 * Inserts sessions with their responses, tool calls and events as ingestion would leave them, and builds their
 * roll-ups.
 */
export async function insertTestFleet(
  pool: DatabasePool,
  fleet: readonly TestSession[],
  workspaceId = TEST_WORKSPACE,
): Promise<void> {
  for (const { responses = [], calls = [], events = [], ...session } of fleet) {
    await insertSession(pool, workspaceId, session);
    const origin = {
      workspace_id: workspaceId,
      session_id: session.session_id,
      row_set_id: toTranscriptId(session.session_id),
      is_subagent: session.is_subagent ?? false,
      timestamp: session.first_timestamp ?? null,
    };
    for (const [index, response] of responses.entries()) {
      await insertResponse(pool, origin, `${session.session_id}-${index}`, response);
    }
    for (const [index, call] of calls.entries()) {
      await pool.database.insert(toolCalls).values({
        call_key: `${session.session_id}-${index}`,
        message_id: 'message',
        tool_name: 'Read',
        tool_kind: KINDS[call.tool_name ?? 'Read'] ?? 'other',
        is_denied: false,
        is_error: false,
        input_bytes: 10,
        output_bytes: 100,
        line_number: index + 1,
        call_number: index,
        ...origin,
        ...call,
      });
    }
    for (const [index, event] of events.entries()) {
      await pool.database.insert(sessionEvents).values({
        event_key: `${session.session_id}-${index}`,
        event_number: index,
        details: {},
        line_number: index + 1,
        ...origin,
        ...event,
      });
    }
  }
  const sessionIds = fleet.map(({ session_id }) => session_id);
  await pool.withTransaction((transaction) => writeRollups(transaction, { workspaceId, sessionIds: [] }, sessionIds));
}

const toTranscriptId = (sessionId: string): string => `transcript-${sessionId}`;

async function insertSession(
  pool: DatabasePool,
  workspaceId: string,
  session: Omit<TestSession, 'responses' | 'calls' | 'events'>,
): Promise<void> {
  const transcriptId = toTranscriptId(session.session_id);
  await pool.database.insert(sessions).values({
    agent: 'claude-code',
    ...session,
    workspace_id: workspaceId,
    primary_transcript_id: transcriptId,
  });
  await insertTestTranscript(pool, {
    id: transcriptId,
    row_set_id: transcriptId,
    session_id: session.session_id,
    workspace_id: workspaceId,
  });
}

type Origin = Pick<
  typeof usageEntries.$inferInsert,
  'workspace_id' | 'session_id' | 'row_set_id' | 'is_subagent' | 'timestamp'
>;

/** A transcript may get copies of several responses. */
let entryCount = 0;

async function insertResponse(
  pool: DatabasePool,
  origin: Origin,
  key: string,
  { copiedTo = [], ...fields }: Response,
): Promise<void> {
  const response = {
    ...origin,
    agent: 'claude-code',
    response_key: key,
    source: 'message' as const,
    model: 'claude-opus-5',
    copy_count: 1 + copiedTo.length,
    price_basis: 'list' as const,
    price_version: 'test',
    ...fields,
  };
  await pool.database.insert(usageLedger).values(response);
  for (const sessionId of copiedTo) {
    await pool.database.insert(usageEntries).values({
      ...response,
      session_id: sessionId,
      row_set_id: toTranscriptId(sessionId),
      entry_number: entryCount++,
      is_marked_copy: true,
      line_number: 1,
    });
  }
}
