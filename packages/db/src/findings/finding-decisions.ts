import type { DismissalSubject } from '@recount/contract/choices';
import { type TitleSources, toSessionTitle } from '@recount/core';
import { ulid } from 'ulid';
import type { Database } from '../database/database.ts';
import { lockWorkspaceChanges } from '../database/locks.ts';
import { opaqueWorkspaceId } from '../database/planner.ts';
import { and, desc, eq, getTableColumns, type SQL, sql } from '../drizzle.cjs';
import { type PeopleAttribution, readAttribution } from '../people/read-attribution.ts';
import { addressedFindings, type FindingKindName, findingDismissals } from '../schema/finding-decisions.ts';
import { toolDayRollup } from '../schema/rollups.ts';
import { sessions, transcripts } from '../schema/transcripts.ts';
import { apiKeys } from '../schema/workspaces.ts';
import { selectTitleSources } from '../transcripts/title-sources.ts';
import { type Actor, addAuditEntry } from '../workspaces/audit-log.ts';
import { readShownRepositories } from '../workspaces/repository-renames.ts';

type Dismissal = Omit<typeof findingDismissals.$inferSelect, 'workspace_id'> & {
  /** The title of a session that is the subject; null for other subjects. */
  title: string | null;
  dismissed_by_name: string | null;
};
export type Addressed = Omit<typeof addressedFindings.$inferSelect, 'workspace_id'> & { marked_by_name: string | null };

interface Decision {
  workspaceId: string;
  actor: Actor;
}

interface NewDismissal {
  kind: FindingKindName;
  subjectType: DismissalSubject;
  subject: string;
  /** Undefined leaves the reason that is there. */
  reason: string | undefined;
}

/** The person or the name of the key in an actor `key:<id>`. */
function nameOf(actor: SQL, workspaceId: string): SQL<string | null> {
  return sql<string | null>`(
    SELECT coalesce(k.person, k.name) FROM ${apiKeys} AS k
    WHERE k.workspace_id = ${opaqueWorkspaceId(workspaceId)} AND 'key:' || k.id = ${actor})`;
}

/** A workspace's dismissals, the latest first. */
export async function listDismissals(database: Database, workspaceId: string): Promise<Dismissal[]> {
  const { workspace_id, ...columns } = getTableColumns(findingDismissals);
  const rows = await database
    .select({
      ...columns,
      dismissed_by_name: nameOf(sql`${findingDismissals.dismissed_by}`, workspaceId),
      title_sources: sql<TitleSources | null>`(
        SELECT ${selectTitleSources(workspaceId)} FROM ${sessions} AS f
        WHERE ${findingDismissals.subject_type} = 'session'
          AND f.workspace_id = ${opaqueWorkspaceId(workspaceId)} AND f.session_id = ${findingDismissals.subject})`,
    })
    .from(findingDismissals)
    .where(eq(workspace_id, workspaceId))
    .orderBy(desc(findingDismissals.id));
  return rows.map(({ title_sources: sources, ...row }) => ({ ...row, title: sources && toSessionTitle(sources) }));
}

/**
 * Dismisses the findings of a kind for a subject, with an entry in the audit log. If they are dismissed already, only
 * the reason changes. Does nothing and says why if the workspace has no such subject, or `maxCount` dismissals.
 */
export async function dismissFindings(
  transaction: Database,
  { workspaceId, actor }: Decision,
  { kind, subjectType, subject, reason }: NewDismissal,
  maxCount: number,
): Promise<{ id: string; isNew: boolean } | 'unknown-subject' | 'too-many'> {
  // One at a time, so that none is beyond the most. Ingestion does not wait for it.
  await lockWorkspaceChanges(transaction, workspaceId);
  const ofSubject = and(
    eq(findingDismissals.workspace_id, workspaceId),
    eq(findingDismissals.kind, kind),
    eq(findingDismissals.subject_type, subjectType),
    eq(findingDismissals.subject, subject),
  );
  const [existing] = await transaction.select({ id: findingDismissals.id }).from(findingDismissals).where(ofSubject);
  if (existing !== undefined) {
    if (reason !== undefined) await transaction.update(findingDismissals).set({ reason }).where(ofSubject);
    return { id: existing.id, isNew: false };
  }
  if (!(await isSubject(transaction, workspaceId, subjectType, subject))) return 'unknown-subject';
  const existingOnes = await transaction
    .select({ id: findingDismissals.id })
    .from(findingDismissals)
    .where(eq(findingDismissals.workspace_id, workspaceId));
  if (existingOnes.length >= maxCount) return 'too-many';
  const id = ulid();
  await transaction.insert(findingDismissals).values({
    ...{ workspace_id: workspaceId, id, kind, subject_type: subjectType, subject },
    ...{ reason: reason ?? null, dismissed_by: actor },
  });
  const details = { kind, subject_type: subjectType };
  await addAuditEntry(transaction, { workspaceId, actor, action: 'finding.dismiss', subjects: [id, subject], details });
  return { id, isNew: true };
}

