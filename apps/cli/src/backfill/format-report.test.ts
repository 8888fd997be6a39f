import type { BackfillReport } from '@recount/collect';
import { expect, it } from 'vitest';
import { formatReport } from './format-report.ts';

const report: BackfillReport = {
  found: 1234,
  queued: 0,
  ingested: 1000,
  superseded: 30,
  alreadyThere: 200,
  healed: 0,
  new: 0,
  failed: 4,
  failures: [{ location: '/a/b.jsonl', reason: 'the gzip data ends too early' }],
  skipped: 7,
  skippedByReason: { 'unknown-format': 2, 'not-a-transcript': 4, link: 1 },
  unindexed: 0,
  readBytes: 5_000_000,
  consumedInputBytes: 1,
  isInterrupted: false,
};

it('reports what was found, what became of it, and the reasons for failures', () => {
  expect(formatReport(report, 2000, false)).toEqual([
    `Transcripts found${' '.repeat(49)}1,234`,
    `  ingested${' '.repeat(56)}1,000`,
    `  beginning of a longer one${' '.repeat(42)}30`,
    `  already there${' '.repeat(53)}200`,
    `  failed${' '.repeat(62)}4`,
    `Skipped${' '.repeat(63)}7`,
    `  name is not a transcript’s${' '.repeat(42)}4`,
    '  not recognised as a transcript of any agent that recount reads      2',
    `  symbolic link${' '.repeat(55)}1`,
    '5.0 MB read in 2 s, 2.5 MB/s',
    '',
    'Failed:',
    '  /a/b.jsonl: the gzip data ends too early',
    '  and 3 more (--json lists a thousand)',
  ]);
});

it('says for a dry run what would be done', () => {
  const dryRun = {
    ...report,
    new: 1034,
    ingested: 0,
    superseded: 0,
    failed: 0,
    failures: [],
    skipped: 0,
    skippedByReason: {},
  };
  expect(formatReport(dryRun, 0, true)).toEqual([
    'Transcripts found    1,234',
    '  would be ingested  1,034',
    '  already there        200',
    '  failed                 0',
    'Skipped                  0',
    '5.0 MB read in 0 s, 5.0 GB/s',
  ]);
});

it('accounts for what an interruption left undone', () => {
  const text = formatReport({ ...report, ingested: 990, isInterrupted: true }, 2000, false).join('\n');
  expect(text).toMatch(/interrupted, left for the next run +10/);
});

it('says that damaged copies were replaced', () => {
  const lines = formatReport({ ...report, alreadyThere: 197, healed: 3 }, 2000, false);
  expect(lines.join('\n')).toMatch(/^ {2}stored again, as the stored copy was damaged +3$/m);
  expect(lines.join('\n')).not.toContain('interrupted');
});

it('says what search has not indexed yet', () => {
  expect(formatReport({ ...report, unindexed: 12 }, 2000, false)).toContain('Sessions not yet indexed for search: 12');
});

it('shows what is stored and waiting', () => {
  const text = formatReport({ ...report, queued: 5, superseded: 0 }, 2000, false).join('\n');
  expect(text).toMatch(/stored, not yet ingested +5/);
  expect(text).not.toContain('beginning');
});
