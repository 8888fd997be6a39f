/** The meaning of a typed name (one name, several equally good ones, or none). */
type NameMatch =
  | { kind: 'one'; name: string }
  | { kind: 'several'; names: string[] }
  | { kind: 'none'; nearest: string[] };

/** Number of names suggested in an answer. More are no help. */
const MAX_OFFERED = 5;
/** Minimum similarity of a misspelling, as the share of common letter pairs. */
const MIN_SIMILARITY = 0.35;

/**
 * Finds which of `names` `wanted` means (the same name, the same ignoring case, the last folders of a path, a prefix of
 * a name, a part of a name). The first rule that matches any name decides. An ellipsis, the abbreviation in tables,
 * stands for any text.
 */
export function matchName(wanted: string, names: readonly string[]): NameMatch {
  if (names.includes(wanted)) return { kind: 'one', name: wanted };
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
    if (matches.length === 1) return { kind: 'one', name: matches[0] as string };
    if (matches.length > 1) return { kind: 'several', names: matches.slice(0, MAX_OFFERED) };
  }
  return { kind: 'none', nearest: findNearest(typed, names) };
}

/** The most similar names, best first. A folder or a word in a name counts like a name. */
export function findNearest(text: string, names: readonly string[]): string[] {
  return names
    .map((name) => {
      const lower = name.toLowerCase();
      const parts = [lower, ...lower.split('/'), ...lower.split(/[^\p{L}\p{N}]+/u)];
      return { name, similarity: Math.max(...parts.map((part) => toSimilarity(text, part))) };
    })
    .filter(({ similarity }) => similarity >= MIN_SIMILARITY)
    .sort((a, b) => b.similarity - a.similarity)
    .slice(0, MAX_OFFERED)
    .map(({ name }) => name);
}

/** Dice's coefficient of the pairs of neighbouring characters, from 0 to 1. */
function toSimilarity(a: string, b: string): number {
  const pairs = toPairs(a);
  const others = toPairs(b);
  const total = pairs.length + others.length;
  let shared = 0;
  for (const pair of pairs) {
    const index = others.indexOf(pair);
    if (index < 0) continue;
    shared += 1;
    others.splice(index, 1);
  }
  return total === 0 ? 0 : (2 * shared) / total;
}

const toPairs = (text: string): string[] =>
  Array.from({ length: Math.max(0, text.length - 1) }, (_, i) => text.slice(i, i + 2));
