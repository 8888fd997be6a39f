import type { JsonObject, JsonValue } from '../lines/json.ts';
import { cutCharacters, MAX_TYPE_LENGTH } from '../records/fields.ts';
import type { TranscriptRecord, UnknownRecord } from '../records/records.ts';
import type { ReaderContext } from './agent.ts';

/** A type of lines, events or rows that a reader knows and does not read. */
export interface UnreadType {
  /** Why it is not read, for people: `repeats the response items`, `progress bars of the terminal`. */
  why: string;
  /**
   * Fields that may hold text or usage all the same, and that repeat other lines or are of no interest. They are paths
   * such as `data.error.message`, with everything below them. `*` stands for any one field; array elements have the
   * path of their array. `['*']` accepts whatever such a line holds. Defaults to none.
   */
  mayHold?: readonly string[];
}

type NoticeContext = Pick<ReaderContext, 'report' | 'isUsageOnly'>;

/**
 * Content that a reader knows and does not read, by type. A name that ends in `*` stands for all types that begin with
 * it.
 */
export type UnreadTypes = Readonly<Record<string, UnreadType>>;

/** Types that are not read for the same reason, their names separated by spaces. */
export const unread = (names: string, why: string, ...mayHold: string[]): UnreadTypes =>
  Object.fromEntries(names.split(' ').map((name): [string, UnreadType] => [name, { why, mayHold }]));

/** Content in a part of a transcript that is not read. */
export interface UnreadContent {
  usage: boolean;
  text: boolean;
}

const MAX_NAME_LENGTH = 256;
/** Values looked at in a line; a larger line is searched up to that number. */
const MAX_VALUES = 10_000;
const MAX_DEPTH = 64;

/** Fields that count tokens or dollars, such as `input_tokens`, `outputTokens`, `totalTokens`, `costUSD`. */
const COUNT_FIELD = /(?:tokens?|token_?count|cost(?:_?(?:usd|in_usd|dollars))?)$/i;
/** Objects whose numbers are counts, such as `usage`, `tokens`, `modelUsage`, `token_usage`. */
const COUNTS_FIELD = /(?:usage|tokens|token_?counts?|cost)$/i;
/** Settings and sizes of a context, which no response has used. */
const LIMIT_FIELD = /max|limit|budget|window|threshold|remaining|percent/i;
/** Fields that hold what somebody wrote, even a single word. */
const TEXT_FIELD =
  /^(?:text|content|contents|prompt|message|messages|summary|thinking|reasoning|answer|question|response|output|body)$/i;
/** Any other text with this many words is one as well. Ids, paths and settings have fewer. */
const TEXT_WORDS = /\S(?:\s+\S+){3}/;

export interface UnreadLines {
  /**
   * The records of a line that the reader does not read. None if its type is on the list, else an `unknown` record. A
   * line on the list that holds text or usage that the list does not expect is reported as `unread_content`.
   *
   * `name` is the type's name for people, if a part of the line has a separate type; default `type`.
   */
  read(type: string, value: JsonObject, name?: string): TranscriptRecord[];
}

/**
 * Applies a reader's list of what it does not read, so that nothing with content is dropped silently. `envelope` has
 * fields of every line that are not searched for content.
 */
export function createUnreadLines(
  types: UnreadTypes,
  context: NoticeContext,
  envelope: ReadonlySet<string> = NO_FIELDS,
): UnreadLines {
  const expectedOf = new Map<UnreadType, Expected>();
  const toExpected = (unread: UnreadType): Expected => {
    const expected = expectedOf.get(unread) ?? toPaths(unread.mayHold);
    expectedOf.set(unread, expected);
    return expected;
  };
  let prefixes: string[] | undefined;
  const find = (type: string): UnreadType | undefined => {
    if (Object.hasOwn(types, type)) return types[type];
    prefixes ??= Object.keys(types).filter((each) => each.endsWith('*'));
    const prefix = prefixes.find((each) => type.startsWith(each.slice(0, -1)));
    return prefix === undefined ? undefined : types[prefix];
  };
  return {
    read(type, value, name = type) {
      const unread = find(name) ?? find(type);
      if (unread === undefined) return [newUnknown(type, omitFields(value, envelope), name)];
      reportContent(name, searchContent(value, toExpected(unread), envelope), context);
      return [];
    },
  };
}

/** A copy of an object without these fields. */
export function omitFields(value: JsonObject, fields: ReadonlySet<string>): JsonObject {
  return Object.fromEntries(Object.entries(value).filter(([field]) => !fields.has(field)));
}

