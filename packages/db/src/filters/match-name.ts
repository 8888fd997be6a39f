/** The meaning of a typed name: all names that it matches equally well, or else the most similar ones, best first. */
export interface NameMatch {
  names: string[];
  nearest: string[];
}

/** Number of names suggested in an answer. More are no help. */
const MAX_OFFERED = 5;
/** Minimum similarity of a misspelling, as the share of common letter pairs. */
const MIN_SIMILARITY = 0.35;
/** The end of longer texts is compared, because a path's end tells most. */
const MAX_COMPARED_LENGTH = 200;

/**
 * Finds which of `names` `wanted` means (the same name, the same ignoring case, the last folders of a path, a prefix of
 * a name, a part of a name). The first rule that matches any name decides, and all that it matches are meant. An
 * ellipsis, the abbreviation in tables, stands for any text. If no rule matches, the search for similar names takes
 * some 0.2 s for 10,000 names; `suggests: false` omits it.
 */
export function matchName(
  wanted: string,
  names: readonly string[],
  { suggests = true }: { suggests?: boolean } = {},
): NameMatch {
  if (names.includes(wanted)) return { names: [wanted], nearest: [] };
  const typed = wanted.toLowerCase().replace(/(?<=.)\/+$/, '');
  const [start = '', ...gaps] = typed.split('…');
  const fitsGaps = (name: string, from: number): boolean => {
    let position = from;
    for (const part of gaps) {
      const index = name.indexOf(part, position);
      if (index < 0) return false;
      position = index + part.length;
    }
    return true;
  };
  const folders = `/${typed.replace(/^\/+/, '')}`;
  const rules: ((name: string) => boolean)[] = [
    (name) => name === typed,
    (name) => name.endsWith(folders),
    (name) => name.startsWith(start) && fitsGaps(name, start.length),
    (name) => name.includes(`${folders}/`),
    (name) => {
      const index = name.indexOf(start);
      return index >= 0 && fitsGaps(name, index + start.length);
    },
  ];
  const lowered = names.map((name) => ({ name, lower: name.toLowerCase() }));
  for (const rule of rules) {
    const matches = lowered.filter(({ lower }) => rule(lower)).map(({ name }) => name);
    if (matches.length > 0) return { names: matches, nearest: [] };
  }
  return { names: [], nearest: suggests ? findNearest(typed, names) : [] };
}

/** The most similar names, best first. A folder or a word in a name counts like a name. */
export function findNearest(text: string, names: readonly string[]): string[] {
  const wanted = toPairs(text.slice(-MAX_COMPARED_LENGTH));
  return names
    .map((name) => {
      const lower = name.slice(-MAX_COMPARED_LENGTH).toLowerCase();
      const parts = new Set([lower, ...lower.split('/'), ...lower.split(/[^\p{L}\p{N}]+/u)]);
      return { name, similarity: Math.max(...[...parts].map((part) => toSimilarity(wanted, part))) };
    })
    .filter(({ similarity }) => similarity >= MIN_SIMILARITY)
    .sort((a, b) => b.similarity - a.similarity)
    .slice(0, MAX_OFFERED)
    .map(({ name }) => name);
}

/** The pairs of neighbouring characters of a text, and how often each is in it. */
interface Pairs {
  counts: ReadonlyMap<string, number>;
  total: number;
}

function toPairs(text: string): Pairs {
  const counts = new Map<string, number>();
  const total = Math.max(0, text.length - 1);
  for (let i = 0; i < total; i++) {
    const pair = text.slice(i, i + 2);
    counts.set(pair, (counts.get(pair) ?? 0) + 1);
  }
  return { counts, total };
}

/** Dice's coefficient of the pairs of neighbouring characters, from 0 to 1. */
function toSimilarity(wanted: Pairs, part: string): number {
  const partTotal = Math.max(0, part.length - 1);
  const total = wanted.total + partTotal;
  // Most parts are too short or too long to be similar, whatever they contain.
  if (total === 0 || 2 * Math.min(wanted.total, partTotal) < MIN_SIMILARITY * total) return 0;
  let shared = 0;
  for (const [pair, count] of toPairs(part).counts) shared += Math.min(count, wanted.counts.get(pair) ?? 0);
  return (2 * shared) / total;
}
