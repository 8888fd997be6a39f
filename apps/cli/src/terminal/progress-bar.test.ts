import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createCapture } from '../testing/fake-context.ts';
import { createProgressBar, formatProgress, whileShowing } from './progress-bar.ts';

const CLEAR_LINE = '\r\u001B[2K';
const progress = { totalBytes: 10e6, doneBytes: 2.5e6, files: 50, remark: '3 being ingested' };

describe('formatProgress', () => {
  it('shows share, rates and the time left', () => {
    expect(formatProgress(progress, 5000)).toBe(
      ' 25 % [██████                  ]  2.5 MB of 10 MB  500 kB/s  10 files/s  15 s left to read  3 being ingested',
    );
  });

  it('shows no rates in the first second, and no remaining time at the end', () => {
    expect(formatProgress({ ...progress, remark: '' }, 999)).toBe(' 25 % [██████                  ]  2.5 MB of 10 MB');
    expect(formatProgress({ ...progress, doneBytes: 11e6 }, 2000)).toMatch(
      /^100 % .*█\] {2}11 MB of 10 MB .* files\/s {2}3 being/,
    );
  });

  it('claims no 0 s while the last bytes are read, and what was read is still waited for', () => {
    expect(formatProgress({ ...progress, doneBytes: 9.999e6 }, 3000)).not.toContain('left');
  });

  it('counts while the total is unknown', () => {
    expect(formatProgress({ ...progress, totalBytes: undefined }, 5000)).toBe(
      '2.5 MB  50 files  500 kB/s  10 files/s  3 being ingested',
    );
  });
});

describe('createProgressBar', () => {
  it('redraws no more often than needed, within the terminal’s width, and clears itself', () => {
    const { stream, text } = createCapture(40);
    let nowMs = 0;
    const bar = createProgressBar(stream, () => nowMs);
    for (nowMs = 0; nowMs < 1000; nowMs += 10) bar.update(progress);
    const frames = text().split(CLEAR_LINE).slice(1);
    expect(frames).toHaveLength(10);
    for (const frame of frames) expect(frame.length).toBeLessThan(40);
    bar.note('a note');
    bar.end();
    const [note, redrawn, cleared] = text().split(CLEAR_LINE).slice(-3);
    expect([note, cleared]).toEqual(['a note\n', '']);
    expect(redrawn).toBe(frames.at(-1));
  });

  it('writes a line every five seconds if there is no terminal, beside the notes', () => {
    const { stream, text } = createCapture();
    let nowMs = 0;
    const bar = createProgressBar(stream, () => nowMs);
    bar.update(progress);
    bar.note('a note');
    for (nowMs = 100; nowMs <= 10_000; nowMs += 100) bar.update(progress);
    bar.end();
    const rest = '2.5 MB of 10 MB';
    expect(text()).toBe(
      `a note\n 25 %  ${rest}  500 kB/s  10 files/s  15 s left to read  3 being ingested\n` +
        ` 25 %  ${rest}  250 kB/s  5 files/s  30 s left to read  3 being ingested\n`,
    );
  });
});

describe('whileShowing', () => {
  it('says every five seconds that work continues', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const { stream, text } = createCapture();
    const answer = await whileShowing(
      stream,
      () => 'Counting',
      async () => {
        vi.advanceTimersByTime(10_000);
        return 42;
      },
    );
    vi.advanceTimersByTime(10_000);
    expect(answer).toBe(42);
    expect(text()).toBe('Counting … 5 s\nCounting … 10 s\n');
  });
});
