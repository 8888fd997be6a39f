import type { SearchTarget } from './parse-search-query.ts';
import { findDocuments, intersectDocuments, toShards, uniteDocuments } from './postings.ts';
import { type TokenRange, toPrefixRanges, toSubstringRanges, toWordRanges } from './tokens.ts';

/** Alternatives, each a list of ranges; a text that matches has a token of every range of an alternative. */
export interface TokenPlan {
  alternatives: readonly (readonly TokenRange[])[];
  /** Numbers of the shards that have these tokens. */
  shards: readonly number[];
}

/** The tokens of every text that matches. */
export function planTokens(target: SearchTarget): TokenPlan {
  const alternatives =
    target.mode === 'substring'
      ? [toSubstringRanges(target.part)]
      : target.query.map((terms) =>
          terms
            .filter(({ isNegated }) => !isNegated)
            .flatMap(({ words, isPrefix }) =>
              words.flatMap((word, index) =>
                isPrefix && index === words.length - 1 ? toPrefixRanges(word) : toWordRanges(word),
              ),
            ),
        );
  const unique = alternatives.map((ranges) => [...new Map(ranges.map((range) => [toKey(range), range])).values()]);
  return { alternatives: unique, shards: toShards(unique.flat()) };
}

const toKey = ({ from, to }: TokenRange): string => `${from}-${to}`;

/** Decompressed shards of a segment, by their numbers. */
export type SegmentShards = ReadonlyMap<number, Uint8Array>;

/** The documents of a segment that may match, ascending. */
export function findCandidates({ alternatives }: TokenPlan, shards: SegmentShards): Uint16Array {
  const lists = new Map<string, Uint16Array>();
  const listOf = (range: TokenRange): Uint16Array => {
    const known = lists.get(toKey(range));
    if (known !== undefined) return known;
    const found = toShards([range]).flatMap((shard) => {
      const bytes = shards.get(shard);
      return bytes === undefined ? [] : [findDocuments(bytes, shard, range)];
    });
    const list = found.length === 1 ? (found[0] ?? new Uint16Array()) : uniteDocuments(found);
    lists.set(toKey(range), list);
    return list;
  };
  const found = alternatives.map((ranges) => {
    const [first, ...others] = ranges;
    if (first === undefined) return new Uint16Array();
    let common = listOf(first);
    for (const range of others) {
      if (common.length === 0) break;
      common = intersectDocuments(common, listOf(range));
    }
    return common;
  });
  return found.length === 1 ? (found[0] ?? new Uint16Array()) : uniteDocuments(found);
}
