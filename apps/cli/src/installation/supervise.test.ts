import { createBackoff } from '@recount/service/retry';
import { describe, expect, it } from 'vitest';
import { MAX_FAILED_STARTS, PAUSES, type RunningProgram, supervise } from './supervise.ts';

const pauses = { firstMs: 0, longestMs: 0, healthyMs: 60_000 };

function createProgram() {
  let end: (reason: string) => void = () => undefined;
  const exited = new Promise<string>((resolve) => {
    end = resolve;
  });
  const stops: string[] = [];
  const program: RunningProgram = {
    exited,
    async stop() {
      stops.push('stopped');
      end('SIGTERM');
    },
  };
  return { program, end, stops };
}

/** Supervises what `start` starts; resolves when it stops trying. */
function watch(start: () => Promise<RunningProgram>, running?: RunningProgram) {
  const warnings: string[] = [];
  let giveUp: (error: Error) => void = () => undefined;
  const givenUp = new Promise<Error>((resolve) => {
    giveUp = resolve;
  });
  const events = { onWarning: (line: string) => void warnings.push(line), onGiveUp: (error: Error) => giveUp(error) };
  return { supervisor: supervise({ name: 'the program', start, ...events }, running, pauses), warnings, givenUp };
}

describe('a supervised program', () => {
  it('is restarted after half a second, then after twice as long each time, up to 30 s, and given up after eight', () => {
    const pausesMs = Array.from({ length: MAX_FAILED_STARTS }, createBackoff(PAUSES).next);
    expect(pausesMs).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
  });

  it('is restarted each time it ends, and can be stopped', async () => {
    const first = createProgram();
    const others = Array.from({ length: 30 }, createProgram);
    let started = 0;
    let lastIsUp: () => void = () => undefined;
    const isUp = new Promise<void>((resolve) => {
      lastIsUp = resolve;
    });
    const { supervisor, warnings } = watch(async () => {
      const next = others[started] ?? createProgram();
      started += 1;
      if (started < others.length) next.end('code 1');
      else lastIsUp();
      return next.program;
    }, first.program);
    first.end('SIGKILL');
    await isUp;
    await supervisor.close();
    expect(warnings[0]).toBe('the program ended (SIGKILL); another one is started');
    expect(warnings).toHaveLength(others.length);
    expect(others.at(-1)?.stops).toEqual(['stopped']);
    expect(others[0]?.stops).toEqual([]);
  });

  it('is not given up while the disk is full', async () => {
    const { program } = createProgram();
    let starts = 0;
    let becameReady: () => void = () => undefined;
    const isReady = new Promise<void>((resolve) => {
      becameReady = resolve;
    });
    const { supervisor, warnings, givenUp } = watch(async () => {
      starts += 1;
      if (starts <= 3 * MAX_FAILED_STARTS) throw new Error('PANIC: could not write to file: No space left on device');
      becameReady();
      return program;
    });
    await Promise.race([isReady, givenUp.then((error) => Promise.reject(error))]);
    await supervisor.close();
    expect(warnings).toHaveLength(3 * MAX_FAILED_STARTS);
  });

  it('is abandoned if it does not start', async () => {
    let starts = 0;
    const { supervisor, warnings, givenUp } = watch(async () => {
      starts += 1;
      throw new Error('no room');
    });
    expect((await givenUp).message).toContain('the program did not start (no room), 8 times in a row');
    expect(starts).toBe(MAX_FAILED_STARTS);
    expect(warnings).toHaveLength(MAX_FAILED_STARTS - 1);
    await supervisor.close();
  });

  it('gets a fresh number of attempts once it was ready in between', async () => {
    let starts = 0;
    const { supervisor, givenUp } = watch(async () => {
      starts += 1;
      if (starts !== 5) throw new Error('no room');
      const { program, end } = createProgram();
      end('code 1');
      return program;
    });
    await givenUp;
    expect(starts).toBe(5 + MAX_FAILED_STARTS);
    await supervisor.close();
  });

  it('is not left running if it gets ready while it is being stopped', async () => {
    const late = createProgram();
    let finish: () => void = () => undefined;
    const { supervisor } = watch(
      () =>
        new Promise((resolve) => {
          finish = () => resolve(late.program);
        }),
    );
    const closing = supervisor.close();
    finish();
    await closing;
    expect(late.stops).toEqual(['stopped']);
  });
});