/** A record of a line, or a part of one, whose type is on no list. `value` is searched for content that is lost. */
export function newUnknown(type: string, value: JsonObject | undefined, name = type): UnknownRecord {
  return { kind: 'unknown', type, name: cutCharacters(name, MAX_NAME_LENGTH), value };
}

/** Reports text or usage in a value that is not read, as a notice that names its type. A scan for usage ignores texts. */
export function reportUnreadContent(
  name: string,
  value: JsonValue | undefined,
  context: NoticeContext,
  mayHold?: readonly string[],
): void {
  reportContent(name, findUnreadContent(value, mayHold), context);
}

function reportContent(name: string, { usage, text }: UnreadContent, { report, isUsageOnly = false }: NoticeContext) {
  const shown = cutCharacters(name, MAX_TYPE_LENGTH);
  if (usage) report('unread_content', 'notice', `Usage that is not counted, in lines of type ${shown}`);
  if (text && !isUsageOnly) report('unread_content', 'notice', `Text that is not shown, in lines of type ${shown}`);
}

/** Reports counts above 0 in a response's usage that are not among the fields that its reader knows, by their names. */
export function reportUnknownCounts(
  usage: JsonObject | undefined,
  known: ReadonlySet<string>,
  { report }: Pick<ReaderContext, 'report'>,
): void {
  for (const [field, value] of Object.entries(usage ?? {})) {
    if (typeof value !== 'number' || value <= 0 || known.has(field)) continue;
    report('unknown_usage', 'notice', `Unknown field of usage: ${cutCharacters(field, MAX_TYPE_LENGTH)}`);
  }
}

/** Paths of fields that may hold text or usage, below the place that is searched. */
type Expected = readonly (readonly string[])[];

const NO_FIELDS: ReadonlySet<string> = new Set();

/** True if a value holds usage or a text outside the fields in `mayHold`, see UnreadType. */
export function findUnreadContent(value: JsonValue | undefined, mayHold?: readonly string[]): UnreadContent {
  return searchContent(value, toPaths(mayHold), NO_FIELDS);
}

const toPaths = (mayHold: readonly string[] = []): Expected => mayHold.map((path) => path.split('.'));

/** `envelope` has fields of the value itself that are not searched. */
function searchContent(value: JsonValue | undefined, paths: Expected, envelope: ReadonlySet<string>): UnreadContent {
  const found: UnreadContent = { usage: false, text: false };
  if (value === undefined || stepInto(paths, '*') === undefined) return found;
  let valueCount = 0;
  const search = (child: JsonValue, expected: Expected, depth: number, isText: boolean, isCount: boolean): void => {
    if (++valueCount > MAX_VALUES || depth > MAX_DEPTH || (found.usage && found.text)) return;
    if (typeof child === 'string') found.text ||= (isText && child.trim() !== '') || TEXT_WORDS.test(child);
    else if (typeof child === 'number') found.usage ||= isCount && child > 0;
    else if (Array.isArray(child)) for (const element of child) search(element, expected, depth + 1, isText, isCount);
    else if (typeof child === 'object' && child !== null) searchFields(child, expected, depth + 1, isCount);
  };
  const searchFields = (object: JsonObject, expected: Expected, depth: number, isInCounts: boolean): void => {
    for (const field in object) {
      const child = object[field];
      // Most values are flags and times of no content.
      if (child === null || child === undefined || typeof child === 'boolean') continue;
      if (depth === 1 && envelope.has(field)) continue;
      const below = expected.length === 0 ? expected : stepInto(expected, field);
      if (below === undefined) continue;
      const isText = typeof child !== 'number' && TEXT_FIELD.test(field);
      search(child, below, depth, isText, typeof child !== 'string' && isCountField(field, child, isInCounts));
    }
  };
  search(value, paths, 0, false, false);
  return found;
}

const isCountField = (field: string, child: JsonValue, isInCounts: boolean): boolean =>
  (isInCounts || (typeof child === 'number' ? COUNT_FIELD : COUNTS_FIELD).test(field)) && !LIMIT_FIELD.test(field);

/** The paths that continue below a field; undefined if one of them ends there, so that the field is expected. */
function stepInto(expected: Expected, field: string): Expected | undefined {
  const below = expected.filter(([first]) => first === field || first === '*').map((path) => path.slice(1));
  return below.some((path) => path.length === 0) ? undefined : below;
}
