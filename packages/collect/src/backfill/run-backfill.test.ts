import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { SourceError } from '@recount/storage/sources';
import { describe, expect, it, vi } from 'vitest';
import { DeliveryError } from '../deliver/delivery-error.ts';
import { createMemoryTarget, toItems, toSource } from '../testing/memory-target.ts';
import type { BackfillEvent } from './backfill-tally.ts';
import { type BackfillOptions, runBackfill } from './run-backfill.ts';

const fast: BackfillOptions = {
  pollIntervalMs: 1,
  retryPolicy: { maxAttempts: 3, firstMs: 1, longestMs: 2, maxBusyMs: 60_000 },
};
const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `s${index}`);
const many = (count: number) => toItems(names(count).map((name) => toSource(name)));
const unavailable = (): DeliveryError => new DeliveryError('unavailable', 'the server is away');

/** Longer than what is held of one source. */
const LONG = `${JSON.stringify({ type: 'user', sessionId: 'long', message: { content: 'x'.repeat(1000) } })}\n`.repeat(
  10_000,
);

/** Resolves once this many were sent at a time. The moment after it lets others begin, if they may. */
async function untilUnderWay(target: { maxUnderWay: number }, count: number): Promise<void> {
  await vi.waitFor(() => expect(target.maxUnderWay).toBeGreaterThanOrEqual(count), { interval: 1 });
  await sleep(5);
}

describe('runBackfill', () => {
  it('delivers every transcript once, and none in a second run', async () => {
    const target = createMemoryTarget();
    expect(await runBackfill({ target }, many(30), fast)).toMatchObject({
      found: 30,
      ingested: 30,
      queued: 0,
      failed: 0,
    });
    expect(target.stored).toHaveLength(30);
    expect(await runBackfill({ target }, many(30), fast)).toMatchObject({ found: 30, ingested: 0, alreadyThere: 30 });
    expect(target.stored).toHaveLength(30);
  });

  it('delivers as many concurrently as permitted, and no more', async () => {
    const target = createMemoryTarget({ beforeSend: () => untilUnderWay(target, 3) });
    await runBackfill({ target }, many(20), { ...fast, concurrency: 3 });
    expect(target.maxUnderWay).toBe(3);
    await runBackfill({ target: createMemoryTarget() }, many(3), { ...fast, concurrency: 0 });
  });

  it.each(['short', 'long'])('reads a %s source that opens only once before it requests the next', async (length) => {
    const content = length === 'long' ? LONG : undefined;
    let openStreams = 0;
    async function* sources() {
      for (const name of names(6)) {
        yield toSource(name, {
          reopenable: false,
          open: async () => {
            openStreams += 1;
            const text = content?.replaceAll('"long"', `"${name}"`) ?? `{"type":"user","sessionId":"${name}"}\n`;
            const chunks = Array.from({ length: Math.ceil(text.length / 65_536) }, (_, index) =>
              Buffer.from(text.slice(index * 65_536, (index + 1) * 65_536)),
            );
            return Readable.from(chunks).once('close', () => {
              openStreams -= 1;
            });
          },
        });
        expect(openStreams).toBe(0);
      }
    }
    const most = length === 'long' ? 1 : 4;
    const target = createMemoryTarget({ beforeSend: () => untilUnderWay(target, most) });
    expect(await runBackfill({ target }, sources(), fast)).toMatchObject({ found: 6, ingested: 6 });
    expect(target.maxUnderWay).toBe(most);
  });

  it('opens a long source again to deliver it, and gives the same bytes', async () => {
    let opened = 0;
    const open = async () => {
      opened += 1;
      return Readable.from([Buffer.from(LONG)]);
    };
    const target = createMemoryTarget();
    const report = await runBackfill({ target }, toItems([toSource('long', { open })]), fast);
    expect(report).toMatchObject({ ingested: 1, readBytes: LONG.length });
    expect(opened).toBe(2);
    await runBackfill({ target }, toItems([toSource('long', { open })]), fast);
    expect(opened).toBe(3);
  });

  it('says what every other file is', async () => {
    const other = (name: string, content: string) => toSource(name, { content });
    const report = await runBackfill(
      { target: createMemoryTarget() },
      toItems([
        other('data', '{"a":1}\n'),
        other('text', 'no json'),
        other('nothing', ''),
        other('wide', '{\0"\0a\0"\0:\x001\0}\0'),
        { kind: 'skipped', location: '/notes.txt', reason: 'not-a-transcript', consumedInputBytes: 0 },
      ]),
      fast,
    );
    expect(report).toMatchObject({
      found: 0,
      skipped: 5,
      skippedByReason: { 'unknown-format': 2, empty: 1, 'utf-16': 1, 'not-a-transcript': 1 },
    });
  });

  it('leaves the journal of sub-agents to the attachments pass', async () => {
    const path = '/p/11111111-1111-4111-8111-111111111111/subagents/workflows/wf_1/journal.jsonl';
    const source = toSource('journal', { content: '{"type":"started","key":"a"}\n', path });
    const report = await runBackfill({ target: createMemoryTarget() }, toItems([source]), fast);
    expect(report).toMatchObject({ found: 0, ingested: 0, skippedByReason: { 'not-a-transcript': 1 } });
  });

  it('counts what cannot be read, and continues', async () => {
    const error = new SourceError('truncated', 'the gzip data ends too early');
    const open = async () =>
      Readable.from(
        (async function* () {
          yield Buffer.from('{"type":"user","sessionId":"a"}\n');
          throw error;
        })(),
      );
    const report = await runBackfill(
      { target: createMemoryTarget() },
      toItems([
        { kind: 'failed', location: '/broken.zip', error, consumedInputBytes: 0 },
        toSource('a', { open }),
        toSource('b', { open, reopenable: false }),
        toSource('c', { open: () => Promise.reject(error) }),
        toSource('d'),
      ]),
      fast,
    );
    expect(report).toMatchObject({ found: 5, ingested: 1, failed: 4 });
    expect(report.failures).toContainEqual({ location: '/home/ada/b.jsonl', reason: error.message });
  });

  it('blames the source, not the target, if a long one breaks off during delivery', async () => {
    const open = async () =>
      Readable.from(
        (async function* () {
          yield Buffer.from(LONG);
          throw new SourceError('corrupt', 'the archive is damaged');
        })(),
      );
    const target = createMemoryTarget();
    const receive = target.send;
    target.send = (...delivery) => receive(...delivery).catch(() => Promise.reject(unavailable()));
    const report = await runBackfill({ target }, toItems([toSource('a', { open, reopenable: false })]), fast);
    expect(report.failures).toEqual([{ location: '/home/ada/a.jsonl', reason: 'the archive is damaged' }]);
  });
});

