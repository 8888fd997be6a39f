import { newPersonSchema, type PeopleImport, type PeopleImportRow, type PersonChange } from '@recount/contract';
import {
  changePerson,
  createPerson,
  createTeam,
  type Database,
  type DatabasePool,
  listPeople,
  listTeams,
  PeopleError,
  type PeopleScope,
  type Person,
  resolvePerson,
} from '@recount/db';
import { createCsvRows } from '@recount/db/export';

/** Columns of the file, by the fields that they fill. */
const COLUMNS = {
  name: 'display_name',
  email: 'email',
  names: 'names',
  team: 'team',
  cost_centre: 'cost_centre',
  team_from: 'team_from',
  leads: 'leads',
  joined: 'joined_on',
  left: 'left_on',
  notes: 'notes',
} as const;
type Column = keyof typeof COLUMNS;
/** Columns of several names, which are separated by semicolons. */
const LISTS: readonly Column[] = ['names', 'leads'];
const COLUMN_NAMES = Object.keys(COLUMNS) as Column[];

const MAX_ROWS = 5000;
const PAGE_PEOPLE = 500;

interface Line {
  line: number;
  cells: Partial<Record<Column, string>>;
}

/** Ends a transaction that must leave nothing behind. */
class DryRun extends Error {}

/**
 * Adds and changes people as a CSV file says, in one transaction: nothing if a line has an error, or without `isApplied`.
 * People are found by e-mail address, else by name. Empty cells change nothing; names are added. Missing teams are made; a team has the lead that was named last.
 */
export async function importPeople(
  pool: Pick<DatabasePool, 'withTransaction'>,
  scope: PeopleScope,
  { csv, isApplied }: { csv: string; isApplied: boolean },
): Promise<PeopleImport> {
  const { lines, error } = await parseFile(csv);
  if (error !== undefined) return { applied: false, rows: [error], created_teams: [] };
  const result: PeopleImport = { applied: false, rows: [], created_teams: [] };
  try {
    await pool.withTransaction(async (transaction) => {
      const seen = new Map<string, number>();
      for (const line of lines)
        result.rows.push(await importLine(transaction, scope, line, seen, result.created_teams));
      if (!isApplied || result.rows.some((row) => row.error !== null)) throw new DryRun();
    });
    result.applied = true;
  } catch (reason) {
    if (!(reason instanceof DryRun)) throw reason;
  }
  return result;
}

const toError = (line: number, error: string): PeopleImportRow => ({
  line,
  name: '',
  action: 'error',
  fields: [],
  error,
});

async function parseFile(csv: string): Promise<{ lines: Line[]; error?: PeopleImportRow }> {
  const { CsvError, parse } = await import('csv-parse/sync');
  try {
    const records = parse(csv, {
      bom: true,
      info: true,
      relax_column_count: true,
      skip_empty_lines: true,
      trim: true,
    }) as unknown as { record: string[]; info: { lines: number } }[];
    const [head, ...rest] = records;
    const columns = (head?.record ?? []).map((name) => name.toLowerCase());
    const unknown = columns.find((name) => !COLUMN_NAMES.includes(name as Column));
    if (!columns.includes('name') || unknown !== undefined || new Set(columns).size < columns.length) {
      const what = unknown === undefined ? '' : `“${unknown}” is none. `;
      const message = `${what}The first line names the columns, each once: name, and any of ${COLUMN_NAMES.slice(1).join(', ')}`;
      return { lines: [], error: toError(1, message) };
    }
    if (rest.length > MAX_ROWS) return { lines: [], error: toError(MAX_ROWS + 2, `More than ${MAX_ROWS} people`) };
    const lines = rest.map(({ record, info }) => ({
      line: info.lines,
      cells: Object.fromEntries(record.map((cell, index) => [columns[index] ?? '', withoutApostrophe(cell)])),
    }));
    return { lines };
  } catch (reason) {
    if (!(reason instanceof CsvError)) throw reason;
    return {
      lines: [],
      error: toError(Number(reason.lines ?? 1), `Not CSV: ${String(reason.code).toLowerCase().replaceAll('_', ' ')}`),
    };
  }
}

