import { PassThrough, Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { readBody } from './read-body.ts';

/** With fake time, so that the speed of the machine does not matter. */
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe('readBody', () => {
  it('gives up on a silent client, without destroying its stream', async () => {
    const stream = new PassThrough();
    stream.write('first');
    const chunks = readBody(stream, { idleTimeoutMs: 20, remainingBytes: 1000, patienceMs: 60_000 });
    expect((await chunks.next()).value?.toString()).toBe('first');
    const silence = expect(chunks.next()).rejects.toMatchObject({ slug: 'upload-idle' });
    await vi.advanceTimersByTimeAsync(20);
    await silence;
    expect(stream.destroyed).toBe(false);
  });

  it('waits as long as data keeps arriving now and then', async () => {
    const stream = new PassThrough();
    const timer = setInterval(() => stream.write('x'), 15);
    setTimeout(() => {
      clearInterval(timer);
      stream.end();
    }, 150);
    const chunks = Readable.from(
      readBody(stream, { idleTimeoutMs: 100, remainingBytes: 1000, patienceMs: 60_000 }),
    ).toArray();
    await vi.advanceTimersByTimeAsync(150);
    expect(Buffer.concat(await chunks)).toHaveLength(9);
  });

  it('gives up on a client that trickles, but not because the consumer is slow', async () => {
    const stream = new PassThrough();
    const timer = setInterval(() => stream.write('x'), 5);
    const limits = { idleTimeoutMs: 1000, remainingBytes: 1000, patienceMs: 60 };
    const read = Readable.from(readBody(stream, limits)).toArray();
    const trickle = expect(read).rejects.toMatchObject({
      slug: 'upload-idle',
      message: expect.stringContaining('a second'),
    });
    await vi.advanceTimersByTimeAsync(1000);
    await trickle;
    clearInterval(timer);

    const chunks = readBody(Readable.from([Buffer.alloc(1), Buffer.alloc(1)]), { ...limits, patienceMs: 60 });
    for await (const _chunk of chunks) await vi.advanceTimersByTimeAsync(80);
  });

  it('waits a second longer for each KiB, up to ten minutes', async () => {
    const limits = { idleTimeoutMs: 1000, remainingBytes: 10_000_000, patienceMs: 100 };
    await Readable.from(readBody(Readable.from([Buffer.alloc(3072)]), limits)).toArray();
    expect(limits.patienceMs).toBe(3100);
    await Readable.from(readBody(Readable.from([Buffer.alloc(5_000_000)]), limits)).toArray();
    expect(limits.patienceMs).toBe(600_000);
  });

  it('counts bytes over all streams that share its limits', async () => {
    const limits = { idleTimeoutMs: 1000, remainingBytes: 10, patienceMs: 60_000 };
    await Readable.from(readBody(Readable.from([Buffer.alloc(6)]), limits)).toArray();
    await Readable.from(readBody(Readable.from([Buffer.alloc(4)]), limits)).toArray();
    await expect(Readable.from(readBody(Readable.from([Buffer.alloc(1)]), limits)).toArray()).rejects.toMatchObject({
      slug: 'transcript-too-large',
    });
  });

  it('leaves the rest of a stream to the next reader', async () => {
    const stream = Readable.from([Buffer.from('a'), Buffer.from('b'), Buffer.from('c')]);
    const limits = { idleTimeoutMs: 1000, remainingBytes: 10, patienceMs: 60_000 };
    for await (const chunk of readBody(stream, limits)) {
      expect(chunk.toString()).toBe('a');
      break;
    }
    const rest = await Readable.from(readBody(stream, limits)).toArray();
    expect(Buffer.concat(rest).toString()).toBe('bc');
  });

  it('reports that the client disconnected', async () => {
    const stream = new PassThrough();
    setTimeout(() => stream.destroy(new Error('aborted')), 5);
    const limits = { idleTimeoutMs: 1000, remainingBytes: 10, patienceMs: 60_000 };
    const read = expect(Readable.from(readBody(stream, limits)).toArray()).rejects.toMatchObject({
      slug: 'upload-aborted',
    });
    await vi.advanceTimersByTimeAsync(5);
    await read;
  });
});
