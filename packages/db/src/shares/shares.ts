import { randomBytes } from 'node:crypto';
import { ulid } from 'ulid';
import type { Database } from '../database/database.ts';
import { and, desc, eq, getTableColumns, gt, isNotNull, isNull, lte, or, sql } from '../drizzle.cjs';
import { sessionShares } from '../schema/shares.ts';
import { type Actor, addAuditEntry } from '../workspaces/audit-log.ts';
import { hashSecret } from '../workspaces/hash-secret.ts';

export interface NewShare {
  workspaceId: string;
  /** Null for a view. */
  sessionId: string | null;
  /** Null for a session. */
  view: Record<string, unknown> | null;
  /** gzip of the page. */
  page: Uint8Array;
  fromLine: number | null;
  toLine: number | null;
  isSanitized: boolean;
  /** ISO 8601. */
  expiresAt: string;
  actor: Actor;
}

/** A share without its page and secret. */
export type ShareRow = Omit<typeof sessionShares.$inferSelect, 'page' | 'secret_hash'>;

const SECRET_BYTES = 32;
const TOKEN_PATTERN = /^([0-9A-HJKMNP-TV-Z]{26})-([0-9A-HJKMNP-TV-Z]{26})-([A-Za-z0-9_-]{43})$/;

const { page: _page, secret_hash: _secretHash, ...SHARE_COLUMNS } = getTableColumns(sessionShares);

/**
 * Stores a page behind a link and adds an audit entry. The link ends with `token`: `<workspace>-<id>-<secret>`. Only
 * the hash of the secret's 256 random bits is stored.
 */
export async function createShare(
  transaction: Database,
  { workspaceId, sessionId, view, page, fromLine, toLine, isSanitized, expiresAt, actor }: NewShare,
): Promise<{ share: ShareRow; token: string }> {
  await dropEndedPages(transaction, workspaceId);
  const id = ulid();
  const secret = randomBytes(SECRET_BYTES).toString('base64url');
  const [share] = await transaction
    .insert(sessionShares)
    .values({
      workspace_id: workspaceId,
      id,
      session_id: sessionId,
      view,
      page_at: view === null ? null : sql`now()`,
      secret_hash: hashSecret(secret),
      page,
      from_line: fromLine,
      to_line: toLine,
      is_sanitized: isSanitized,
      actor,
      expires_at: expiresAt,
    })
    .returning(SHARE_COLUMNS);
  if (share === undefined) throw new Error('A share was inserted without a row');
  const details =
    view === null
      ? { expires_at: expiresAt, from_line: fromLine, to_line: toLine, is_sanitized: isSanitized }
      : { expires_at: expiresAt, view };
  const subjects = toSubjects(id, sessionId);
  await addAuditEntry(transaction, { workspaceId, actor, action: 'share.create', subjects, details });
  return { share, token: `${workspaceId}-${id}-${secret}` };
}

/** A page of a workspace's shares, including ended ones, latest first. */
export async function listShares(
  database: Database,
  workspaceId: string,
  { sessionId, beforeId, limit }: { sessionId?: string | undefined; beforeId?: string | undefined; limit: number },
): Promise<ShareRow[]> {
  return await database
    .select(SHARE_COLUMNS)
    .from(sessionShares)
    .where(
      and(
        eq(sessionShares.workspace_id, workspaceId),
        sessionId === undefined ? undefined : eq(sessionShares.session_id, sessionId),
        beforeId === undefined ? undefined : sql`${sessionShares.id} < ${beforeId}`,
      ),
    )
    .orderBy(desc(sessionShares.id))
    .limit(limit);
}

/** Ends a link and deletes its page. Returns false if the workspace has no such link, or it was revoked already. */
export async function revokeShare(
  transaction: Database,
  workspaceId: string,
  id: string,
  actor: Actor,
): Promise<boolean> {
  const [revoked] = await transaction
    .update(sessionShares)
    .set({ revoked_at: sql`now()`, page: null })
    .where(and(eq(sessionShares.workspace_id, workspaceId), eq(sessionShares.id, id), isNull(sessionShares.revoked_at)))
    .returning({ sessionId: sessionShares.session_id });
  if (revoked === undefined) return false;
  const subjects = toSubjects(id, revoked.sessionId);
  await addAuditEntry(transaction, { workspaceId, actor, action: 'share.revoke', subjects });
  return true;
}

