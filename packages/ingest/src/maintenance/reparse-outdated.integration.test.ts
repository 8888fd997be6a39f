import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { PARSER_VERSION } from '../process/process-options.ts';
import { createTestInstallation, type TestInstallation, toTranscript } from '../testing/test-installation.ts';
import { runReparsing } from './reparse-outdated.ts';

let installation: TestInstallation;
beforeAll(async () => {
  installation = await createTestInstallation();
});
afterAll(() => installation.close());

it('ingests again what an older parser ingested, a few at a time, and nothing else', async () => {
  const ids: string[] = [];
  for (const session of ['a', 'b', 'c']) {
    const { transcript } = await installation.receive(toTranscript(session, 4));
    ids.push(transcript.id);
  }
  await installation.work();
  const [older, newer, current] = ids;
  const setVersion = (id: string | undefined, version: string) =>
    installation.database.pool.query('UPDATE recount.transcripts SET parser_version = $2 WHERE id = $1', [id, version]);
  await setVersion(older, `${Number(PARSER_VERSION) - 1}+rules-1`);
  await setVersion(newer, `${Number(PARSER_VERSION) + 1}`);

  const stop = new AbortController();
  const reports: number[] = [];
  const failures: string[] = [];
  const reparsing = runReparsing(
    {
      ...installation,
      onReport: ({ transcripts }) => reports.push(transcripts),
      onFailure: (reason) => failures.push(reason),
    },
    { signal: stop.signal, intervalMs: 10, pollMs: 10 },
  );
  await vi.waitFor(() => expect(reports).toEqual([1]));
  stop.abort();
  await reparsing;
  await installation.work();
  const versions = await Promise.all(ids.map(async (id) => (await installation.find(id))?.parser_version));
  expect(versions).toEqual([PARSER_VERSION, `${Number(PARSER_VERSION) + 1}`, PARSER_VERSION]);
  expect((await installation.find(current ?? ''))?.status).toBe('ingested');
  expect([reports, failures]).toEqual([[1], []]);
});
