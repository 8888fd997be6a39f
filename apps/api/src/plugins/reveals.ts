import { type ApiKeyScope, TEXT_PARAMETERS } from '@recount/contract/access';
import {
  addTextReads,
  type DatabasePool,
  type HiddenOrder,
  hasTextsOfOthers,
  listOwnNames,
  readSessionPeople,
} from '@recount/db';
import type { FastifyRequest } from 'fastify';
import { type Access, decide, type Reveals, toAccess } from '../access/access.ts';
import { type FoundSession, findSubject } from '../access/find-subject.ts';
import { findHiddenNames } from '../access/hidden-names.ts';
import { listTextSenders, type Mask, maskAnswer } from '../access/mask-answer.ts';
import type { ApiApp, ApiDependencies } from '../api-dependencies.ts';
import { ProblemError } from '../problems/problem-error.ts';
import { actorOf, missingScope, workspaceOf } from './authentication.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Names of the one person whose sessions the request may see; null if it may see all sessions. */
    onlyNames: readonly string[] | null;
    /** Decides the order of rows with equal figures where names are hidden; null where they are not. */
    hiddenOrder: HiddenOrder | null;
    /** The answer, or a part of it, as this request may see it. Routes whose answer is not JSON call it themselves. */
    reveal: (<Answer>(answer: Answer) => Promise<Answer>) | null;
  }
  interface FastifyContextConfig {
    /** Says what answers show. Every route has it. */
    reveals?: Reveals;
    /** True if the handler leaves out sessions of others where `request.onlyNames` is set. Default false. */
    isLimitable?: boolean;
  }
}

const REFUSALS: Partial<Record<ApiKeyScope, string>> = {
  texts: 'Your key shows figures of everyone, but texts only of the sessions that are yours',
  figures: 'This key may read the sessions of its owner only; figures of everyone need the scope figures',
};

/**
 * Lets every answer show what its reader may see, and nothing else: refuses requests, limits them to one person, and
 * takes texts and names out of answers. Notes reads of others' texts in the audit log, before they are answered. Routes
 * only declare what they reveal; adding one that does not throws.
 */
export function addReveals(app: ApiApp, { database: pool }: Pick<ApiDependencies, 'database'>): void {
  const noteReads = createReadNoter(pool);
  for (const name of ['onlyNames', 'hiddenOrder', 'reveal'] as const) app.decorateRequest(name, null);
  app.addHook('onRoute', ({ url, config }) => {
    if (config?.reveals === undefined) throw new Error(`${url} does not say what it reveals`);
  });

  app.addHook('preHandler', async (request) => {
    const { reveals = 'texts', isLimitable = false } = request.routeOptions.config;
    const holder = request.keyHolder;
    if (request.is404 || holder === null || reveals === 'nothing') return;
    const access = toAccess(holder);
    const session = await requireSubject(pool, request, access);
    const ownNames = access.person === null ? [] : await listOwnNames(pool.database, holder.workspaceId, access.person);
    /** For someone without a person, sessions without one are no one else's. */
    const isOwn = (person: string | null): boolean =>
      person === null ? access.person === null : ownNames.includes(person);
    const isOwnSession = access.person !== null && session?.isOfPerson === true && isOwn(session.person);
    const ofSession = session && { isOwn: isOwnSession };
    const subject = { reveals, comparesTexts: comparesTexts(request), session: ofSession, isLimitable };
    const decision = decide(access, subject);
    if ('missing' in decision) throw missingScope(decision.missing, REFUSALS[decision.missing]);
    request.onlyNames = decision.isLimited ? ownNames : null;
    const hidden = await findHiddenNames(pool.database, holder, { ...access, ownNames });
    request.hiddenOrder = hidden?.hiddenOrder ?? null;
    const wrong = await hidden?.translate(queryOf(request));
    if (wrong !== undefined) throw hiddenName(wrong.field);
    if (reveals === 'texts' && session !== null) {
      const readsOthers =
        !isOwn(session.person) ||
        (access.texts === 'all' && (await hasTextsOfOthers(pool.database, holder.workspaceId, session.id, ownNames)));
      if (readsOthers) await noteReads(request, [session.id]);
      // Decided as a whole; what is left is to hide names, and to note other sessions, such as sub-agents in a document.
      const noteOthers = (answer: unknown) => chooseTexts(request, { texts: 'all', isOwn, isOfTexts: true }, answer);
      request.reveal = toReveal(access.texts === 'all' ? noteOthers : async () => undefined, hidden?.rename);
    } else {
      const isOfTexts = reveals === 'texts';
      request.reveal = toReveal(
        (answer) => chooseTexts(request, { texts: access.texts, isOwn, isOfTexts }, answer),
        hidden?.rename,
      );
    }
  });

  app.addHook('preSerialization', async (request, _reply, payload) =>
    request.reveal === null ? payload : await request.reveal(payload),
  );

  /** Which texts of an answer about the whole workspace stay; undefined if all do, whose reads are noted. */
  const chooseTexts = async (
    request: FastifyRequest,
    { texts, isOwn, isOfTexts }: TextChoice,
    answer: unknown,
  ): Promise<Mask['keepsTexts'] | undefined> => {
    if (texts === 'none') return () => false;
    const senders = listTextSenders(answer);
    const people = await readSessionPeople(pool.database, workspaceOf(request), [...senders.keys()]);
    if (texts === 'own')
      return (id, sender) =>
        id === undefined ? isOfTexts : isOwn(people.get(id) ?? null) && (sender === undefined || isOwn(sender));
    const isOfOther = ([id, owner]: [string, string | null]): boolean =>
      !isOwn(owner) || ![...(senders.get(id) ?? [])].every(isOwn);
    const others = [...people].filter(isOfOther).map(([id]) => id);
    await noteReads(request, others);
    return undefined;
  };
}

