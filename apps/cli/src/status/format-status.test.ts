import { expect, it } from 'vitest';
import { formatStatus } from './format-status.ts';

const FAILURE = {
  transcript_id: '01J00000000000000000000001',
  path: `/home/maya/${'a-long-folder-name/'.repeat(6)}session.jsonl`,
  reason: 'the raw object is gone, and so nothing can be parsed; it was deleted by hand or by a rule of the bucket',
  created_at: '2026-11-23T12:00:00.000Z',
};

const STATUS = {
  running: { pid: null, url: 'https://recount.example.com', is_ready: true },
  data_directory: null,
  raw_store_fault: null,
  transcripts: { queued: 1200, processing: 3, ingested: 45_000, superseded: 12, failed: 7 },
  live: { running_streams: 1 },
  search: { waiting_sessions: 1, failing_sessions: 0 },
  disk: {
    database_bytes: 162e6,
    search_bytes: 89e6,
    wal_bytes: 369e6,
    raw_bytes: 121e6,
    spool_bytes: 0,
  },
  prices: {
    version: 'genai-prices-0.1.8-rules-3',
    date: '2026-09-23',
    file: { location: '/etc/p.json', date: null, invalid_count: 2, error: null },
  },
  last_failures: [FAILURE],
};
const NOW = Date.parse('2026-11-01T00:00:00Z');

it('shows what is running, waiting, on disk, and what failed last', () => {
  const lines = formatStatus(STATUS, { timeZone: 'UTC', maxWidth: 80, nowMs: NOW });
  expect(lines).toEqual([
    'Running     at https://recount.example.com',
    'Queue       1,200 waiting, 3 under way',
    'Transcripts 45,000 ingested, 12 part of longer ones, 7 failed',
    'Live        1 agent recorded now',
    'Search      1 session not yet indexed, 0 of them failing',
    'Disk        162 MB database (89 MB of it search)',
    '            369 MB write-ahead log',
    '            121 MB raw transcripts',
    '            0 B spool (recorded here and not sent yet)',
    'Prices      genai-prices-0.1.8-rules-3, of 2026-09-23',
    '            with /etc/p.json',
    '            without 2 invalid entries of it',
    expect.stringMatching(/^Failed {6}2026-11-23 12:00Z {2}…\S+\/session\.jsonl$/),
    expect.stringMatching(/^ {12}the raw object is gone/),
    expect.stringMatching(/^ {12}\w/),
    '            `recount issues` lists all.',
  ]);
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
});

it('names a raw store that cannot be written, with what to do', () => {
  const fault =
    'cannot be written, so uploads are refused: denied: EROFS at /srv/raw. Give it the right to write there.';
  const lines = formatStatus({ ...STATUS, raw_store_fault: fault }, { timeZone: 'UTC', maxWidth: 200, nowMs: NOW });
  expect(lines[1]).toBe(`Raw store   ${fault}`);
});

it('leaves out what is unknown', () => {
  const disk = { database_bytes: null, search_bytes: null, wal_bytes: null, raw_bytes: 121e6, spool_bytes: 0 };
  const running = { pid: 7, url: null, is_ready: false };
  const lines = formatStatus(
    { ...STATUS, disk, running, prices: null, last_failures: [] },
    { timeZone: 'UTC', maxWidth: 80, nowMs: NOW },
  );
  expect(lines[0]).toBe('Running     process 7, not ready');
  expect(lines.slice(5)).toEqual([
    'Disk        121 MB raw transcripts',
    '            0 B spool (recorded here and not sent yet)',
    '            `recount issues` lists all.'.replace(/^ {6}/, 'Failed'),
  ]);
});

it('says how old the price list is if it is older than 60 days, and what is wrong with a price file', () => {
  const file = { location: '/etc/p.json', date: null, invalid_count: 0, error: 'it is not JSON' };
  const prices = { ...STATUS.prices, file };
  const nowMs = Date.parse('2026-11-27T00:00:00Z');
  const lines = formatStatus({ ...STATUS, prices }, { timeZone: 'UTC', maxWidth: 100, nowMs });
  expect(lines.filter((_line, index) => index >= 9 && index < 12)).toEqual([
    'Prices      genai-prices-0.1.8-rules-3, of 2026-09-23',
    '            it is not JSON',
    '            The price list is 65 days old (of 2026-09-23).',
  ]);
});
