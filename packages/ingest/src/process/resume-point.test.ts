import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { ResumeError, type TranscriptSummary } from '@recount/core';
import type { CheckpointRow, TranscriptRow } from '@recount/db';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hashPrefixes } from '../raw-objects/hash-prefixes.ts';
import { checkCreditOrder, findUsablePrefix, type ResumePoint, toBytesAfter, toPrefixRows } from './resume-point.ts';

const versions = { parser: '3', prices: 'p-1' };
const COMMON = { agent: 'a', format: 'f', is_subagent: false, parent_session_id: null, agent_id: null };
const toRow = (fields: Partial<TranscriptRow>): TranscriptRow =>
  ({ ...COMMON, ingested_at: null, stored_sha256: null, rows_deleted_at: null, ...fields }) as TranscriptRow;
const longer = toRow({ id: 'longer', size_bytes: 9 });
const shorter = toRow({
  ...{ id: 'shorter', row_set_id: 'rows', size_bytes: 8, status: 'ingested', ingested_at: '2026-05-01T08:00:00.000Z' },
  ...{ parser_version: '3', price_version: 'p-1' },
});

describe('findUsablePrefix', () => {
  it('finds the only other version', () => {
    expect(findUsablePrefix(longer, [shorter], versions)).toEqual(shorter);
    expect(findUsablePrefix(longer, [], versions)).toBeUndefined();
    expect(findUsablePrefix(longer, [shorter, shorter], versions)).toBeUndefined();
  });

  it.each<Partial<TranscriptRow>>([
    { row_set_id: null },
    { size_bytes: 9 },
    { size_bytes: 10 },
    { status: 'processing' },
    { rows_deleted_at: '2026-05-01T09:00:00.000Z' },
    { stored_sha256: 'redacted' },
    { parser_version: '2' },
    { parser_version: null },
    { price_version: 'p-0' },
    { agent: 'b' },
    { format: 'g' },
    { is_subagent: true },
    { parent_session_id: 's' },
    { agent_id: 'x' },
  ])('does not build on a version with %j', (fields) => {
    expect(findUsablePrefix(longer, [{ ...shorter, ...fields }], versions)).toBeUndefined();
  });

  it.each<Partial<TranscriptRow>>([{ ingested_at: '2026-05-01T08:00:00.000Z' }, { stored_sha256: 'redacted' }])(
    'does not build if the longer one has %j',
    (fields) => expect(findUsablePrefix({ ...longer, ...fields }, [shorter], versions)).toBeUndefined(),
  );
});

const toPoint = (prefix: Partial<TranscriptRow>): ResumePoint => ({
  prefix: { ...shorter, ...prefix, row_set_id: 'rows' },
  checkpoint: { entry_number: 1, call_number: 2, event_number: 3, issue_number: 4 } as CheckpointRow,
  isCompared: false,
});
const toHash = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

it('yields what follows the prefix, however the bytes are split, or throws if they differ', async () => {
  const chunks = fc.array(fc.uint8Array({ maxLength: 4 }), { maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(chunks, fc.nat(32), fc.boolean(), async (parts, at, isSame) => {
      const bytes = Buffer.concat(parts);
      const size_bytes = Math.min(at, bytes.length);
      const sha256 = isSame ? toHash(bytes.subarray(0, size_bytes)) : 'another';
      const hashes = hashPrefixes(Readable.from(parts), [size_bytes]);
      const read = Readable.from(toBytesAfter(toPoint({ size_bytes, sha256 }), hashes)).toArray();
      // Nothing is read of it that could differ.
      if (isSame || size_bytes === 0) expect(Buffer.concat(await read)).toEqual(bytes.subarray(size_bytes));
      else await expect(read).rejects.toThrow(ResumeError);
    }),
  );
});

it('hashes the requested prefixes of a stream, and the whole', async () => {
  const parts = fc.array(fc.uint8Array({ maxLength: 4 }), { maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(parts, fc.array(fc.nat(40), { maxLength: 5 }), async (chunks, lengths) => {
      const hashes = hashPrefixes(Readable.from(chunks), lengths);
      const bytes = Buffer.concat(await Readable.from(hashes.chunks).toArray());
      expect(bytes).toEqual(Buffer.concat(chunks));
      expect(hashes.toDigest()).toBe(toHash(bytes));
      const reached = [...new Set(lengths)].filter((length) => length <= bytes.length && chunks.length > 0);
      const expected = reached.map((length): [number, string] => [length, toHash(bytes.subarray(0, length))]);
      expect(new Map(hashes.byLength)).toEqual(new Map(expected));
    }),
  );
});

it('counts the rows that stay, and numbers new messages from there', () => {
  const prefix = { content_block_count: 5, error_count: 6, warning_count: 7, issue_counts: { x: 8 } };
  const numbers = { entry: 1, call: 2, event: 3, issue: 4 };
  const counts = { contentBlocks: 5, errors: 6, warnings: 7, issuesByCode: { x: 8 } };
  expect(toPrefixRows(toPoint(prefix))).toEqual({ counts, numbers, hasTranscriptIssues: false });
});

it('counts issues about the whole transcript again', () => {
  const issue_counts = { x: 8, total_mismatch: 2, unread_content: 90 };
  const prefix = { content_block_count: 5, error_count: 6, warning_count: 7, issue_counts };
  expect(toPrefixRows(toPoint(prefix))).toMatchObject({
    counts: { warnings: 5, issuesByCode: { x: 8 } },
    hasTranscriptIssues: true,
  });
});

it('refuses to continue if an earlier time was added', () => {
  const toSummary = (firstTimestamp: string) => ({ metadata: { firstTimestamp } }) as TranscriptSummary;
  const point = toPoint({ first_timestamp: '2026-05-01T08:00:00.000Z' });
  expect(() => checkCreditOrder(point, toSummary('2026-05-01T08:00:00.000Z'))).not.toThrow();
  expect(() => checkCreditOrder(point, toSummary('2026-05-01T07:00:00.000Z'))).toThrow(ResumeError);
});