describe('a failing target', () => {
  it('is retried, and a refused transcript is not', async () => {
    let calls = 0;
    const target = createMemoryTarget({
      beforeSend: ({ path }) => {
        calls += 1;
        if (path.includes('s1')) throw new DeliveryError('rejected', 'too large');
        if (calls % 2 === 0) throw unavailable();
      },
    });
    const report = await runBackfill({ target }, many(5), { ...fast, concurrency: 1 });
    expect(report).toMatchObject({ ingested: 4, failed: 1, failures: [{ reason: 'too large' }] });
  });

  it('is reported each time it is retried', async () => {
    const events: BackfillEvent[] = [];
    const target = createMemoryTarget({ readStatuses: () => Promise.reject(unavailable()) });
    const onEvent = (event: BackfillEvent): unknown => event.kind === 'retrying' && events.push(event);
    await expect(runBackfill({ target, onEvent }, many(1), fast)).rejects.toThrow('the server is away');
    expect(events).toMatchObject([{ reason: 'the server is away' }, { reason: 'the server is away' }]);
  });

  it('may end the reading of a long source, and its own error is reported', async () => {
    const target = createMemoryTarget();
    target.send = async ({ open }) => {
      const chunks = open(0)[Symbol.asyncIterator]();
      await chunks.next();
      await (chunks as AsyncGenerator).throw(new Error('Premature close')).catch(() => undefined);
      throw new DeliveryError('rejected', 'too large');
    };
    for (const reopenable of [true, false]) {
      const source = toSource('long', { open: async () => Readable.from([Buffer.from(LONG)]), reopenable });
      const report = await runBackfill({ target }, toItems([source]), fast);
      expect(report.failures).toEqual([{ location: source.location, reason: 'too large' }]);
    }
  });

  it('gets the pause that it asks for', async () => {
    let isFirst = true;
    const target = createMemoryTarget({
      beforeSend: () => {
        if (!isFirst) return;
        isFirst = false;
        throw new DeliveryError('unavailable', 'too many requests', { retryAfterMs: 60 });
      },
    });
    const startedAt = performance.now();
    expect(await runBackfill({ target }, many(1), fast)).toMatchObject({ ingested: 1 });
    expect(performance.now() - startedAt).toBeGreaterThan(55);
  });

  it('is waited for as long as it is busy, which is no failed attempt', async () => {
    let busyCount = 0;
    const target = createMemoryTarget({
      beforeSend: () => {
        if (busyCount++ < 50) throw new DeliveryError('unavailable', 'busy', { retryAfterMs: 1, isBusy: true });
      },
    });
    expect(await runBackfill({ target }, many(1), fast)).toMatchObject({ ingested: 1, failed: 0 });
  });

  it('ends the run if it denies everything', async () => {
    const target = createMemoryTarget({
      beforeSend: () => {
        throw new DeliveryError('denied', 'the API key is not valid');
      },
    });
    const run = runBackfill({ target }, many(1000), { ...fast, concurrency: 1 });
    await expect(run).rejects.toThrow('the API key is not valid');
  });

  it('ends the run if it stays unavailable, but not for a single transcript', async () => {
    const target = createMemoryTarget({
      beforeSend: ({ path }) => {
        if (path.includes('s7')) throw unavailable();
      },
    });
    expect(await runBackfill({ target }, many(20), fast)).toMatchObject({ ingested: 19, failed: 1 });
    target.beforeSend = () => {
      throw unavailable();
    };
    target.stored = [];
    await expect(runBackfill({ target }, many(1000), fast)).rejects.toThrow('the server is away');
  });

  it('ends the run if it cannot report the state of transcripts', async () => {
    const target = createMemoryTarget({ readStatuses: () => Promise.reject(unavailable()) });
    await expect(runBackfill({ target }, many(3), fast)).rejects.toThrow('the server is away');
  });
});