async function isSubject(
  transaction: Database,
  workspaceId: string,
  type: DismissalSubject,
  name: string,
): Promise<boolean> {
  const names = type === 'person' ? toSessionNames([name], await readAttribution(transaction, workspaceId)) : [];
  const place = {
    session: sql`${sessions} AS x WHERE x.session_id = ${name}`,
    repository: sql`${sessions} AS x WHERE x.repository = ${name}`,
    person: sql`${sessions} AS x WHERE lower(x.person) = ANY(${sql.param(names)}::text[])`,
    tool: sql`${toolDayRollup} AS x WHERE x.tool_name = ${name}`,
  }[type];
  // A session cannot be deleted until the dismissal is stored, which the deletion then finds.
  const { rows } = await transaction.execute(
    sql`SELECT FROM ${place} AND x.workspace_id = ${workspaceId} LIMIT 1 ${type === 'session' ? sql`FOR KEY SHARE` : sql``}`,
  );
  return rows.length > 0;
}

/** Returns false if the workspace has no such dismissal. */
export async function restoreFindings(
  transaction: Database,
  { workspaceId, actor }: Decision,
  id: string,
): Promise<boolean> {
  const [removed] = await transaction
    .delete(findingDismissals)
    .where(and(eq(findingDismissals.workspace_id, workspaceId), eq(findingDismissals.id, id)))
    .returning();
  if (removed === undefined) return false;
  const { kind, subject_type, subject } = removed;
  const details = { kind, subject_type };
  await addAuditEntry(transaction, { workspaceId, actor, action: 'finding.restore', subjects: [id, subject], details });
  return true;
}

/** The kinds of findings that a workspace marked as addressed, in alphabetical order. */
export async function listAddressed(database: Database, workspaceId: string): Promise<Addressed[]> {
  const { workspace_id, ...columns } = getTableColumns(addressedFindings);
  return await database
    .select({ ...columns, marked_by_name: nameOf(sql`${addressedFindings.marked_by}`, workspaceId) })
    .from(addressedFindings)
    .where(eq(workspace_id, workspaceId))
    .orderBy(addressedFindings.kind);
}

/** Marks a kind of finding as addressed since a day, in place of what was marked before, with an audit entry. */
export async function addressFindings(
  transaction: Database,
  { workspaceId, actor }: Decision,
  { kind, since, note }: { kind: FindingKindName; since: string; note: string | null },
): Promise<void> {
  await transaction
    .insert(addressedFindings)
    .values({ workspace_id: workspaceId, kind, since, note, marked_by: actor })
    .onConflictDoUpdate({
      target: [addressedFindings.workspace_id, addressedFindings.kind],
      set: { since, note, marked_by: actor, marked_at: sql`excluded.marked_at` },
    });
  const details = { since };
  await addAuditEntry(transaction, { workspaceId, actor, action: 'finding.address', subjects: [kind], details });
}

/** Removes the mark; returns false if there is none. */
export async function reopenFindings(
  transaction: Database,
  { workspaceId, actor }: Decision,
  kind: FindingKindName,
): Promise<boolean> {
  const removed = await transaction
    .delete(addressedFindings)
    .where(and(eq(addressedFindings.workspace_id, workspaceId), eq(addressedFindings.kind, kind)))
    .returning({ kind: addressedFindings.kind });
  if (removed.length === 0) return false;
  await addAuditEntry(transaction, { workspaceId, actor, action: 'finding.reopen', subjects: [kind] });
  return true;
}

