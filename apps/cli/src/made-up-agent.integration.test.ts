import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTestApi, HOME_WORKSPACE, type TestApi } from '@recount/api/testing/test-api';
import type { SearchResultList } from '@recount/contract';
import { verifyUsage } from '@recount/db';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { runCommandLine } from './run-command-line.ts';
import { createFakeContext } from './testing/fake-context.ts';

// The one line that docs/adding-an-agent.md requires in addition to the agent's folder.
vi.mock('@recount/core/agents', async (importOriginal) => {
  const [{ AGENTS }, { parley }] = await Promise.all([
    importOriginal<typeof import('@recount/core/agents')>(),
    import('@recount/core/testing/made-up-agent'),
  ]);
  return { AGENTS: [...AGENTS, parley] };
});

let api: TestApi;
let directory: string;
beforeAll(async () => {
  api = await createTestApi();
  directory = await mkdtemp(join(tmpdir(), 'recount-made-up-agent-'));
});
afterAll(async () => {
  await api.close();
  await rm(directory, { recursive: true });
});

/** A talk with one prompt and two responses, the first with two calls, and their results. */
function toTalk(talk: string, mode: 'log' | 'live', word: string): string {
  const at = Date.UTC(2026, 4, 4, 10);
  const ref = (name: string) => `reply-${talk}-${name}`.padEnd(24, '0');
  const lines = [
    { parley: mode, talk, at, dir: '/home/ada/app', build: '7.1', model: 'parley-large' },
    { say: 'user', text: `Look for the ${word}`, at: at + 1000 },
    { act: `act-${talk}-1`.padEnd(24, '0'), ref: ref('a'), verb: 'peek', with: { file: 'a.txt' }, at: at + 2000 },
    { act: `act-${talk}-2`.padEnd(24, '0'), ref: ref('a'), verb: 'sh', with: { line: 'make all' }, at: at + 2000 },
    { done: `act-${talk}-1`.padEnd(24, '0'), text: 'a, b', failed: false, at: at + 3000 },
    { done: `act-${talk}-2`.padEnd(24, '0'), text: 'No rule', failed: true, at: at + 4000 },
    { say: 'model', ref: ref('a'), text: 'One moment', spent: { in: 100, out: 20, kept: 60 }, at: at + 4500 },
    { say: 'model', ref: ref('b'), text: `Found the ${word}`, spent: { in: 200, out: 7, kept: 150 }, at: at + 5000 },
    { over: true, ok: true, at: at + 6000 },
  ];
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}

async function run(commandArguments: string[], stdin = ''): Promise<string> {
  const environment = {
    RECOUNT_SERVER: api.url,
    RECOUNT_API_KEY: api.keys.admin,
    RECOUNT_DATA_DIR: join(directory, 'data'),
  };
  const context = createFakeContext({ environment, workingDirectory: directory, stdin });
  const exitCode = await runCommandLine(context, commandArguments);
  expect(exitCode, context.err()).toBe(0);
  return context.out();
}

it('handles an agent of one folder in upload, backfill, tail, ingest, search and reports', async () => {
  await mkdir(join(directory, 'talks'));
  await writeFile(join(directory, 'one.jsonl'), toTalk('talk-one', 'log', 'heron'));
  await writeFile(join(directory, 'talks', 'two.jsonl'), toTalk('talk-two', 'log', 'marten'));
  await writeFile(join(directory, 'talks', 'run.jsonl'), toTalk('talk-run', 'live', 'otter'));

  await run(['upload', 'one.jsonl']);
  await run(['backfill', '--no-wait', 'talks']);
  const shown = await run(['tail', '--record'], toTalk('talk-live', 'live', 'badger'));
  expect(shown).toContain('a.txt');
  expect(shown).toContain('No rule');
  expect(shown).toContain('Found the badger');
  await api.work();

  const { transcripts } = (await (await api.fetch('/v1/transcripts')).json()) as { transcripts: object[] };
  const figures = {
    total_messages: 5,
    tool_use_count: 2,

    tokens_in: 90,
    cache_read: 210,
    tokens_out: 27,
  };
  const row = { agent: 'parley', status: 'ingested', error_count: 0, warning_count: 0, ...figures };
  expect(transcripts).toHaveLength(4);
  expect(transcripts).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ ...row, session_id: 'talk-one', format: 'parley-log', project: '/home/ada/app' }),
      expect.objectContaining({ ...row, session_id: 'talk-two', format: 'parley-log' }),
      expect.objectContaining({ ...row, session_id: 'talk-run', format: 'parley-live' }),
      expect.objectContaining({ ...row, session_id: 'talk-live', format: 'parley-live' }),
    ]),
  );

  const found = JSON.parse(await run(['search', 'found marten', '--agent', 'parley', '--json'])) as SearchResultList;
  expect(found.results).toMatchObject([{ session_id: 'talk-two' }]);

  const report = async (...words: string[]) =>
    JSON.parse(await run(['report', ...words, '--json'])) as { rows: object[] };
  expect((await report('usage', '--group-by', 'agent')).rows).toMatchObject([
    { agent: 'parley', own: { responses: 8, tokens_in: 360, tokens_out: 108, cache_read: 840 } },
  ]);
  expect((await report('tools', '--group-by', 'agent,tool,tool_kind')).rows).toMatchObject([
    { agent: 'parley', tool: 'peek', tool_kind: 'read', calls: 4, errors: 0 },
    { agent: 'parley', tool: 'sh', tool_kind: 'shell', calls: 4, errors: 4 },
  ]);
  expect((await report('files')).rows).toMatchObject([{ file_path: 'a.txt', reads: 4, edits: 0 }]);
  expect((await report('programs')).rows).toMatchObject([{ program: 'make', calls: 4 }]);
  const checks = await api.database.withSnapshot((snapshot) => verifyUsage(snapshot, HOME_WORKSPACE));
  expect(checks).toEqual(checks.map(({ table }) => expect.objectContaining({ table, missing: 0, surplus: 0 })));
});
