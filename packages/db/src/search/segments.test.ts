import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findCandidates, planTokens } from './candidates.ts';
import { createSubstringMatcher, createTextMatcher } from './match-text.ts';
import { parseSearchTarget, type SearchTarget } from './parse-search-query.ts';
import { decompress, encodeShards, toPosting, visitPostings } from './postings.ts';
import { foldCase, toWords } from './search-words.ts';
import { packDocuments, type SegmentDocument, TEXT_ROLES, toLatestMs, unpackDocuments } from './segment-documents.ts';
import { readTokens } from './tokens.ts';

function toShards(texts: readonly string[]): Map<number, Uint8Array> {
  const postings: number[] = [];
  for (const [document, text] of texts.entries())
    for (const token of readTokens(text).tokens) postings.push(toPosting(token, document));
  return new Map(
    encodeShards(Uint32Array.from(postings)).map(({ shard, postings: bytes }) => [shard, decompress(bytes)]),
  );
}

function searchSegment(target: SearchTarget, texts: readonly string[]): number[] {
  const matches = target.mode === 'text' ? createTextMatcher(target.query) : createSubstringMatcher(target.part);
  const candidates = findCandidates(planTokens(target), toShards(texts));
  return [...candidates].filter((document) => matches(texts[document] ?? ''));
}

/** Word by word, without an index. */
function scan(target: SearchTarget, texts: readonly string[]): number[] {
  return texts.flatMap((text, document) => (matchesPlainly(target, text) ? [document] : []));
}

function matchesPlainly(target: SearchTarget, text: string): boolean {
  if (target.mode === 'substring') return foldCase(text).includes(foldCase(target.part));
  const words = toWords(text);
  return target.query.some((terms) =>
    terms.every(({ words: wanted, isPrefix, isNegated }) => {
      const isPresent = words.some((_, start) =>
        wanted.every((word, index) =>
          words[start + index]?.lexemes.some((lexeme) =>
            isPrefix && index === wanted.length - 1 ? lexeme.startsWith(word) : lexeme === word,
          ),
        ),
      );
      return isPresent !== isNegated;
    }),
  );
}

const WORDS = [
  ...[
    'error',
    'Error',
    'getUserName',
    'user',
    'XMLHttpRequest',
    'http',
    'a',
    'ab',
    'a1B',
    'round_half_up',
    'the',
    'of',
  ],
  ...[
    'Größe',
    'GRÖSSE',
    'straße',
    'STRASSE',
    'ΟΔΟΣ',
    'οδός',
    'ſ',
    'ﬁne',
    'fine',
    'İx',
    'e\u0301t\u00e9',
    'ｆｕｌｌ',
    'пример',
    'ПРИМЕР',
  ],
  ...[
    '東京都',
    '請求書を',
    'データベース',
    '데이터베이스',
    'ไทย',
    '𠀀𠀁',
    '𐐀𐐨𐐩',
    '👍',
    'x-ray',
    '--force',
    'C:\\dir',
    '100%',
    '“the”',
    '—',
    '→',
  ],
];
const text = fc
  .array(
    fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom(...WORDS) },
      { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 6 }) },
    ),
    {
      maxLength: 12,
    },
  )
  .map((parts) => parts.join(' '));
const corpus = fc.array(text, { minLength: 1, maxLength: 40 });
const term = fc
  .tuple(
    fc.constantFrom(...WORDS),
    fc.constantFrom('', '', '', '*', '-', '"', 'or'),
    fc.constantFrom(...WORDS),
    fc.nat({ max: 4 }),
  )
  .map(([word, kind, other, cut]) => {
    if (kind === '*') return `${word.slice(0, 1 + cut)}*`;
    if (kind === '-') return `-${word}`;
    if (kind === '"') return `"${word} ${other}"`;
    return kind === 'or' ? `${word} OR ${other}` : word;
  });
const query = fc.array(term, { minLength: 1, maxLength: 4 }).map((terms) => terms.join(' '));

describe('a segment', () => {
  it('finds by words what a scan of the texts finds', () => {
    fc.assert(
      fc.property(corpus, query, (texts, q) => {
        const target = parseSearchTarget('text', q);
        if (typeof target === 'string') return;
        expect(searchSegment(target, texts)).toEqual(scan(target, texts));
      }),
    );
  });

  it('finds by substring what a scan of the texts finds', () => {
    fc.assert(
      fc.property(corpus, fc.nat(), fc.nat(), fc.nat(), fc.boolean(), (texts, number, a, b, isUpper) => {
        const chosen = texts[number % texts.length] ?? '';
        const [start, end] = [a % (chosen.length + 1), b % (chosen.length + 1)].sort((x, y) => x - y);
        const part = chosen.slice(start, end);
        const target = parseSearchTarget('substring', isUpper ? part.toUpperCase() : part);
        if (typeof target === 'string') return;
        expect(searchSegment(target, texts)).toEqual(scan(target, texts));
      }),
    );
  });

  it.each([1, 4, 20, 150])('of 4,096 texts with %d tokens each gives its postings back', (count) => {
    // By text, as a writer adds them; all have one token in common.
    const written = Uint32Array.from({ length: 4096 * count }, (_, index) => {
      const [document, number] = [Math.floor(index / count), index % count];
      return toPosting(number === 0 ? 0 : 1 + ((document * 7919 + number * 1753) % (2 ** 18 - 1)), document);
    });
    const sorted = written.slice().sort();
    const read = new Uint32Array(written.length);
    let length = 0;
    for (const { shard, postings: bytes } of encodeShards(written))
      visitPostings(decompress(bytes), shard, (token, document) => {
        read[length++] = toPosting(token, document);
      });
    expect(length).toBe(sorted.length);
    expect(Buffer.compare(Buffer.from(read.buffer), Buffer.from(sorted.buffer))).toBe(0);
  });

  it('keeps its documents', () => {
    const documents: SegmentDocument[] = Array.from({ length: 300 }, (_, index) => ({
      rowSetId: `row set ${index % 7}`,
      messageId: `01JB0000000000000000000${String(index).padStart(3, '0')}`,
      blockOrder: index % 70,
      role: TEXT_ROLES[index % TEXT_ROLES.length] ?? 'text',
      latestMs: index % 9 === 0 ? Number.POSITIVE_INFINITY : 1_700_000_000_000 + index,
      length: index * 20,
    }));
    expect(unpackDocuments(packDocuments(documents))).toEqual(documents);
  });
});

it('toLatestMs reads the time of a ULID', () => {
  expect(toLatestMs('01ARZ3NDEKTSV4RRFFQ69G5FAV')).toBe(1_469_922_850_259);
  expect(toLatestMs('m1')).toBe(Number.POSITIVE_INFINITY);
});
