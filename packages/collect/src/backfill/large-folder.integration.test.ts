import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readSources } from '@recount/storage/sources';
import { expect, it, onTestFinished } from 'vitest';
import { createMemoryTarget, type MemoryTarget } from '../testing/memory-target.ts';
import { runBackfill } from './run-backfill.ts';

const FOLDERS = 20;
const FILES_PER_FOLDER = 150;
const FILES = FOLDERS * FILES_PER_FOLDER;

/** Creates several small files, one session each. */
async function fillFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'recount-large-folder-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  for (let project = 0; project < FOLDERS; project += 1) {
    await mkdir(join(folder, `project-${project}`));
    const writing = Array.from({ length: FILES_PER_FOLDER }, (_, index) => {
      const sessionId = `00000000-0000-4000-8000-${String(project * FILES_PER_FOLDER + index).padStart(12, '0')}`;
      const line = { type: 'user', sessionId, message: { role: 'user', content: 'hello' } };
      return writeFile(join(folder, `project-${project}`, `${sessionId}.jsonl`), `${JSON.stringify(line)}\n`);
    });
    await Promise.all(writing);
  }
  return folder;
}

/** Accepts everything, and remembers only hashes and ids. */
function createForgetfulTarget(): MemoryTarget {
  const known = new Map<string, string>();
  const memory = createMemoryTarget();
  return {
    ...memory,
    maxSmallDeliveries: 128,
    async find({ sha256 }) {
      const id = known.get(sha256);
      return id === undefined
        ? undefined
        : { transcriptId: id, sessionId: 's', status: 'ingested', failureReason: null };
    },
    async send(delivery, signal) {
      const { transcript, ...receipt } = await memory.send(delivery, signal);
      const sha256 = memory.stored.pop()?.sha256 ?? '';
      known.set(sha256, `transcript-${known.size}`);
      return { ...receipt, transcript: { ...transcript, transcriptId: known.get(sha256) ?? '' } };
    },
    readStatuses: async (ids) =>
      ids.map((transcriptId) => ({ transcriptId, sessionId: 's', status: 'ingested', failureReason: null })),
  };
}

it('ingests a folder of thousands of files with monotonic progress, and nothing twice', async () => {
  const folder = await fillFolder();
  const target = createForgetfulTarget();
  let consumed = 0;
  let progressCount = 0;
  const onEvent: Parameters<typeof runBackfill>[0]['onEvent'] = (event, report) => {
    if (event.kind !== 'progress') return;
    expect(report.consumedInputBytes).toBeGreaterThanOrEqual(consumed);
    consumed = report.consumedInputBytes;
    progressCount += 1;
  };
  const options = { pollIntervalMs: 1 };
  const first = await runBackfill({ target, onEvent }, readSources([folder]), options);
  expect(first).toMatchObject({ found: FILES, ingested: FILES, alreadyThere: 0, failed: 0, skipped: 0, queued: 0 });
  expect(progressCount).toBeGreaterThanOrEqual(FILES);
  expect(consumed).toBeGreaterThan(0);
  consumed = 0;
  const second = await runBackfill({ target, onEvent }, readSources([folder]), options);
  expect(second).toMatchObject({ found: FILES, ingested: 0, alreadyThere: FILES, failed: 0 });
});
