import { expect, it } from 'vitest';
import { toFailureKind } from './worker-metrics.ts';

it.each([
  ['Postgres error 23505: transcripts, transcripts_pkey', 'postgres-23505'],
  ['Postgres error P0001', 'postgres-P0001'],
  ['RawStoreError: The bucket is not there', 'RawStoreError'],
  ['Unknown error', 'unknown'],
  ['Error: any text: at all', 'Error'],
  ['some text of a transcript', 'unknown'],
  ['', 'unknown'],
])('%j is %s', (reason, kind) => {
  expect(toFailureKind(reason)).toBe(kind);
});
