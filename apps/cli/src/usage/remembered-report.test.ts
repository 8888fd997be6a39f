import { appendFile, mkdir, mkdtemp, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createCapture, createFakeContext } from '../testing/fake-context.ts';
import { showRememberedReport } from './remembered-report.ts';
import { showUsage } from './show-usage.ts';
import type { UsageOptions } from './usage-options.ts';

const WORDS = ['usage', 'daily'];
const OPTIONS: UsageOptions = { cache: true, groupBy: ['day'] };
const LONG_AGO = 1_770_000_000;

const toLine = (id: number, output: number): string =>
  `${JSON.stringify({
    type: 'assistant',
    sessionId: '5dd9f6f5-700b-4247-91dd-e1af3b04230e',
    cwd: '/home/ada/app',
    timestamp: '2026-03-02T23:30:00.000Z',
    message: {
      id: `msg_of_the_remembered_report_${id}`,
      model: 'claude-sonnet-4-5',
      role: 'assistant',
      content: [{ type: 'text', text: 'It flew' }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 100, output_tokens: output },
    },
  })}\n`;

async function createHome() {
  const home = await mkdtemp(join(tmpdir(), 'recount-remembered-'));
  onTestFinished(() => rm(home, { recursive: true }));
  const environment = { HOME: home, TZ: 'UTC' };
  const toPath = (name: string) => join(home, '.claude/projects/-home-ada-app', `${name}.jsonl`);
  const path = toPath('5dd9f6f5-700b-4247-91dd-e1af3b04230e');
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, toLine(1, 7));
  await utimes(path, LONG_AGO, LONG_AGO);
  return {
    path,
    toPath,
    status: () => readFile(join(home, '.cache/recount/usage/status.json'), 'utf8'),
    async show(options = OPTIONS, words = WORDS) {
      const context = createFakeContext({ environment });
      context.words = words;
      await showUsage(context, [], options);
      return { out: context.out(), err: context.err() };
    },
    /** Undefined if nothing is remembered that is still true. */
    repeat(words = WORDS, others = {}) {
      const [stdout, stderr] = [createCapture(), createCapture()];
      const caller = { env: { ...environment, ...others }, stdout: stdout.stream, stderr: stderr.stream };
      return showRememberedReport(caller, words) ? { out: stdout.text(), err: stderr.text() } : undefined;
    },
  };
}

it('prints what the last call with the same arguments printed', async () => {
  const { show, repeat, status } = await createHome();
  expect(repeat()).toBeUndefined();
  const shown = await show();
  expect(shown.out).toContain('2026-03-02');
  const before = await status();
  expect(repeat()).toEqual(shown);
  // The status line takes the figures for as new as they are.
  expect(JSON.parse(await status())).toEqual({ ...JSON.parse(before), writtenAtMs: expect.any(Number) });
  expect(repeat(['usage', 'daily', '--json'])).toBeUndefined();
  expect(repeat(WORDS, { TZ: 'Europe/Berlin' })).toBeUndefined();
  expect(repeat(WORDS, { COLUMNS: '60' })).toBeUndefined();
});

it('prints nothing once a file has grown, was touched, is new or gone', async () => {
  const { show, repeat, path, toPath } = await createHome();
  await show();
  await appendFile(path, toLine(2, 8));
  await utimes(path, LONG_AGO, LONG_AGO);
  expect(repeat()).toBeUndefined();
  const shown = await show();
  expect(repeat()).toEqual(shown);
  await utimes(path, LONG_AGO, LONG_AGO + 1);
  expect(repeat()).toBeUndefined();
  await show();
  const other = toPath('7d1c0f5e-0000-4000-8000-000000000001');
  await writeFile(other, toLine(3, 9));
  await utimes(other, LONG_AGO, LONG_AGO);
  expect(repeat()).toBeUndefined();
  await show();
  expect(repeat()).toBeDefined();
  await rm(other);
  expect(repeat()).toBeUndefined();
});

it('does not rely on a time that the next change may have as well', async () => {
  const { show, repeat, path } = await createHome();
  const now = new Date();
  await writeFile(path, toLine(1, 7));
  await utimes(path, now, now);
  expect((await show()).out).toContain(' 7');
  await writeFile(path, toLine(1, 9));
  await utimes(path, now, now);
  expect(repeat()).toBeUndefined();
  expect((await show()).out).toContain(' 9');
});

it('remembers no report that depends on the time of the call, or on another file', async () => {
  const { show, repeat } = await createHome();
  for (const options of [{ from: '7d' }, { until: '2026-03-03' }, { in: ['2026-03'] }, { project: ['.'] }]) {
    await show({ ...OPTIONS, ...options }).catch(() => undefined);
    expect([options, repeat()]).toEqual([options, undefined]);
  }
  await show({ ...OPTIONS, cache: false });
  expect(repeat()).toBeUndefined();
});
