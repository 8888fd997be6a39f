import { BackfillTargetError } from '@recount/collect';
import type { AttachmentList } from '@recount/contract';
import { listAttachments, OPERATOR } from '@recount/db';
import {
  DEFAULT_MAX_ATTACHMENT_BYTES,
  type IngestDependencies,
  ReceiveError,
  receiveAttachment,
} from '@recount/ingest';
import type { ApiClient } from '../connection/api-client.ts';
import type { UploadOrigin } from '../connection/api-target.ts';
import { sendAttachment } from '../connection/session-target.ts';
import type { AttachmentTarget } from './bring-attachments.ts';

const PAGE_LIMIT = 500;

const toContent = ({ path, sha256 }: { path: string; sha256: string }): string => `${path}/${sha256}`;

/** Uploads attachments to a recount API. */
export function createApiAttachmentTarget(client: ApiClient, origin: UploadOrigin): AttachmentTarget {
  return {
    async list(sessionId, signal) {
      const contents = new Set<string>();
      for (let cursor: string | undefined; ; ) {
        const page = await listPage(client, sessionId, cursor, signal);
        for (const attachment of page?.attachments ?? []) contents.add(toContent(attachment));
        cursor = page?.next_cursor ?? undefined;
        if (cursor === undefined) return contents;
      }
    },
    async send(delivery, signal) {
      const { outcome } = await sendAttachment(
        client,
        delivery,
        { machine: origin.machine, person: origin.person },
        signal,
      );
      return { isOlder: outcome === 'older' };
    },
  };
}

/** Undefined if there are none, or the key may only write: then all are sent, and existing ones are duplicates. */
async function listPage(
  client: ApiClient,
  sessionId: string,
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<AttachmentList | undefined> {
  const path = `/v1/sessions/${encodeURIComponent(sessionId)}/attachments`;
  try {
    return await client.request<AttachmentList>(path, { query: { limit: PAGE_LIMIT, cursor }, signal });
  } catch (error) {
    const isUnknown = (error as Error).name === 'UsageError';
    if (isUnknown || (error instanceof BackfillTargetError && error.code === 'denied')) return undefined;
    throw error;
  }
}

/** Stores attachments directly in raw store and database. */
export function createDirectAttachmentTarget(
  deps: Pick<IngestDependencies, 'database' | 'rawStore'>,
  { workspaceId, machine, person }: UploadOrigin & { workspaceId: string },
): AttachmentTarget {
  const { database } = deps.database;
  return {
    async list(sessionId) {
      const contents = new Set<string>();
      for (let after: { path: string; id: string } | undefined; ; ) {
        const page = await listAttachments(database, workspaceId, sessionId, { after, limit: PAGE_LIMIT });
        for (const attachment of page) contents.add(toContent(attachment));
        after = page.at(-1);
        if (page.length < PAGE_LIMIT) return contents;
      }
    },
    async send({ agent, sessionId, path, modifiedAtMs, open }, signal) {
      const upload = { workspaceId, uploaderKeyId: OPERATOR, machine, person, agent, sessionId, path, modifiedAtMs };
      const request = { ...upload, body: open(), maxBytes: DEFAULT_MAX_ATTACHMENT_BYTES, signal };
      const { outcome } = await receiveAttachment(deps, request).catch((error: unknown) => {
        if (error instanceof ReceiveError) throw new BackfillTargetError('rejected', error.message, { cause: error });
        throw error;
      });
      return { isOlder: outcome === 'older' };
    },
  };
}
