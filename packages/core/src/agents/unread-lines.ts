import { cutCharacters, MAX_TYPE_LENGTH } from '../records/fields.ts';
import type { JsonObject, JsonValue } from '../rows.ts';
import type { ReaderContext } from './agent.ts';
import type { TranscriptRecord, UnknownRecord } from './records.ts';

/** A type of lines, events or rows that a reader knows and does not read. */
export interface UnreadType {
  /** Why it is not read, for people: `repeats the response items`, `progress bars of the terminal`. */
  why: string;
  /**
   * Fields that may hold text or usage all the same, and that are known to repeat other lines or to be of no interest:
   * paths such as `data.error.message`, with everything below them. `*` stands for any one field; array elements have
   * the path of their array. `['*']` accepts whatever such a line holds. Default: none.
   */
  mayHold?: readonly string[];
}

type NoticeContext = Pick<ReaderContext, 'report' | 'isUsageOnly'>;

/** What a reader knows and does not read, by type. A name that ends in `*` stands for all types that begin with it. */
export type UnreadTypes = Readonly<Record<string, UnreadType>>;

/** Content in a part of a transcript that is not read. */
export interface UnreadContent {
  usage: boolean;
  text: boolean;
}

const MAX_NAME_LENGTH = 256;
/** Values looked at in a line; a larger line is searched as far as that. */
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
/** Any other text with this many words is one as well: ids, paths and settings have fewer. */
const TEXT_WORDS = /\S(?:\s+\S+){3}/;

interface UnreadLines {
  /**
   * The records of a line that the reader does not read: none if its type is on the list, else an `unknown` record. A
   * line on the list that holds text or usage that the list does not expect is reported as `unread_content`.
   *
   * `name`: how the type is called for people, if a part of the line has a type of its own; default `type`.
   */
  read(type: string, value: JsonObject, name?: string): TranscriptRecord[];
}

/** Applies a reader's list of what it does not read, so that nothing with content is dropped silently. */
export function createUnreadLines(types: UnreadTypes, context: NoticeContext): UnreadLines {
  const exact = new Map(Object.entries(types));
  const prefixes = Object.entries(types)
    .filter(([type]) => type.endsWith('*'))
    .map(([type, unread]) => [type.slice(0, -1), unread] as const);
  const find = (type: string): UnreadType | undefined =>
    exact.get(type) ?? prefixes.find(([prefix]) => type.startsWith(prefix))?.[1];
  return {
    read(type, value, name = type) {
      const unread = find(name) ?? find(type);
      if (unread === undefined) return [newUnknown(type, value, name)];
      reportUnreadContent(name, value, context, unread.mayHold);
      return [];
    },
  };
}

/** A record of a line, or a part of one, whose type is on no list. `value` is searched for content that is lost. */
export function newUnknown(type: string, value: JsonObject | undefined, name = type): UnknownRecord {
  return { kind: 'unknown', type, name: cutCharacters(name, MAX_NAME_LENGTH), value };
}

/** Reports text or usage in a value that is not read, as a notice that names its type. A scan for usage ignores texts. */
export function reportUnreadContent(
  name: string,
  value: JsonValue | undefined,
  { report, isUsageOnly = false }: NoticeContext,
  mayHold: readonly string[] = [],
): void {
  const { usage, text } = findUnreadContent(value, mayHold);
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

/** Whether a value holds usage or a text outside the fields in `mayHold`: see UnreadType. */
export function findUnreadContent(value: JsonValue | undefined, mayHold: readonly string[] = []): UnreadContent {
  const found: UnreadContent = { usage: false, text: false };
  const expected = mayHold.map((path) => path.split('.'));
  if (expected.some(([first]) => first === '*')) return found;
  let valueCount = 0;
  const search = (child: JsonValue, path: readonly string[], isText: boolean, isCount: boolean): void => {
    if (++valueCount > MAX_VALUES || path.length > MAX_DEPTH || (found.usage && found.text)) return;
    if (typeof child === 'string') found.text ||= (isText && child.trim() !== '') || TEXT_WORDS.test(child);
    else if (typeof child === 'number') found.usage ||= isCount && child > 0;
    else if (Array.isArray(child)) for (const element of child) search(element, path, isText, isCount);
    else if (typeof child === 'object' && child !== null) searchFields(child, path, isCount);
  };
  const searchFields = (object: JsonObject, path: readonly string[], isInCounts: boolean): void => {
    for (const [field, child] of Object.entries(object)) {
      const fieldPath = [...path, field];
      if (expected.some((parts) => matches(parts, fieldPath))) continue;
      const isNumber = typeof child === 'number';
      const isCount = (isInCounts || (isNumber ? COUNT_FIELD : COUNTS_FIELD).test(field)) && !LIMIT_FIELD.test(field);
      search(child, fieldPath, TEXT_FIELD.test(field), isCount);
    }
  };
  if (value !== undefined) search(value, [], false, false);
  return found;
}

const matches = (parts: readonly string[], path: readonly string[]): boolean =>
  parts.length === path.length && parts.every((part, index) => part === '*' || part === path[index]);
