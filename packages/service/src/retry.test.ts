import { describe, expect, it, vi } from 'vitest';
import { createBackoff, type Passing, type RetryOptions, retry } from './retry.ts';

const pauses = { firstMs: 1, longestMs: 4 };

/** Fails as often as told, then returns the number of calls. */
function createCall(failures: number, toError = () => new Error('away')) {
  let count = 0;
  return async (): Promise<number> => {
    count += 1;
    if (count <= failures) throw toError();
    return count;
  };
}

/** Runs it with a record of the pauses. */
async function run(call: () => Promise<number>, options: Partial<RetryOptions> = {}) {
  const waited: number[] = [];
  const result = await retry(call, { ...pauses, ...options, onRetry: (_error, pauseMs) => waited.push(pauseMs) }).catch(
    (error: Error) => error.message,
  );
  return { result, waited };
}

describe('createBackoff', () => {
  it('doubles each pause up to the longest, and starts again when it is reset', () => {
    const backoff = createBackoff({ firstMs: 500, longestMs: 3000 });
    expect(Array.from({ length: 5 }, backoff.next)).toEqual([500, 1000, 2000, 3000, 3000]);
    backoff.reset();
    expect(backoff.next()).toBe(500);
  });

  it('shortens random pauses by up to half', () => {
    const random = vi.spyOn(Math, 'random').mockReturnValueOnce(0).mockReturnValueOnce(0.5).mockReturnValue(1);
    const backoff = createBackoff({ firstMs: 100, longestMs: 1000, isRandom: true });
    expect(Array.from({ length: 3 }, backoff.next)).toEqual([100, 150, 200]);
    random.mockRestore();
  });
});

describe('retry', () => {
  it('repeats a call until it succeeds', async () => {
    expect(await run(createCall(4))).toEqual({ result: 5, waited: [1, 2, 4, 4] });
  });

  it('rejects with the last error after the last attempt', async () => {
    expect(await run(createCall(9), { maxAttempts: 3 })).toEqual({ result: 'away', waited: [1, 2] });
  });

  it('rejects immediately with an error that does not pass', async () => {
    expect(await run(createCall(9), { toPassing: () => undefined })).toEqual({ result: 'away', waited: [] });
  });

  it('waits as long as the other side asks', async () => {
    const toPassing = (): Passing => ({ afterMs: 7 });
    expect(await run(createCall(2), { toPassing })).toEqual({ result: 3, waited: [7, 7] });
  });

  it('counts no attempts while the other side is busy, up to a limit', async () => {
    const toPassing = (): Passing => ({ isBusy: true, afterMs: 2 });
    expect((await run(createCall(9), { toPassing, maxAttempts: 2 })).result).toBe(10);
    expect((await run(createCall(9), { toPassing, maxBusyMs: 6 })).waited).toEqual([2, 2, 2]);
  });

  it('rejects with the reason of an abort, even during a pause', async () => {
    const controller = new AbortController();
    const reason = new Error('interrupted');
    const options = { firstMs: 60_000, longestMs: 60_000, signal: controller.signal };
    const running = retry(createCall(9), { ...options, onRetry: () => queueMicrotask(() => controller.abort(reason)) });
    await expect(running).rejects.toBe(reason);
    await expect(retry(createCall(0), options)).rejects.toBe(reason);
  });
});
