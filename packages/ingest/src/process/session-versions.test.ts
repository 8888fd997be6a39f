import type { TranscriptRow } from '@recount/db';
import { expect, it } from 'vitest';
import { findPrefixes } from './session-versions.ts';

const toRow = (fields: Partial<TranscriptRow>): TranscriptRow => ({ stored_sha256: null, ...fields }) as TranscriptRow;

const plain = toRow({ id: 'plain', size_bytes: 5, sha256: 'plain-5' });
const redacted = toRow({ id: 'redacted', size_bytes: 7, sha256: 'plain-7', stored_sha256: 'redacted-7' });

it('finds the prefixes of a transcript by hashes at their lengths', () => {
  const hashes = new Map([
    [5, 'plain-5'],
    [7, 'plain-7'],
  ]);
  expect(findPrefixes(toRow({ size_bytes: 9 }), hashes, [plain, redacted])).toEqual([plain, redacted]);
  expect(findPrefixes(toRow({ size_bytes: 9 }), new Map([[5, 'other']]), [plain, redacted])).toEqual([]);
});

it('compares a redacted copy with the redacted copies of the others', () => {
  const hashes = new Map([[7, 'redacted-7']]);
  const copy = toRow({ size_bytes: 9, stored_sha256: 'redacted-9' });
  expect(findPrefixes(copy, hashes, [plain, redacted])).toEqual([redacted]);
  expect(findPrefixes(toRow({ size_bytes: 9 }), hashes, [plain, redacted])).toEqual([]);
});
