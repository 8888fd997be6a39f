import {
  applyRepositoryRenames,
  listRepositoryRenames,
  lockSession,
  lockWorkspaceShared,
  RenameConflictError,
  readUsageReport,
  refreshTotals,
  renameRepositories,
  resolveReportFilter,
  undoRepositoryRename,
  verifyUsage,
  withReportSnapshot,
} from '@recount/db';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createTestInstallation, TEST_WORKSPACE, type TestInstallation, toLine } from '../testing/test-installation.ts';
import { runRepositoryRenaming } from './apply-repository-renames.ts';

const CHANGE = { workspaceId: TEST_WORKSPACE, actor: 'key:ada' } as const;

let installation: TestInstallation;
beforeEach(async () => {
  installation = await createTestInstallation();
});
afterEach(() => installation.close());

/** A version of a session that ran in a repository. */
function toText(session: string, repository: string, lineCount = 2): string {
  const lines = Array.from({ length: lineCount }, (_, index) =>
    toLine(session, index, { cwd: `/home/ada/code/${repository}` }).replace(/(?<=msg-|req-)/g, `${session}-`),
  );
  return lines.join('');
}

async function ingest(session: string, repository: string, lineCount?: number): Promise<void> {
  await installation.receive(toText(session, repository, lineCount));
  await installation.work();
}

const rename = (names: string, newName: string) =>
  installation.database.withTransaction((transaction) =>
    renameRepositories(transaction, CHANGE, names.split(' '), newName),
  );

async function undo(name: string): Promise<void> {
  const renames = await listRepositoryRenames(installation.database.database, TEST_WORKSPACE);
  const id = renames.find((each) => each.name === name)?.id ?? '';
  await installation.database.withTransaction((transaction) => undoRepositoryRename(transaction, CHANGE, id));
}

const apply = () => applyRepositoryRenames(installation.database, TEST_WORKSPACE);

/** Responses by repository, from roll-ups or totals, whichever are there. */
async function readResponses(repository?: string): Promise<Record<string, number>> {
  return await withReportSnapshot(installation.database, async (snapshot) => {
    const request = { timeZone: 'UTC', subagents: 'include', repository } as const;
    const { filter } = await resolveReportFilter(snapshot, TEST_WORKSPACE, request);
    const { rows } = await readUsageReport(snapshot, filter, { groupBy: ['repository'], limit: 100 });
    return Object.fromEntries(rows.map((row) => [row.repository ?? '', row.own.responses]));
  });
}

async function expectExact(): Promise<void> {
  const checks = await installation.database.withSnapshot((snapshot) => verifyUsage(snapshot, TEST_WORKSPACE));
  expect(checks.filter(({ missing, surplus }) => missing + surplus > 0)).toEqual([]);
}

/** Before and after the totals are made again. */
async function expectResponses(expected: Record<string, number>): Promise<void> {
  expect(await readResponses()).toEqual(expected);
  await refreshTotals(installation.database, TEST_WORKSPACE);
  expect(await readResponses()).toEqual(expected);
  await expectExact();
}

it('merges repositories in stored sessions, in those that arrive later and in those that grow, and undoes it', async () => {
  await ingest('s1', 'heron');
  await ingest('s2', 'heron-old');
  await ingest('s3', 'wren');
  await expectResponses({ heron: 1, 'heron-old': 1, wren: 1 });
  expect(await rename('heron-old', 'heron')).toMatchObject([{ name: 'heron-old', shown_name: 'heron' }]);
  expect(await apply()).toBe(1);
  await expectResponses({ heron: 2, wren: 1 });
  await ingest('s4', 'heron-old');
  await ingest('s2', 'heron-old', 6);
  await expectResponses({ heron: 5, wren: 1 });
  expect(await readResponses('heron-old')).toEqual({ heron: 5 });
  await undo('heron-old');
  expect(await apply()).toBe(2);
  await expectResponses({ heron: 1, 'heron-old': 4, wren: 1 });
  expect(await listRepositoryRenames(installation.database.database, TEST_WORKSPACE)).toEqual([]);
  expect(await apply()).toBe(0);
});

it('takes along what was merged before, and gives each back on its own', async () => {
  await ingest('s1', 'a');
  await ingest('s2', 'b');
  await rename('a', 'b');
  await apply();
  await rename('b', 'Payments');
  await apply();
  await expectResponses({ Payments: 2 });
  await expect(rename('c', 'b')).rejects.toThrow(RenameConflictError);
  await undo('b');
  expect(await apply()).toBe(2);
  await expectResponses({ b: 2 });
  await rename('b', 'a');
  await apply();
  await expectResponses({ a: 2 });
});

/** A transaction that writes the session until the returned function is called. */
async function holdSession(session: string): Promise<() => Promise<void>> {
  const { promise: isEnded, resolve: end } = Promise.withResolvers<void>();
  const { promise: isBegun, resolve: begin } = Promise.withResolvers<void>();
  const writing = installation.database.withTransaction(async (transaction) => {
    await lockWorkspaceShared(transaction, TEST_WORKSPACE);
    await lockSession(transaction, TEST_WORKSPACE, session);
    begin();
    await isEnded;
  });
  await isBegun;
  return async () => {
    end();
    await writing;
  };
}