/** A file of `exportPeople` has an apostrophe before what a spreadsheet could take for a formula. */
const withoutApostrophe = (cell: string): string => cell.replace(/^'(?=[=+\-@])/, '');

/** The names of a list: separated by semicolons, and in quotes if they have one or a quote. */
const splitList = (cell: string): string[] =>
  [...cell.matchAll(/\s*(?:"((?:[^"]|"")*)"\s*(?=;|$)|([^;]*))(?:;|$)/g)]
    .map(([, quoted, plain = '']) => quoted?.replaceAll('""', '"') ?? plain.trim())
    .filter(Boolean);

const joinList = (names: readonly string[]): string =>
  names.map((name) => (/[;"]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name)).join('; ');

async function importLine(
  transaction: Database,
  scope: PeopleScope,
  { line, cells }: Line,
  seen: Map<string, number>,
  createdTeams: string[],
): Promise<PeopleImportRow> {
  const { workspaceId } = scope;
  const filled = Object.entries(cells).filter(([, cell]) => cell !== '') as [Column, string][];
  const values = filled.map(([column, cell]): [string, unknown] => [
    COLUMNS[column] ?? '',
    LISTS.includes(column) ? splitList(cell) : cell,
  ]);
  const name = cells.name ?? '';
  const { success, data, error } = newPersonSchema.safeParse(Object.fromEntries(values));
  if (!success) {
    const [issue] = error.issues;
    const column = COLUMN_NAMES.find((each) => COLUMNS[each] === issue?.path[0]) ?? 'name';
    return { ...toError(line, `${column}: ${issue?.message ?? 'not valid'}`), name };
  }
  try {
    const found = await findExisting(transaction, workspaceId, data);
    const key = found?.id ?? data.display_name.toLowerCase();
    const earlier = seen.get(key);
    if (earlier !== undefined) return { ...toError(line, `The same person as on line ${earlier}`), name };
    seen.set(key, line);
    for (const team of [data.team, ...(data.leads ?? [])]) await makeTeam(transaction, scope, team, createdTeams);
    if (found === undefined) {
      const id = await createPerson(transaction, scope, { ...toFields(data), displayName: data.display_name }, 'csv');
      seen.set(id, line);
      return { line, name, action: 'create', fields: values.map(([field]) => field), error: null };
    }
    const fields = listChanges(found, data);
    if (fields.length === 0) return { line, name, action: 'unchanged', fields, error: null };
    const names = [...new Set([...found.names, ...(data.names ?? [])])];
    const leads = data.leads && [...found.leads, ...data.leads];
    await changePerson(transaction, scope, found.id, { ...toFields(data), names, leads }, 'csv');
    return { line, name, action: 'change', fields, error: null };
  } catch (reason) {
    if (!(reason instanceof PeopleError)) throw reason;
    return { ...toError(line, reason.message), name };
  }
}

const toFields = (person: PersonChange) => ({
  ...{ displayName: person.display_name, email: person.email, names: person.names, notes: person.notes },
  ...{ team: person.team, costCentre: person.cost_centre, teamFrom: person.team_from },
  ...{ joinedOn: person.joined_on, leftOn: person.left_on, leads: person.leads },
});

/** Throws PeopleError if address and name are of two people. */
async function findExisting(
  transaction: Database,
  workspaceId: string,
  { display_name: name, email }: PersonChange,
): Promise<Person | undefined> {
  const find = (text: string | null | undefined) => (text ? resolvePerson(transaction, workspaceId, text) : undefined);
  const [byEmail, byName] = [await find(email), await find(name)];
  if (byEmail && byName && byEmail.id !== byName.id) {
    const message = `The e-mail address belongs to ${byEmail.display_name}, the name to ${byName.display_name}. Merge them first`;
    throw new PeopleError('name-taken', 'email', message);
  }
  const id = byEmail?.id ?? byName?.id;
  return id === undefined ? undefined : (await listPeople(transaction, workspaceId, { id }, { limit: 1 }))[0];
}

async function makeTeam(
  transaction: Database,
  scope: PeopleScope,
  name: string | null | undefined,
  created: string[],
): Promise<void> {
  if (!name) return;
  const known = await listTeams(transaction, scope.workspaceId, { name, limit: 1 });
  if (known.length > 0) return;
  await createTeam(transaction, scope, { name });
  created.push(name);
}

function listChanges(person: Person, wanted: PersonChange): string[] {
  const [current] = person.memberships;
  const hasAll = (list: readonly string[] = [], of: readonly string[]): boolean =>
    list.every((name) => of.some((each) => each.toLowerCase() === name.toLowerCase()));
  const same = (a: string | null | undefined, b: string | null): boolean => a === undefined || a === b;
  const isSameTeam = wanted.team === undefined || wanted.team?.toLowerCase() === current?.team?.toLowerCase();
  const checks: [string, boolean][] = [
    ['display_name', same(wanted.display_name, person.display_name)],
    ['email', wanted.email === undefined || wanted.email?.toLowerCase() === person.email?.toLowerCase()],
    ['names', hasAll(wanted.names, person.names)],
    ['team', isSameTeam],
    ['cost_centre', same(wanted.cost_centre, current?.cost_centre ?? null)],
    ['team_from', same(wanted.team_from, current?.from ?? null)],
    ['leads', hasAll(wanted.leads, person.leads)],
    ['joined_on', same(wanted.joined_on, person.joined_on)],
    ['left_on', same(wanted.left_on, person.left_on)],
    ['notes', same(wanted.notes, person.notes)],
  ];
  return checks.flatMap(([field, isSame]) => (isSame ? [] : [field]));
}

/** A CSV file of all people, which `importPeople` reads. */
export async function exportPeople(database: Database, workspaceId: string): Promise<string> {
  const rows: (string | null)[][] = [];
  for (let after: { key: string; id: string } | undefined, isMore = true; isMore; ) {
    const page = await listPeople(database, workspaceId, {}, { after, limit: PAGE_PEOPLE });
    rows.push(...page.map(toCells));
    const last = page.at(-1);
    after = last && { key: last.sort_key, id: last.id };
    isMore = page.length === PAGE_PEOPLE;
  }
  return createCsvRows(COLUMN_NAMES, rows);
}

function toCells(person: Person): (string | null)[] {
  const { display_name: name, email, joined_on: joined, left_on: left, notes } = person;
  const [current] = person.memberships;
  const names = [...person.names, ...person.merged.flatMap((each) => each.names)];
  const others = names.filter((each) => each !== name && each !== email);
  const cells = [
    name,
    email,
    joinList(others),
    current?.team,
    current?.cost_centre,
    current?.from,
    joinList(person.leads),
    joined,
    left,
    notes,
  ];
  return cells.map((cell) => cell || null);
}
