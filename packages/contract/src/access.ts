// Who may see what, in words that API, exports, SQL and command line share. Without schemas, so that command lines
// need not load those.

/**
 * Rights of a key. `admin` includes all others but `operator`, `texts` and `enrol`; `read` is figures and texts of
 * everyone, if the workspace lets readers see texts. `enrol` stands alone, as its key is on every machine of a fleet.
 */
export const API_KEY_SCOPES = [
  'ingest',
  'read',
  'figures',
  'own',
  'team',
  'people',
  'texts',
  'admin',
  'operator',
  'enrol',
] as const;
export type ApiKeyScope = (typeof API_KEY_SCOPES)[number];

/** Scopes that a machine may get by a code. */
export const DEVICE_SCOPES = ['ingest', 'read', 'figures', 'own'] as const satisfies readonly ApiKeyScope[];
export type DeviceScope = (typeof DEVICE_SCOPES)[number];

/** One sentence fragment for each scope: what a key with it may do. */
export const SCOPE_WORDS: Readonly<Record<ApiKeyScope, string>> = {
  ingest: 'upload',
  read: 'read everything',
  figures: 'read figures of everyone, without texts',
  own: 'read the sessions of its owner, with their texts',
  team: 'see, of people besides its owner, only names in the teams that its owner leads',
  people: 'see names of people where the workspace hides them',
  texts: 'read texts of everyone, each read noted in the audit log',
  admin: 'do everything, including deleting',
  operator: 'name workspaces and check the whole installation',
  enrol: 'get a machine its own key to upload with, and nothing else',
};

/** Named sets of scopes. A key has the role whose scopes it has. */
export const ROLES = {
  viewer: ['figures', 'own'],
  member: ['ingest', 'figures', 'own'],
  'team-lead': ['figures', 'own', 'team'],
  auditor: ['texts', 'people'],
  admin: ['ingest', 'read', 'admin'],
  operator: ['operator'],
  enrol: ['enrol'],
} as const satisfies Record<string, readonly ApiKeyScope[]>;
export type Role = keyof typeof ROLES;
export const ROLE_NAMES = Object.keys(ROLES) as Role[];

/** The role with exactly these scopes; null if there is none. */
export function toRole(scopes: readonly string[]): Role | null {
  const has = new Set(scopes);
  return ROLE_NAMES.find((role) => ROLES[role].length === has.size && ROLES[role].every((s) => has.has(s))) ?? null;
}

/** True if scopes mean the sessions or the teams of a key's person, so that the key needs one. */
export const needsPerson = (scopes: readonly string[]): boolean => scopes.includes('own') || scopes.includes('team');

/** Scopes that let a key read something; which rows and fields, the API decides. */
export const READING_SCOPES: ReadonlySet<string> = new Set(['read', 'figures', 'own', 'texts', 'admin']);

/** True if a key shows texts of everyone, if the workspace lets readers see them. */
export const showsAllTexts = (scopes: readonly string[]): boolean =>
  ['read', 'texts', 'admin'].some((scope) => scopes.includes(scope));

/** True if a key shows figures of everyone; with `own` alone it shows the sessions of its person. */
export const showsFigures = (scopes: readonly string[]): boolean => scopes.includes('figures') || showsAllTexts(scopes);

/** True if a key shows texts, of everyone or of the sessions of its person. */
export const showsTexts = (scopes: readonly string[]): boolean => scopes.includes('own') || showsAllTexts(scopes);

/** True if a browser can sign in to the dashboard with a key of these scopes. */
export const canSignIn = (scopes: readonly string[]): boolean => scopes.some((scope) => READING_SCOPES.has(scope));

const DAY_MS = 24 * 60 * 60_000;

/** Bounds of the time that a link that signs in may be used, in milliseconds: five minutes to seven days, by default one. */
export const SIGN_IN_LINK_MS = { min: 5 * 60_000, max: 7 * DAY_MS, default: DAY_MS } as const;

/** True for a key that is exchanged for keys of machines, so that it has this scope only. */
export const isEnrolment = (scopes: readonly string[]): boolean => scopes.includes('enrol');

/** Who may see the texts of others: everyone who reads, or only those with the scope `texts`. */
export const TEXT_READERS = ['readers', 'auditors'] as const;
export type TextReaders = (typeof TEXT_READERS)[number];

/**
 * Fields of answers, columns of exports and of SQL views that hold text: what people and agents wrote, read or changed.
 * Who may see figures only gets `null` or something empty instead, and the session's id for a title.
 */
export const TEXT_FIELDS: ReadonlySet<string> = new Set([
  ...['title', 'session_title', 'given_title', 'initial_prompt', 'note', 'tags', 'tag'],
  ...['content_text', 'thinking_text', 'tool_input', 'result_text', 'snippet', 'text'],
  // Paths, commands and whatever else lines hold.
  ...['path', 'file_path', 'subject', 'metadata', 'details', 'reason'],
]);

/** Title and subject of a shared view, which has a time zone, and the path of a link, which expires. */
const isOfShare = (name: string, of: object): boolean =>
  name === 'path' ? 'expires_at' in of : (name === 'title' || name === 'subject') && 'time_zone' in of;

/** True if a field of this object holds text. `error` does in streams; elsewhere it is the name of an error. */
export const isTextField = (name: string, of: object): boolean =>
  (TEXT_FIELDS.has(name) && !isOfShare(name, of)) || (name === 'error' && 'stream_id' in of);

/** A person, or something that may be one person's. Also the query parameters with such names. */
export type NamedKind = 'person' | 'machine' | 'team' | 'cost_centre';

/** Fields and columns that name a person, or something that may be one person's, with what they name. */
export const PERSON_FIELDS: ReadonlyMap<string, NamedKind> = new Map([
  ['person', 'person'],
  ['sent_person', 'person'],
  ['actor_name', 'person'],
  ['marked_by_name', 'person'],
  ['dismissed_by_name', 'person'],
  // In teams, of their leads.
  ['display_name', 'person'],
  ['machine', 'machine'],
  ['team', 'team'],
  ['cost_centre', 'cost_centre'],
]);

/** The kind of name that a field of this object holds; undefined if it holds none. `subject_type` says it of a subject. */
export function toNamed(name: string, of: object): NamedKind | undefined {
  if (name === 'subject' && 'subject_type' in of && of.subject_type === 'person') return 'person';
  if (name === 'name' && 'members' in of) return 'team';
  return PERSON_FIELDS.get(name);
}

/** Query parameters that compare with texts, so that the number of answers tells what texts say. */
export const TEXT_PARAMETERS: ReadonlySet<string> = new Set(['q', 'prompt', 'contains', 'file', 'tag']);
