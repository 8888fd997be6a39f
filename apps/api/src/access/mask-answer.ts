import { isTextField, PERSON_FIELDS, toNamed } from '@recount/contract/access';

/** The parts of an answer that a reader may see. */
export interface Mask {
  /**
   * True if the texts of a session may be shown; undefined stands for texts of no single session. `sender` is the person
   * of one version, where an object is about that.
   */
  keepsTexts(sessionId: string | undefined, sender: string | null | undefined): boolean;
  /** Changes the name of a person or machine; undefined leaves names as they are. */
  rename?: ((field: string, name: string) => string) | undefined;
}

type Members = Record<string, unknown>;

const isMembers = (value: unknown): value is Members => typeof value === 'object' && value !== null;

/** The session that an object of an answer is about, or else the object around it. */
function sessionOf(value: Members, outer: string | undefined): string | undefined {
  for (const name of ['session_id', 'session']) {
    const id = value[name];
    if (typeof id === 'string') return id;
  }
  return outer;
}

const isEmptyText = (value: unknown): boolean =>
  value === null ||
  value === undefined ||
  value === '' ||
  (isMembers(value) && !(value instanceof Date) && Object.keys(value).length === 0);

/** The sessions that an answer shows texts of, with the people of single versions that it names. */
export function listTextSenders(answer: unknown): Map<string, Set<string | null>> {
  const senders = new Map<string, Set<string | null>>();
  const add = (sessionId: string, value: Members): void => {
    const known = senders.get(sessionId) ?? new Set();
    if ('sent_person' in value) known.add(value.sent_person as string | null);
    senders.set(sessionId, known);
  };
  const visit = (value: unknown, outer: string | undefined): void => {
    if (Array.isArray(value)) for (const item of value) visit(item, outer);
    else if (isMembers(value)) {
      const sessionId = sessionOf(value, outer);
      for (const [name, member] of Object.entries(value)) {
        if (!isTextField(name, value)) visit(member, sessionId);
        else if (sessionId !== undefined && !isEmptyText(member)) add(sessionId, value);
      }
    }
  };
  visit(answer, undefined);
  return senders;
}

/** Titles are never null; without one, a session is called by its id. */
function toEmpty(name: string, value: unknown, sessionId: string | undefined): unknown {
  if (name === 'title') return sessionId ?? '';
  if (Array.isArray(value)) return [];
  return name === 'metadata' ? {} : null;
}

/** The answer without the texts, and with the names, that the mask says. */
export function maskAnswer(answer: unknown, mask: Mask): unknown {
  const visit = (value: unknown, outer: string | undefined): unknown => {
    if (Array.isArray(value)) return value.map((item) => visit(item, outer));
    if (!isMembers(value) || value instanceof Date) return value;
    const sessionId = sessionOf(value, outer);
    const sender = 'sent_person' in value ? (value.sent_person as string | null) : undefined;
    const shown = mask.rename === undefined ? value : hideCandidates(hideTeam(value, mask.rename));
    return Object.fromEntries(
      Object.entries(shown).map(([name, member]) => {
        const isText = isTextField(name, value);
        if (isText && !mask.keepsTexts(sessionId, sender)) return [name, toEmpty(name, member, sessionId)];
        const named = toNamed(name, value);
        if (named !== undefined) return [name, renameAll(named, member, mask)];
        if (isText) return [name, member];
        if (mask.rename !== undefined && isWords(name, member)) return [name, []];
        return [name, visit(member, sessionId)];
      }),
    );
  };
  return visit(answer, undefined);
}

function renameAll(field: string, value: unknown, { rename }: Mask): unknown {
  if (rename === undefined) return value;
  // Lists of names can be in the order of the real names, which would tell who is who.
  if (Array.isArray(value))
    return value.map((item) => renameAll(field, item, { keepsTexts: () => false, rename })).toSorted();
  return typeof value === 'string' ? rename(field, value) : value;
}

/** Sentences about filters that match nothing, which offer names. */
const isWords = (name: string, value: unknown): boolean =>
  name === 'unmatched' && Array.isArray(value) && value.every((item) => typeof item === 'string');

/** Removes the lead and the cost centre of a team with a hidden name, because both identify the team. */
function hideTeam(value: Members, rename: NonNullable<Mask['rename']>): Members {
  if (typeof value.name !== 'string' || toNamed('name', value) !== 'team' || rename('team', value.name) === value.name)
    return value;
  return { ...value, cost_centre: null, lead: null };
}

/** Removes a name that was typed, with the names that it could mean. */
function hideCandidates(value: Members): Members {
  if (typeof value.field !== 'string' || !PERSON_FIELDS.has(value.field) || !('candidates' in value)) return value;
  return { ...value, value: '', candidates: [], message: `No ${value.field} matches` };
}