const readRename = async () => (await listRepositoryRenames(installation.database.database, TEST_WORKSPACE))[0];

it('applies a renaming to a session that was being written when it was made', async () => {
  await ingest('s1', 'heron');
  await ingest('s2', 'heron');
  const release = await holdSession('s1');
  await rename('heron', 'wren');
  const applying = apply();
  await vi.waitFor(async () => expect(await readRename()).toMatchObject({ checked_count: 2, applied_at: null }));
  expect(await readResponses()).toEqual({ heron: 1, wren: 1 });
  for (const name of ['heron', 'wren']) expect(await readResponses(name)).toEqual({ heron: 1, wren: 1 });
  await release();
  expect(await applying).toBe(2);
  expect(await readRename()).toMatchObject({ applied_at: expect.any(String) });
  await expectResponses({ wren: 2 });
});

it('leaves a renaming to be applied that was changed while it ran', async () => {
  await ingest('s1', 'heron');
  await ingest('s2', 'owl');
  const release = await holdSession('s2');
  await rename('heron', 'wren');
  const applying = apply();
  await vi.waitFor(async () => expect(await readRename()).toMatchObject({ checked_count: 2 }));
  await rename('heron', 'otter');
  await release();
  await applying;
  expect(await readRename()).toMatchObject({ new_name: 'otter', applied_at: null });
  await apply();
  await expectResponses({ otter: 1, owl: 1 });
});

it('is done by a worker, which reports it', async () => {
  await ingest('s1', 'heron');
  await rename('heron', 'wren');
  const stop = new AbortController();
  const reports: number[] = [];
  const failures: string[] = [];
  const running = runRepositoryRenaming(
    {
      database: installation.database,
      onReport: ({ sessions }) => void reports.push(sessions),
      onFailure: (reason) => void failures.push(reason),
    },
    { signal: stop.signal, intervalMs: 10 },
  );
  await vi.waitFor(async () => expect(await readResponses()).toEqual({ wren: 1 }));
  const isApplied = async () => {
    const [renamed] = await listRepositoryRenames(installation.database.database, TEST_WORKSPACE);
    expect(renamed).toMatchObject({ checked_count: 1, session_count: 1, applied_at: expect.any(String) });
  };
  await vi.waitFor(isApplied);
  await vi.waitFor(() => expect(reports).toEqual([1]));
  stop.abort();
  await running;
  expect(failures).toEqual([]);
});

it('gives the same rows whatever the order of uploads, renamings and undoing', async () => {
  const name = fc.constantFrom('a', 'b', 'c', 'd');
  const step = fc.oneof(
    fc.record({ kind: fc.constant('upload' as const), session: fc.constantFrom('s1', 's2', 's3', 's4', 's5'), name }),
    fc.record({ kind: fc.constant('rename' as const), name, newName: name }),
    fc.record({ kind: fc.constant('undo' as const), name }),
    fc.record({ kind: fc.constant('apply' as const) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 14 }), async (steps) => {
      const { database } = installation;
      const uploads: string[] = [];
      const versions = new Map<string, { repository: string; lineCount: number }>();
      for (const each of steps) {
        if (each.kind === 'apply') await apply();
        else if (each.kind === 'undo') await undo(each.name);
        else if (each.kind === 'rename') await rename(each.name, each.newName).catch(ignoreConflict);
        else {
          const known = versions.get(each.session);
          const version = { repository: known?.repository ?? each.name, lineCount: (known?.lineCount ?? 0) + 2 };
          versions.set(each.session, version);
          const text = toText(each.session, version.repository, version.lineCount);
          uploads.push(text);
          await installation.receive(text);
          await installation.work();
        }
      }
      await apply();
      await refreshTotals(database, TEST_WORKSPACE);
      await expectExact();
      const rows = await readRows(database);
      const renames = await listRepositoryRenames(database.database, TEST_WORKSPACE);
      const again = await createTestInstallation();
      try {
        for (const { name: told, new_name: newName, shown_name: shownName } of renames) {
          await again.database.pool.query(
            `INSERT INTO recount.repository_renames (workspace_id, name, id, new_name, shown_name, actor, applied_at)
              VALUES ($1, $2, $2, $3, $4, 'system', now())`,
            [TEST_WORKSPACE, told, newName, shownName],
          );
        }
        for (const text of uploads) await again.receive(text);
        await again.work();
        await refreshTotals(again.database, TEST_WORKSPACE);
        expect(rows).toEqual(await readRows(again.database));
      } finally {
        await again.close();
        await installation.close();
        installation = await createTestInstallation();
      }
    }),
  );
});

function ignoreConflict(error: unknown): void {
  if (!(error instanceof RenameConflictError)) throw error;
}

/** All that depends on the names of repositories, without ids. */
async function readRows({ pool }: TestInstallation['database']): Promise<unknown[]> {
  const { rows: sessions } = await pool.query(
    'SELECT session_id, repository, api_response_count FROM recount.sessions ORDER BY session_id',
  );
  const { rows: totals } = await pool.query(
    `SELECT repository, sum(responses)::int AS responses FROM recount.usage_attribution_total GROUP BY repository ORDER BY 1`,
  );
  const { rows: names } = await pool.query(
    'SELECT name, new_name, shown_name FROM recount.repository_renames ORDER BY name',
  );
  return [sessions, totals, names];
}
