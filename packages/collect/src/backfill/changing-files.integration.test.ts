import { appendFile, mkdtemp, readdir, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readSources, type SourceItem } from '@recount/storage/sources';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createMemoryTarget } from '../testing/memory-target.ts';
import type { BackfillReport } from './backfill-report.ts';
import { runBackfill } from './run-backfill.ts';

const SESSION = '00000000-0000-4000-8000-000000000001';
let folder: string;
let path: string;
let target: ReturnType<typeof createMemoryTarget>;
/** The contents stored, complete. */
let stored: string[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'recount-changing-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  path = join(folder, `${SESSION}.jsonl`);
  stored = [];
  const memory = createMemoryTarget();
  target = {
    ...memory,
    async send(delivery, signal) {
      const parts: Uint8Array[] = [];
      async function* noted(): AsyncGenerator<Uint8Array> {
        for await (const chunk of delivery.open(0)) {
          parts.push(Uint8Array.from(chunk));
          yield chunk;
        }
      }
      const result = await memory.send({ ...delivery, open: noted }, signal);
      if (!result.isDuplicate) stored.push(Buffer.concat(parts).toString());
      return result;
    },
  };
});

/** Lines of about a kilobyte that name the file's version. */
const toVersion = (name: string, sizeBytes: number): string =>
  `${JSON.stringify({ type: 'user', sessionId: SESSION, message: { role: 'user', content: name.repeat(1000) } })}\n`.repeat(
    Math.ceil(sizeBytes / 1100),
  );

const OLD = 'o';
const NEW = 'n';
type Change = (old: string) => Promise<unknown>;

/** Before the file is opened, or in the middle of its first reading, or of its second one if it is long. */
type Moment = 'listed' | 'first reading' | 'second reading';

/** Backfills the folder and changes the file once, at that moment. */
async function backfill(moment?: Moment, change: () => Promise<unknown> = async () => {}): Promise<BackfillReport> {
  let openCount = 0;
  let isChanged = false;
  const changeOnce = async (): Promise<void> => {
    if (!isChanged) await change();
    isChanged = true;
  };
  async function* changing(): AsyncGenerator<SourceItem> {
    for await (const item of readSources([folder])) {
      if (item.kind !== 'transcript') {
        yield item;
        continue;
      }
      if (moment === 'listed') await changeOnce();
      const open = async () => {
        openCount += 1;
        const isNow = moment === (openCount === 1 ? 'first reading' : 'second reading');
        const stream = await item.open();
        if (!isNow) return stream;
        const { Readable } = await import('node:stream');
        return Readable.from(
          (async function* () {
            for await (const chunk of stream) {
              yield chunk;
              await changeOnce();
            }
          })(),
        );
      };
      yield { ...item, open };
    }
  }
  const retryPolicy = { maxAttempts: 2, firstMs: 1, longestMs: 1, maxBusyMs: 1000 };
  return await runBackfill({ target }, changing(), { pollIntervalMs: 1, retryPolicy });
}

const CHANGES: Record<string, { change: Change; after: (old: string) => string | undefined }> = {
  'appended to': {
    change: () => appendFile(path, toVersion(NEW, 3000)),
    after: (old) => old + toVersion(NEW, 3000),
  },
  'cut to its first half': {
    change: (old) => truncate(path, Math.floor(old.length / 2)),
    after: (old) => old.slice(0, Math.floor(old.length / 2)),
  },
  emptied: { change: () => truncate(path, 0), after: () => '' },
  'rewritten in place, shorter': {
    change: (old) => writeFile(path, toVersion(NEW, old.length / 3)),
    after: (old) => toVersion(NEW, old.length / 3),
  },
  'rewritten in place, longer': {
    change: (old) => writeFile(path, toVersion(NEW, old.length * 1.5)),
    after: (old) => toVersion(NEW, old.length * 1.5),
  },
  'rewritten in place, as long': {
    change: (old) => writeFile(path, old.replaceAll(OLD.repeat(1000), NEW.repeat(1000))),
    after: (old) => old.replaceAll(OLD.repeat(1000), NEW.repeat(1000)),
  },
  'replaced by another one': {
    async change(old) {
      await writeFile(`${path}.tmp`, toVersion(NEW, old.length));
      await rename(`${path}.tmp`, path);
    },
    after: (old) => toVersion(NEW, old.length),
  },
  deleted: { change: () => rm(path), after: () => undefined },
};

const SIZES: [label: string, sizeBytes: number, moments: Moment[]][] = [
  ['read in one piece', 5000, ['listed', 'first reading']],
  ['held in memory', 2 * 1024 * 1024, ['listed', 'first reading']],
  ['read twice', 9 * 1024 * 1024, ['listed', 'first reading', 'second reading']],
];

describe.each(SIZES)('a file that is %s', (_label, sizeBytes, moments) => {
  const cases = Object.keys(CHANGES).flatMap((name) => moments.map((moment) => [name, moment] as const));

  it.each(cases)('and %s at: %s', async (name, moment) => {
    const { change, after } = CHANGES[name] ?? {};
    if (change === undefined || after === undefined) throw new Error('No such change');
    const old = toVersion(OLD, sizeBytes);
    await writeFile(path, old);
    const report = await backfill(moment, () => change(old));

    const outcomes = report.ingested + report.alreadyThere + report.failed + report.skipped;
    expect(outcomes, 'one outcome').toBe(1);
    for (const { reason } of report.failures) expect(reason).toMatch(/run it again|no such file/);
    const now = after(old);
    const versions = [old, now ?? ''];
    for (const text of stored)
      expect(
        versions.some((version) => version.startsWith(text)),
        'a mix',
      ).toBe(true);
    if (stored.length === 0) expect(report.failed + report.skipped).toBe(1);

    await backfill();
    if (now !== undefined && now !== '') expect(stored).toContain(now);
    expect(await readdir(folder)).toHaveLength(now === undefined ? 0 : 1);
  });
});
