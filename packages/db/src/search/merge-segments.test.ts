import { describe, expect, it } from 'vitest';
import { chooseSegments, type SegmentSize } from './merge-segments.ts';

const toSegment = (id: string, documents: number, fields: Partial<SegmentSize> = {}): SegmentSize => ({
  ...{ id, documents, postings: documents * 400, removedDocuments: 0, mustBeMadeAgain: false },
  ...fields,
});
const toSegments = (count: number, documents: number) =>
  Array.from({ length: count }, (_, index) => toSegment(`${documents}-${index}`, documents));
const choose = (...parameters: Parameters<typeof chooseSegments>) => chooseSegments(...parameters).map(({ id }) => id);

describe('chooseSegments', () => {
  it('merges eight segments of about the same size, the smallest first', () => {
    expect(choose([...toSegments(7, 5), ...toSegments(7, 600)])).toEqual([]);
    expect(choose([...toSegments(8, 600), ...toSegments(9, 5)])).toHaveLength(9);
    expect(choose([...toSegments(9, 5), ...toSegments(8, 600)])[0]).toBe('5-0');
  });

  it('makes no segment that is too large', () => {
    expect(choose(toSegments(8, 1500))).toHaveLength(2);
    expect(choose(toSegments(8, 3000))).toEqual([]);
  });

  it('makes a segment again once a quarter of its texts are removed, or it must be', () => {
    expect(choose([toSegment('a', 100, { removedDocuments: 24 })])).toEqual([]);
    expect(choose([toSegment('a', 100, { removedDocuments: 25 })])).toEqual(['a']);
    expect(choose([toSegment('a', 4096, { removedDocuments: 1, mustBeMadeAgain: true })])).toEqual(['a']);
    expect(choose(toSegments(8, 5), { removesOnly: true })).toEqual([]);
  });

  it('leaves few segments, however many are added', () => {
    let segments: SegmentSize[] = [];
    for (let number = 0; number < 3000; number += 1) {
      segments.push(toSegment(String(number), 1 + (number % 7)));
      for (let chosen = chooseSegments(segments); chosen.length > 0; chosen = chooseSegments(segments)) {
        const merged = chosen.reduce((sum, { documents }) => sum + documents, 0);
        segments = [...segments.filter((segment) => !chosen.includes(segment)), toSegment(`m${number}`, merged)];
      }
    }
    expect(segments.length).toBeLessThan(40);
    expect(segments.reduce((sum, { documents }) => sum + documents, 0)).toBeGreaterThan(10_000);
  });
});
