/** A replacement of some characters of a source file's SQL. */
export interface SqlMutant {
  line: number;
  /** Offset in the source, in UTF-16 units. */
  start: number;
  original: string;
  replacement: string;
}

type Rule = [pattern: RegExp, toReplacements: (match: string) => string[]];

/**
 * Changes that keep the statement valid. One that PostgreSQL rejects would be caught by every test, and prove nothing.
 */
const RULES: readonly Rule[] = [
  [/\bAND\b(?! '|\s*\d+ (PRECEDING|FOLLOWING))/g, () => ['OR']],
  [/\bOR\b(?! UPDATE)/g, () => ['AND']],
  [/ (=|<>|<=|>=|<|>) (?=[^>])/g, (match) => toOtherComparisons(match.trim()).map((operator) => ` ${operator} `)],
  [/\bIS NOT NULL\b/g, () => ['IS NULL']],
  [/\bIS NULL\b/g, () => ['IS NOT NULL']],
  [/\bNOT (?!NULL|EXISTS|BETWEEN|MATERIALIZED|IN\b)/g, () => ['']],
  [/\bNOT EXISTS\b/g, () => ['EXISTS']],
  [/\bSELECT DISTINCT (?!ON)/g, () => ['SELECT ']],
  [/\(DISTINCT /g, () => ['(']],
  [/\bLEFT JOIN\b/g, () => ['JOIN']],
  [/\bUNION ALL\b/g, () => ['UNION']],
  [/ DESC\b/g, () => ['']],
  [/ NULLS LAST\b/g, () => [' NULLS FIRST']],
  [/\bmin\(/gi, () => ['max(']],
  [/\bmax\(/gi, () => ['min(']],
  [/\bsum\(/gi, () => ['max(']],
  [/\bbool_or\(/g, () => ['bool_and(']],
  [/\bbool_and\(/g, () => ['bool_or(']],
  [/\bgreatest\(/gi, () => ['least(']],
  [/\bleast\(/gi, () => ['greatest(']],
  [/\btrue\b/g, () => ['false']],
  [/\bfalse\b/g, () => ['true']],
  [/ \+ /g, () => [' - ']],
  [/(?<=, |IN \()'[a-z_]+'/g, () => ["'none'"]],
];

function toOtherComparisons(operator: string): string[] {
  switch (operator) {
    case '=':
      return ['<>'];
    case '<>':
      return ['='];
    case '<':
    case '>':
      return [`${operator}=`];
    default:
      return [operator.slice(0, 1)];
  }
}

/** All mutants of the SQL in a TypeScript source's template literals, recognised by their tag or their words. */
export function listSqlMutants(source: string): SqlMutant[] {
  const mutants: SqlMutant[] = [];
  for (const { start, text } of listSqlTexts(source)) {
    const bare = text.replace(/--.*/g, (comment) => ' '.repeat(comment.length));
    for (const [pattern, toReplacements] of RULES) {
      for (const match of bare.matchAll(pattern)) {
        for (const replacement of toReplacements(match[0])) {
          mutants.push(toMutant(source, start + match.index, match[0], replacement));
        }
      }
    }
    mutants.push(...listDroppedComparisons(source, start, text.length), ...listDroppedSortKeys(source, start, text));
  }
  return mutants.sort((a, b) => a.start - b.start || a.replacement.localeCompare(b.replacement));
}

/** Drops each comparison, including those with a parameter, by replacing it with true. */
function listDroppedComparisons(source: string, start: number, length: number): SqlMutant[] {
  const comparison =
    /(?<![\w."])[\w."]+(?:::\w+)? (?:=|<>|<=?|>=?) (?:'[^']*'|\$\d+|[\w."]+|\$\{[^{}`]*\})(?:::\w+)?(?:\[\])?(?![\w."(])/g;
  comparison.lastIndex = start;
  const mutants: SqlMutant[] = [];
  for (let match = comparison.exec(source); match !== null; match = comparison.exec(source)) {
    if (match.index >= start + length) break;
    const isAssignment = /\bSET\s*$/.test(source.slice(0, match.index));
    if (!isAssignment) mutants.push(toMutant(source, match.index, match[0], 'true'));
  }
  return mutants;
}

/** Drops each key but the last of a list of sort keys on a separate line. */
function listDroppedSortKeys(source: string, start: number, text: string): SqlMutant[] {
  if (!/^\s*e\./.test(text)) return [];
  const keys = text.matchAll(/[et]\.(?:(?! (?:e|t)\.)[^,])+,\s+/g);
  return [...keys].map((match) => toMutant(source, start + match.index, match[0], ''));
}

const toMutant = (source: string, start: number, original: string, replacement: string): SqlMutant => ({
  line: source.slice(0, start).split('\n').length,
  start,
  original,
  replacement,
});

/** Parts of template literals between their `${…}`. */
function listSqlTexts(source: string): { start: number; text: string }[] {
  const texts: { start: number; text: string }[] = [];
  /**
   * For each open template literal, a flag for SQL, where its text began, and the number of open braces of its `${`.
   */
  const open: { isSql: boolean; start: number; braces: number }[] = [];
  let isInText = false;
  for (let index = 0; index < source.length; index++) {
    const character = source[index];
    const innermost = open.at(-1);
    if (isInText && innermost !== undefined) {
      const isEnd = character === '`';
      const isHole = character === '$' && source[index + 1] === '{';
      if (character === '\\') index += 1;
      if (!isEnd && !isHole) continue;
      if (innermost.isSql) texts.push({ start: innermost.start, text: source.slice(innermost.start, index) });
      if (isEnd) open.pop();
      else innermost.braces = 1;
      isInText = false;
      if (isHole) index += 1;
    } else if (character === '`') {
      const isSql =
        isSqlTag(source.slice(0, index)) ||
        /^\s*(SELECT|UPDATE|INSERT|DELETE|WITH|e\.)\b/.test(source.slice(index + 1));
      open.push({ isSql, start: index + 1, braces: 0 });
      isInText = true;
    } else if (source.startsWith('//', index) || source.startsWith('/*', index)) {
      const end = source.indexOf(source[index + 1] === '/' ? '\n' : '*/', index);
      index = end === -1 ? source.length : end;
    } else if (character === "'" || character === '"') {
      const end = source.slice(index + 1).search(new RegExp(`(?<!\\\\)${character}`));
      index = end === -1 ? source.length : index + 1 + end;
    } else if (innermost !== undefined && (character === '{' || character === '}')) {
      innermost.braces += character === '{' ? 1 : -1;
      if (innermost.braces > 0) continue;
      innermost.start = index + 1;
      isInText = true;
    }
  }
  return texts;
}

const isSqlTag = (before: string): boolean => /(\bsql|\bsql\.raw\(\s*)$/.test(before);
