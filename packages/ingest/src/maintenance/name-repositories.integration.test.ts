import {
  nameRepositories,
  type ReportKey,
  readUsageReport,
  refreshTotals,
  resolveReportFilter,
  withReportSnapshot,
} from '@recount/db';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { ReceiveRequest } from '../receive/prepare-upload.ts';
import { createTestInstallation, TEST_WORKSPACE, type TestInstallation, toLine } from '../testing/test-installation.ts';
import { runRepositoryNaming } from './name-repositories.ts';

let installation: TestInstallation;
beforeEach(async () => {
  installation = await createTestInstallation();
});
afterEach(() => installation.close());

let count = 0;
/** A session with one answer, which ran in the folder. */
async function ingest(folder: string, request: Partial<ReceiveRequest> = {}): Promise<string> {
  const session = `session-${count++}`;
  const fields = { cwd: folder };
  const answer = toLine(session, 1, fields).replaceAll('msg-1', `msg-${session}`).replaceAll('req-1', `req-${session}`);
  const { transcript } = await installation.receive(`${toLine(session, 0, fields)}${answer}`, request);
  await installation.work();
  return transcript.id;
}

async function readResponses(groupBy: readonly ReportKey[], filter: { repository?: string } = {}) {
  return await withReportSnapshot(installation.database, async (snapshot) => {
    const request = { timeZone: 'UTC', subagents: 'include', ...filter } as const;
    const { filter: resolved } = await resolveReportFilter(snapshot, TEST_WORKSPACE, request);
    const { rows } = await readUsageReport(snapshot, resolved, { groupBy, limit: 100 });
    return Object.fromEntries(rows.map((row) => [groupBy.map((key) => row[key]).join(' '), row.own.responses]));
  });
}

it('counts the worktrees and clones of a repository together, in all homes of all people', async () => {
  const remote = 'git@github.com:acme/heron.git';
  await ingest('/home/ada/code/heron', { person: 'ada', repository: remote });
  await ingest('/home/ada/code/heron/.claude/worktrees/otter', { person: 'ada', repository: remote });
  await ingest('/Users/bob/.codex/worktrees/a1/heron', {
    person: 'bob',
    repository: 'https://bob:s3cret@github.com/acme/heron',
  });
  await ingest('/home/eve/.cursor/worktrees/wren/x1', { person: 'eve' });
  await ingest('/Users/bob/src/wren', { person: 'bob' });
  await ingest('/home/ada', { person: 'ada' });
  const expected = { 'github.com/acme/heron': 3, wren: 2, '': 1 };
  expect(await readResponses(['repository'])).toEqual(expected);
  await refreshTotals(installation.database, TEST_WORKSPACE);
  expect(await readResponses(['repository'])).toEqual(expected);
  expect(await readResponses(['repository', 'person'])).toEqual({
    'github.com/acme/heron ada': 2,
    'github.com/acme/heron bob': 1,
    'wren eve': 1,
    'wren bob': 1,
    ' ada': 1,
  });
  expect(await readResponses(['person'], { repository: 'heron' })).toEqual({ ada: 2, bob: 1 });
  const { rows } = await installation.database.pool.query(
    'SELECT repository, sum(responses)::int AS responses FROM analytics.daily_usage GROUP BY 1 ORDER BY 2 DESC',
  );
  expect(rows.map(({ repository, responses }) => [repository ?? '', responses])).toEqual(Object.entries(expected));
});

it('names the repositories of what was ingested before they had names, and keeps the totals right', async () => {
  await ingest('/home/ada/code/heron/.worktrees/1');
  const told = await ingest('/home/ada/code/wren', {
    repository: '/home/ada/code/wren-main',
    worktree: '/home/ada/code/wren',
  });
  await ingest('/home/ada');
  const names = { heron: 1, 'wren-main': 1, '': 1 };
  expect(await readResponses(['repository'])).toEqual(names);
  await installation.database.pool.query('UPDATE recount.transcripts SET repository = NULL');
  await installation.database.pool.query('UPDATE recount.sessions SET repository = NULL');
  await installation.database.pool.query('DELETE FROM recount.usage_attribution_total; DELETE FROM recount.stale_days');
  await installation.database.pool.query(
    `INSERT INTO recount.stale_days SELECT DISTINCT workspace_id, date_bin('1 day', first_bucket_start, '2000-01-01Z') FROM recount.usage_day_rollup`,
  );
  await refreshTotals(installation.database, TEST_WORKSPACE);
  expect(await readResponses(['repository'])).toEqual({ '': 3 });
  const stop = new AbortController();
  const reports: number[] = [];
  const failures: string[] = [];
  const naming = runRepositoryNaming(
    {
      ...installation,
      onReport: ({ transcripts }) => reports.push(transcripts),
      onFailure: (reason) => failures.push(reason),
    },
    { signal: stop.signal, intervalMs: 10 },
  );
  await vi.waitFor(() => expect(reports).toEqual([2]));
  stop.abort();
  await naming;
  expect(failures).toEqual([]);
  expect(await readResponses(['repository'])).toEqual(names);
  await refreshTotals(installation.database, TEST_WORKSPACE);
  expect(await readResponses(['repository'])).toEqual(names);
  expect(await installation.find(told)).toMatchObject({ repository: 'wren-main', worktree: '/home/ada/code/wren' });
  expect(await nameRepositories(installation.database, TEST_WORKSPACE)).toBe(0);
});

it('learns the repository from a second upload of the same bytes, and keeps what the agent recorded', async () => {
  const text = toLine('again', 0, { cwd: '/home/ada/code/heron' }) + toLine('again', 1);
  await installation.receive(text);
  await installation.work();
  expect(await readResponses(['repository'])).toEqual({ heron: 1 });
  const { transcript } = await installation.receive(text, { repository: 'ssh://git@GitHub.com:22/acme/heron' });
  expect(transcript).toMatchObject({
    repository: 'github.com/acme/heron',
    sent_repository: 'ssh://GitHub.com:22/acme/heron',
  });
  expect(await readResponses(['repository'])).toEqual({ 'github.com/acme/heron': 1 });
  const described = await installation.rawStore.readDescription(transcript.object_key);
  expect(described).toMatchObject({ sent_repository: 'ssh://GitHub.com:22/acme/heron' });
});