/** Deletes the dismissals of a session that has no transcript any more. */
export async function deleteLostDismissals(
  transaction: Database,
  workspaceId: string,
  sessionId: string,
): Promise<void> {
  await transaction.execute(sql`
    DELETE FROM ${findingDismissals} AS d
    WHERE d.workspace_id = ${opaqueWorkspaceId(workspaceId)} AND d.subject_type = 'session' AND d.subject = ${sessionId}
      AND NOT EXISTS (
        SELECT FROM ${transcripts} AS t
        WHERE t.workspace_id = ${opaqueWorkspaceId(workspaceId)} AND t.session_id = ${sessionId})`);
}

/** Deletes the reasons why a session's findings were dismissed; they stay dismissed. */
export async function deleteDismissalReasons(
  transaction: Database,
  workspaceId: string,
  sessionId: string,
): Promise<void> {
  await transaction
    .update(findingDismissals)
    .set({ reason: null })
    .where(
      and(
        eq(findingDismissals.workspace_id, workspaceId),
        eq(findingDismissals.subject_type, 'session'),
        eq(findingDismissals.subject, sessionId),
      ),
    );
}

/** The names of sessions, in lower case, that belong to people; they are given by any of their names. */
function toSessionNames(given: readonly string[], people: PeopleAttribution | undefined): string[] {
  const keys = new Set(given.map((name) => name.toLowerCase()));
  const known = people?.names ?? [];
  const meant = new Set(
    known.flatMap(({ nameKey, person }) => (keys.has(nameKey) || keys.has(person.toLowerCase()) ? [person] : [])),
  );
  return [...keys, ...known.filter(({ person }) => meant.has(person)).map(({ nameKey }) => nameKey)];
}

/**
 * The dismissed subjects of each kind of finding; people by all names of their sessions, in lower case, and
 * repositories by the name that an admin gave them since then as well.
 */
export type DismissedSubjects = ReadonlyMap<FindingKindName, Readonly<Record<DismissalSubject, readonly string[]>>>;

export async function readDismissedSubjects(
  database: Database,
  workspaceId: string,
  people: PeopleAttribution | undefined,
): Promise<DismissedSubjects> {
  const rows = await database
    .select({
      kind: findingDismissals.kind,
      type: findingDismissals.subject_type,
      subject: findingDismissals.subject,
    })
    .from(findingDismissals)
    .where(eq(findingDismissals.workspace_id, workspaceId));
  const byKind = new Map<FindingKindName, Record<DismissalSubject, string[]>>();
  for (const { kind, type, subject } of rows) {
    const subjects = byKind.get(kind) ?? { session: [], repository: [], person: [], tool: [] };
    subjects[type].push(subject);
    byKind.set(kind, subjects);
  }
  const repositories = rows.flatMap(({ type, subject }) => (type === 'repository' ? [subject] : []));
  const shown = await readShownRepositories(database, workspaceId, repositories);
  for (const subjects of byKind.values()) {
    subjects.person = toSessionNames(subjects.person, people);
    // Until all stored sessions have the new name, some have the earlier one.
    subjects.repository = [...new Set(subjects.repository.flatMap((name) => [name, shown.get(name) ?? name]))];
  }
  return byKind;
}

/** Condition that a finding, a row `x` with session and tool, is dismissed. */
export function isDismissed(dismissed: DismissedSubjects, kind: FindingKindName, workspaceId: string): SQL {
  const subjects = dismissed.get(kind);
  // Most workspaces have none, and their reports read no more than before.
  if (subjects === undefined) return sql`false`;
  const isAmong = (column: SQL, names: readonly string[]): SQL[] =>
    names.length === 0 ? [] : [sql`${column} = ANY(${sql.param([...names])}::text[])`];
  const ofSession = [
    ...isAmong(sql`s.repository`, subjects.repository),
    ...isAmong(sql`lower(s.person)`, subjects.person),
  ];
  const conditions = [...isAmong(sql`x.session_id`, subjects.session), ...isAmong(sql`x.tool`, subjects.tool)];
  if (ofSession.length > 0) {
    conditions.push(sql`EXISTS (
      SELECT FROM ${sessions} AS s
      WHERE s.workspace_id = ${workspaceId} AND s.session_id = x.session_id AND (${sql.join(ofSession, sql` OR `)}))`);
  }
  return sql`coalesce(${sql.join(conditions, sql` OR `)}, false)`;
}
