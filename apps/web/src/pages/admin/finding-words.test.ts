import type { DoctorFinding, DoctorReport } from '@recount/contract';
import { expect, it } from 'vitest';
import { groupFindings, hasRepairable } from './finding-words.ts';

const toReport = (findings: DoctorFinding[]): DoctorReport => ({
  findings,
  findingCount: findings.length,
  needAttention: 0,
  checked: { objects: 0, transcripts: 0, streams: 0, attachments: 0, checksums: 0, checksumBytes: 0 },
  skipped: { youngObjects: 0, youngJobs: 0, expiredObjects: 0, streamsWithoutChecksum: 0 },
});

it('merges equal findings, the most serious first', () => {
  const groups = groupFindings(
    toReport([
      { kind: 'orphan-object', objectKey: 'a', fixed: false },
      { kind: 'orphan-object', objectKey: 'b', fixed: false },
      { kind: 'orphan-object', objectKey: 'c', fixed: true },
      { kind: 'orphan-object', objectKey: 'd', fixed: false, obstacle: 'damaged' },
      { kind: 'missing-object', transcriptId: 't', objectKey: 'e', fixed: false },
    ]),
  );
  expect(groups.map(({ isSerious, count, names, transcriptIds }) => [isSerious, count, names, transcriptIds])).toEqual([
    [true, 1, ['d'], []],
    [true, 1, [], ['t']],
    [false, 2, ['a', 'b'], []],
    [false, 1, ['c'], []],
  ]);
  expect(groups.at(-1)?.todo).toBe('Received as uploads.');
});

it('counts sessions that are waiting for search, which is serious if they fail', () => {
  const waiting = { kind: 'search-behind', waitingSessions: 12, fixed: false } as const;
  expect(groupFindings(toReport([{ ...waiting, failingSessions: 0 }]))).toMatchObject([
    { count: 12, isSerious: false },
  ]);
  expect(groupFindings(toReport([{ ...waiting, failingSessions: 1 }]))).toMatchObject([{ isSerious: true }]);
});

it.each([
  [{ kind: 'lost-job', transcriptId: 't', fixed: false }, true],
  [{ kind: 'lost-job', transcriptId: 't', fixed: true }, false],
  [{ kind: 'orphan-object', objectKey: 'a', fixed: false, obstacle: 'unreadable' }, false],
  [{ kind: 'missing-object', transcriptId: 't', fixed: false }, false],
] as const)('knows whether a repair does anything: %j', (finding, isRepairable) => {
  expect(hasRepairable(toReport([finding]))).toBe(isRepairable);
});
