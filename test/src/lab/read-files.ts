import { findSessions, readSessions } from '@recount/collect';
import {
  IDENTIFY_HEAD_BYTES,
  identifyTranscript,
  type ParsedContentBlock,
  streamTranscript,
  type TranscriptMessage,
  UNKNOWN_MODEL,
} from '@recount/core';
import { type Found, type FoundIssue, type FoundResponse, toFoundSession } from './found.ts';

/** The sessions' files and databases that recount finds in a program's home. */
export function findFiles(home: string, environment: Record<string, string>): string[] {
  return findSessions({ platform: process.platform, environment, homeFolder: home }).flatMap(({ files }) =>
    files.map(({ path }) => path),
  );
}

/** Reads all sessions of the files, as `recount parse` does. A response that several of them hold is there once. */
export async function parseFiles(paths: readonly string[]): Promise<Found> {
  const responses = new Map<string, FoundResponse>();
  const sessions: Found['sessions'] = [];
  for await (const item of readSessions(paths)) {
    if (item.kind === 'failed') throw item.error;
    if (item.kind !== 'transcript') continue;
    const bytes = Buffer.concat(await (await item.open()).toArray());
    const { format, agent, sessionId } = identifyTranscript({
      path: item.path,
      head: bytes.subarray(0, IDENTIFY_HEAD_BYTES),
    });
    if (format === undefined) continue;
    sessions.push(await parse(sessionId ?? item.path, agent ?? '', format, bytes, responses));
  }
  return { sessions, responses: [...responses.values()] };
}

async function parse(
  sessionId: string,
  agent: string,
  format: string,
  bytes: Buffer,
  responses: Map<string, FoundResponse>,
): Promise<Found['sessions'][number]> {
  const messages = new Map<string, Pick<TranscriptMessage, 'message_type' | 'metadata'>>();
  const blocks: ParsedContentBlock[] = [];
  const issues: FoundIssue[] = [];
  let promptCount = 0;
  for await (const batch of streamTranscript(sessionId, bytes, { format })) {
    for (const { id, message_type, metadata } of batch.messages) messages.set(id, { message_type, metadata });
    blocks.push(...batch.contentBlocks);
    for (const { code, severity, error } of batch.issues) issues.push({ code, severity, message: error });
    for (const row of batch.apiResponses) {
      // A sub-agent's own file may name no model where its parent's does. The ledger takes the copy that names it.
      const isWorse = row.model === null || row.model === UNKNOWN_MODEL;
      if (isWorse && responses.has(row.response_key)) continue;
      responses.set(row.response_key, {
        ...{ sessionId, model: row.model, input: row.tokens_in, cacheRead: row.cache_read },
        ...{ cacheWrite: row.cache_write, output: row.tokens_out, cacheWrite1h: row.cache_write_1h },
        ...{ reasoning: row.thinking_tokens, serviceTier: row.service_tier, speed: row.speed },
      });
    }
    promptCount = batch.summary?.stats.prompt_count ?? promptCount;
  }
  // Blocks come before their messages.
  const typed = blocks.map((block) => {
    const { message_type = '', metadata = null } = messages.get(block.message_id) ?? {};
    return { ...block, message_type, message_metadata: metadata };
  });
  return toFoundSession({ id: sessionId, agent, promptCount }, typed, issues);
}