/** The page behind a link. */
export interface OpenedShare {
  workspaceId: string;
  id: string;
  /** gzip. */
  page: Uint8Array;
  /** Null for a session. */
  view: Record<string, unknown> | null;
  /** The time of a view's figures, to the microsecond; null for a session. */
  pageAt: string | null;
  /** True for a view whose figures are older than `VIEW_PAGE_MINUTES`. */
  isOld: boolean;
}

/** The page of a view is not made more often, so that a link that many people open costs no more than one reader. */
export const VIEW_PAGE_MINUTES = 5;

/**
 * Opens a link, which is counted, and noted in the audit log once an hour; undefined for unknown, revoked and expired
 * links alike.
 */
export async function openShare(transaction: Database, token: string): Promise<OpenedShare | undefined> {
  const [, workspaceId, id, secret] = TOKEN_PATTERN.exec(token) ?? [];
  if (workspaceId === undefined || id === undefined || secret === undefined) return undefined;
  const isMeant = and(isOpen(workspaceId, id), eq(sessionShares.secret_hash, hashSecret(secret)));
  const [opened] = await transaction
    .select({
      page: sessionShares.page,
      view: sessionShares.view,
      pageAt: sql<string | null>`${sessionShares.page_at}::text`,
      sessionId: sessionShares.session_id,
      creator: sessionShares.actor,
      isOld: sql<boolean>`coalesce(${sessionShares.page_at} < now() - ${sql.raw(`interval '${VIEW_PAGE_MINUTES} minutes'`)}, false)`,
      isNoted: sql<boolean>`coalesce(${sessionShares.last_opened_at} >= date_trunc('hour', now(), 'UTC'), false)`,
    })
    .from(sessionShares)
    .where(isMeant)
    .for('no key update');
  if (opened?.page == null) return undefined;
  await transaction
    .update(sessionShares)
    .set({ opened_count: sql`${sessionShares.opened_count} + 1`, last_opened_at: sql`now()` })
    .where(isMeant);
  const { page, view, pageAt, isOld, isNoted, sessionId, creator } = opened;
  if (!isNoted) {
    const subjects = toSubjects(id, sessionId);
    const details = { created_by: creator };
    await addAuditEntry(transaction, { workspaceId, actor: `link:${id}`, action: 'share.open', subjects, details });
  }
  return { workspaceId, id, page, view, pageAt, isOld };
}

const isOpen = (workspaceId: string, id: string) =>
  and(
    eq(sessionShares.workspace_id, workspaceId),
    eq(sessionShares.id, id),
    isNull(sessionShares.revoked_at),
    gt(sessionShares.expires_at, sql`now()`),
  );

/** Stores a newer page of a view, unless its link has ended or another page was stored since then. */
export async function replaceSharedPage(
  database: Database,
  { workspaceId, id, pageAt }: Pick<OpenedShare, 'workspaceId' | 'id' | 'pageAt'>,
  page: Uint8Array,
): Promise<void> {
  await database
    .update(sessionShares)
    .set({ page, page_at: sql`now()` })
    .where(and(isOpen(workspaceId, id), sql`${sessionShares.page_at} = ${pageAt}::timestamptz`));
}

const toSubjects = (id: string, sessionId: string | null): string[] => (sessionId === null ? [id] : [id, sessionId]);

/** Deletes the links to a session, because they show its content. */
export async function deleteShares(transaction: Database, workspaceId: string, sessionId: string): Promise<void> {
  await transaction
    .delete(sessionShares)
    .where(and(eq(sessionShares.workspace_id, workspaceId), eq(sessionShares.session_id, sessionId)));
}

/** Deletes the pages of ended links; the record of who shared what until when remains. */
export async function dropEndedPages(database: Database, workspaceId: string): Promise<void> {
  await database
    .update(sessionShares)
    .set({ page: null })
    .where(
      and(
        eq(sessionShares.workspace_id, workspaceId),
        isNotNull(sessionShares.page),
        or(isNotNull(sessionShares.revoked_at), lte(sessionShares.expires_at, sql`now()`)),
      ),
    );
}
