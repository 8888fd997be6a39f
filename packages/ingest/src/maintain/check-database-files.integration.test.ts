import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestInstallation, type TestInstallation, toTranscript } from '../testing/test-installation.ts';
import type { DatabaseFinding } from './check-database-files.ts';
import { runDoctor } from './run-doctor.ts';

let installation: TestInstallation;
beforeAll(async () => {
  installation = await createTestInstallation();
  await installation.receive(toTranscript('whole', 4));
  await installation.work();
});
afterAll(() => installation.close());

const query = (sql: string) => installation.database.pool.query(sql);

async function examine(deep: boolean): Promise<DatabaseFinding[]> {
  const findings: DatabaseFinding[] = [];
  for await (const finding of runDoctor(installation, { fix: false, deep, nowMs: Date.now() })) {
    if (finding.kind === 'damaged-relation' || finding.kind === 'unchecked-database') findings.push(finding);
  }
  return findings;
}

it('finds rows that cannot be, and rows that an index lacks, where it is asked to, and leaves no extension', async () => {
  expect(await examine(true)).toEqual([]);

  await query('CREATE TABLE public.damaged (id int PRIMARY KEY, value text)');
  await query('CREATE INDEX short ON public.damaged (id)');
  const setReady = (isReady: boolean) =>
    query(`UPDATE pg_index SET indisready = ${isReady} WHERE indexrelid = 'public.short'::regclass`);
  await setReady(false);
  await query(`INSERT INTO public.damaged VALUES (1, 'a secret')`);
  await setReady(true);
  // The row is older than any row of the table may be.
  await query(`UPDATE pg_class SET relfrozenxid = pg_current_xact_id()::xid WHERE relname = 'damaged'`);

  expect(await examine(false)).toEqual([]);
  const found = await examine(true);
  expect(found).toEqual([
    expect.objectContaining({
      kind: 'damaged-relation',
      relation: 'public.damaged',
      reason: expect.stringMatching(/xmin .* precedes relation freeze threshold/),
    }),
    expect.objectContaining({ relation: 'public.short', reason: expect.stringMatching(/lacks matching index tuple/) }),
  ]);
  expect(JSON.stringify(found)).not.toContain('secret');
  expect((await query(`SELECT FROM pg_extension WHERE extname = 'amcheck'`)).rowCount).toBe(0);
});
