import type { Message } from '@recount/contract';
import { type AttachmentReference, findAttachmentReference } from '@recount/core';
import { type Database, findReferencedAttachments } from '@recount/db';

/**
 * Adds to each tool result the stored attachment with its full content, if its text points to one. The text is
 * untrusted. It can name attachments of any session of the workspace, but the reader may see these anyway.
 */
export async function addAttachments(
  database: Database,
  { workspaceId, agent }: { workspaceId: string; agent: string },
  messages: readonly Message[],
): Promise<Message[]> {
  const toReference = (text: string | null) => (text === null ? undefined : findAttachmentReference(agent, text));
  const references = messages.flatMap(({ content_blocks }) =>
    content_blocks.flatMap(({ result_text }) => toReference(result_text) ?? []),
  );
  const found = await findReferencedAttachments(database, workspaceId, references);
  if (found.length === 0) return [...messages];
  const toPlace = ({ sessionId, path }: AttachmentReference): string => `${sessionId}/${path}`;
  const byPlace = new Map(found.map((row) => [toPlace({ sessionId: row.session_id, path: row.path }), row]));
  return messages.map((message) => ({
    ...message,
    content_blocks: message.content_blocks.map((block) => {
      const reference = toReference(block.result_text);
      const row = reference && byPlace.get(toPlace(reference));
      if (row === undefined) return block;
      const { id, session_id, path, size_bytes } = row;
      return { ...block, attachment: { id, session_id, path, size_bytes } };
    }),
  }));
}