describe('the end of ingestion', () => {
  it('is awaited, whatever the outcome', async () => {
    for (const [laterStatus, count] of [
      ['ingested', { ingested: 3 }],
      ['superseded', { superseded: 3 }],
      ['failed', { failed: 3 }],
    ] as const) {
      const report = await runBackfill({ target: createMemoryTarget({ laterStatus }) }, many(3), fast);
      expect(report).toMatchObject({ found: 3, queued: 0, ingested: 0, superseded: 0, failed: 0, ...count });
    }
  });

  it('is checked again if a later transcript turns out to be the continuation', async () => {
    const target = createMemoryTarget({ firstStatus: 'ingested', laterStatus: 'superseded' });
    expect(await runBackfill({ target }, many(3), fast)).toMatchObject({ ingested: 0, superseded: 3 });
  });

  it('says when everything is delivered, before the first count of what search does not find yet', async () => {
    const target = createMemoryTarget();
    const kinds: string[] = [];
    const countUnindexed = async (): Promise<number> => {
      kinds.push('counted');
      return 0;
    };
    const onEvent = ({ kind }: BackfillEvent): void => void kinds.push(kind);
    await runBackfill({ target: { ...target, countUnindexed }, onEvent }, many(2), fast);
    expect(kinds.filter((kind) => kind === 'delivered' || kind === 'counted')).toEqual(['delivered', 'counted']);
    expect(kinds.slice(0, kinds.indexOf('delivered')).filter((kind) => kind === 'outcome')).not.toEqual([]);
  });

  it('includes search, whose progress is reported', async () => {
    const waiting = [3, 1, 0];
    const target = createMemoryTarget({ countUnindexed: async () => waiting.shift() ?? 0 });
    const seen: number[] = [];
    const onEvent = (_event: BackfillEvent, { unindexed }: { unindexed: number }): void => void seen.push(unindexed);
    expect(await runBackfill({ target, onEvent }, many(2), fast)).toMatchObject({ ingested: 2, unindexed: 0 });
    expect(waiting).toEqual([]);
    expect(seen.slice(-3)).toEqual([3, 1, 0]);
  });

  it('does not wait forever for search, and reports what is not indexed', async () => {
    const target = createMemoryTarget({ countUnindexed: async () => 2 });
    expect(await runBackfill({ target }, many(2), { ...fast, stallMs: 5 })).toMatchObject({ unindexed: 2 });
    const counted = createMemoryTarget({ countUnindexed: () => Promise.reject(new Error('is not asked')) });
    await runBackfill({ target: counted }, many(2), { ...fast, waitsForIngestion: false });
  });

  it('is not awaited unless asked', async () => {
    const target = createMemoryTarget({ laterStatus: 'queued' });
    const options = { ...fast, waitsForIngestion: false };
    expect(await runBackfill({ target }, many(3), options)).toMatchObject({ queued: 3, ingested: 0 });
    expect(await runBackfill({ target }, many(3), options)).toMatchObject({ queued: 0, alreadyThere: 3 });
    expect(target.askedIds).toBe(0);
  });

  it('is awaited too if an earlier run stored the transcript, whose failure counts', async () => {
    const target = createMemoryTarget({ laterStatus: 'failed' });
    await runBackfill({ target }, many(2), { ...fast, waitsForIngestion: false });
    expect(await runBackfill({ target }, many(2), fast)).toMatchObject({ alreadyThere: 0, failed: 2 });
  });

  it('pauses reading while a thousand are waiting, and says once when there is no progress', async () => {
    const target = createMemoryTarget({ laterStatus: 'queued' });
    const events: BackfillEvent[] = [];
    let readCount = 0;
    async function* sources() {
      for (const name of names(1500)) {
        readCount += 1;
        yield toSource(name);
      }
    }
    const onEvent = (event: BackfillEvent): void => {
      if (event.kind !== 'stalled' || target.laterStatus === 'ingested') return;
      events.push(event);
      expect(readCount).toBeLessThan(1010);
      setTimeout(() => {
        target.laterStatus = 'ingested';
      }, 30);
    };
    const report = await runBackfill({ target, onEvent }, sources(), { ...fast, stallMs: 20 });
    expect(report).toMatchObject({ found: 1500, ingested: 1500 });
    expect(events).toHaveLength(1);
  });
});