interface TextChoice extends Pick<Access, 'texts'> {
  isOwn: (person: string | null) => boolean;
  /** True if texts of no single session are meant to be shown. */
  isOfTexts: boolean;
}

function toReveal(
  chooseTexts: (answer: unknown) => Promise<Mask['keepsTexts'] | undefined>,
  rename: Mask['rename'],
): NonNullable<FastifyRequest['reveal']> {
  return async (answer) => {
    const keepsTexts = await chooseTexts(answer);
    if (keepsTexts === undefined && rename === undefined) return answer;
    return maskAnswer(answer, { keepsTexts: keepsTexts ?? (() => true), rename }) as typeof answer;
  };
}

/** Reads remembered by a process, so that it need not ask the database; beyond it, all are forgotten. */
const MAX_KNOWN_READS = 100_000;
const HOUR_MS = 60 * 60_000;

/** Notes who reads which sessions of others, each once an hour. */
function createReadNoter({ withTransaction }: Pick<DatabasePool, 'withTransaction'>) {
  const knownReads = new Map<string, number>();
  return async (request: FastifyRequest, sessionIds: readonly string[]): Promise<void> => {
    const [workspaceId, actor] = [workspaceOf(request), actorOf(request)];
    const hour = Math.floor(Date.now() / HOUR_MS);
    const toKey = (id: string): string => `${workspaceId} ${actor} ${id}`;
    const fresh = sessionIds.filter((id) => knownReads.get(toKey(id)) !== hour);
    if (fresh.length === 0) return;
    await withTransaction((transaction) => addTextReads(transaction, { workspaceId, actor, sessionIds: fresh }));
    if (knownReads.size + fresh.length > MAX_KNOWN_READS) knownReads.clear();
    for (const id of fresh) knownReads.set(toKey(id), hour);
  };
}

const queryOf = ({ query }: FastifyRequest): Record<string, unknown> => (query ?? {}) as Record<string, unknown>;

const comparesTexts = (request: FastifyRequest): boolean =>
  Object.entries(queryOf(request)).some(([name, value]) => value !== undefined && TEXT_PARAMETERS.has(name));

/**
 * The session that a request is about, null if it is about the whole workspace. Throws ProblemError `not-found` if there
 * is none, except for readers who may see everything, whom the route tells.
 */
async function requireSubject(
  { database }: Pick<DatabasePool, 'database'>,
  request: FastifyRequest,
  { person, texts }: Access,
): Promise<FoundSession | null> {
  const params = (request.params ?? {}) as Record<string, string | undefined>;
  const { session_id: sessionId, transcript_id, attachment_id: attachmentId } = params;
  if (sessionId === undefined && transcript_id === undefined) return null;
  const version = queryOf(request).transcript_id as string | undefined;
  const ids = { sessionId, transcriptId: transcript_id ?? version, attachmentId };
  const found = await findSubject(database, workspaceOf(request), ids);
  if (found === undefined) {
    if (texts !== 'all') throw new ProblemError('not-found', 'There is no such session');
    return { id: sessionId ?? '', person, isOfPerson: true };
  }
  // The handler must not find another session under the beginning of an id.
  if (sessionId !== undefined && texts !== 'all') params.session_id = found.id;
  return found;
}

const hiddenName = (field: string): ProblemError =>
  missingScope('people', `Names are hidden from this key. Give a name or a pseudonym from an answer, as ${field}`);
