import { deleteTranscript, verifyUsage } from '@recount/db';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { rebuildUsage } from '../consistency/rebuild-usage.ts';
import { retainWorkspace } from '../maintenance/retention.ts';
import { createTestInstallation, TEST_WORKSPACE, type TestInstallation, toLine } from '../testing/test-installation.ts';

let installation: TestInstallation;
beforeEach(async () => {
  installation = await createTestInstallation();
});
afterEach(() => installation.close());

const SESSION = 'session';

/** A call and its result. The same file is read repeatedly, in separate responses. */
function toRead(index: number, filePath = '/app/a.ts'): string {
  const id = `toolu_${String(index).padStart(24, '0')}`;
  const usage = { input_tokens: 10, output_tokens: 20, cache_creation_input_tokens: 500 };
  const call = { type: 'tool_use', id, name: 'Read', input: { file_path: filePath } };
  const message = { id: `msg-${index}`, role: 'assistant', model: 'claude-sonnet-4-5', content: [call], usage };
  const result = { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'x'.repeat(100) }] };
  return (
    toLine(SESSION, 2 * index, { type: 'assistant', message: { ...message, stop_reason: 'tool_use' } }) +
    toLine(SESSION, 2 * index + 1, { type: 'user', message: result })
  );
}

const reads = (count: number): string => Array.from({ length: count }, (_, index) => toRead(index)).join('');

async function ingest(text: string): Promise<string> {
  const { transcript } = await installation.receive(text);
  await installation.work();
  return transcript.id;
}

/** The stored findings, after checking that a recount finds the same. */
async function readFindings(): Promise<string[]> {
  const checks = await installation.database.withSnapshot((snapshot) => verifyUsage(snapshot, TEST_WORKSPACE));
  expect(checks.filter(({ missing, surplus }) => missing + surplus > 0)).toEqual([]);
  const { rows } = await installation.database.pool.query<Record<string, string | number>>(
    'SELECT kind, times, line_number, output_bytes::int AS bytes FROM recount.findings ORDER BY kind, line_number',
  );
  return rows.map(
    ({ kind, times, line_number, bytes }) => `${kind} ${times}x from line ${line_number}, ${bytes} bytes`,
  );
}

it('extend a run when the session grows, and start another', async () => {
  await ingest(reads(2));
  expect(await readFindings()).toEqual([]);
  await ingest(reads(3));
  expect(await readFindings()).toEqual([
    'repeated-call 3x from line 1, 200 bytes',
    'repeated-read 3x from line 1, 200 bytes',
  ]);
  const others = [4, 5, 6].map((index) => toRead(index, '/app/b.ts')).join('');
  await ingest(reads(4) + others);
  expect(await readFindings()).toEqual([
    'repeated-call 4x from line 1, 300 bytes',
    'repeated-call 3x from line 9, 200 bytes',
    'repeated-read 4x from line 1, 300 bytes',
    'repeated-read 3x from line 9, 200 bytes',
  ]);
});

it('report an open call as the last sign of a session until its result arrives', async () => {
  const [call = '', result = ''] = toRead(0).split(/(?<=\n)/);
  await ingest(call);
  expect(await readFindings()).toEqual(['unfinished-session 1x from line 1, 0 bytes']);
  await ingest(call + result);
  expect(await readFindings()).toEqual([]);
});

it('survive the deletion of texts by retention, and a rebuild', async () => {
  await ingest(reads(3));
  const found = await readFindings();
  const settings = { rowsMaxAgeDays: 1, rawMaxAgeDays: null };
  await retainWorkspace(installation, {
    workspaceId: TEST_WORKSPACE,
    settings,
    nowMs: Date.UTC(2026, 5),
    dryRun: false,
  });
  expect((await installation.database.pool.query('SELECT FROM recount.content_blocks')).rowCount).toBe(0);
  expect(await readFindings()).toEqual(found);
  for await (const _sessionId of rebuildUsage(installation, TEST_WORKSPACE));
  expect(await readFindings()).toEqual(found);
});

/** The same session under another name, which sorts before it. */
const earlierCopy = (count: number): string =>
  reads(count).replaceAll(`"${SESSION}"`, '"copy"').replaceAll('"timestamp":"2026-01-01', '"timestamp":"2025-12-31');

const listSessions = async (): Promise<unknown[]> =>
  (await installation.database.pool.query('SELECT DISTINCT session_id FROM recount.findings')).rows;

it('are not computed from deleted texts if the calls count in another session', async () => {
  await ingest(reads(3));
  const settings = { rowsMaxAgeDays: 1, rawMaxAgeDays: null };
  await retainWorkspace(installation, {
    workspaceId: TEST_WORKSPACE,
    settings,
    nowMs: Date.UTC(2026, 5),
    dryRun: false,
  });
  await ingest(earlierCopy(3));
  expect(await readFindings()).toHaveLength(2);
  expect(await listSessions()).toEqual([{ session_id: 'copy' }]);
});

it('come from the copy of a session that counts, and are gone once all are deleted', async () => {
  const id = await ingest(reads(3));
  const copyId = await ingest(earlierCopy(3));
  expect(await readFindings()).toHaveLength(2);
  expect(await listSessions()).toEqual([{ session_id: 'copy' }]);
  const remove = (session_id: string, transcriptId: string) =>
    installation.database.withTransaction((transaction) =>
      deleteTranscript(transaction, { workspace_id: TEST_WORKSPACE, session_id, id: transcriptId }),
    );
  await remove('copy', copyId);
  expect(await listSessions()).toEqual([{ session_id: SESSION }]);
  expect(await readFindings()).toHaveLength(2);
  await remove(SESSION, id);
  expect(await readFindings()).toEqual([]);
});