describe('an interruption', () => {
  it('ends the run with what was done, and the next one does the rest', async () => {
    const target = createMemoryTarget();
    const interruption = new AbortController();
    target.beforeSend = () => {
      if (target.stored.length >= 5) interruption.abort();
    };
    const report = await runBackfill({ target }, many(20), { ...fast, signal: interruption.signal });
    expect(report.isInterrupted).toBe(true);
    expect(report.failed).toBe(0);
    const storedCount = target.stored.length;
    expect(storedCount).toBeLessThan(12);
    target.beforeSend = () => {};
    const second = await runBackfill({ target }, many(20), fast);
    expect(second).toMatchObject({
      isInterrupted: false,
      found: 20,
      ingested: 20 - storedCount,
      alreadyThere: storedCount,
    });
  });

  it('ends the wait for ingestion too', async () => {
    const interruption = new AbortController();
    const target = createMemoryTarget({ laterStatus: 'queued' });
    setTimeout(() => interruption.abort(), 20);
    const report = await runBackfill({ target }, many(3), { ...fast, signal: interruption.signal });
    expect(report).toMatchObject({ isInterrupted: true, queued: 3 });
  });
});

describe('a dry run', () => {
  it('reports what is new, and stores nothing', async () => {
    const target = createMemoryTarget();
    await runBackfill({ target }, many(2), fast);
    const report = await runBackfill({ target }, many(5), { ...fast, isDryRun: true });
    expect(report).toMatchObject({ found: 5, new: 3, alreadyThere: 2 });
    expect(target.stored).toHaveLength(2);
  });

  it('works without a target', async () => {
    const report = await runBackfill({ target: undefined }, many(5), { ...fast, isDryRun: true });
    expect(report).toMatchObject({ found: 5, new: 5 });
  });
});
