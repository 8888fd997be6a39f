import { PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type CliOutput, guardTerminal } from '../terminal/guard-terminal.ts';
import { createScreen } from './screen.ts';

/** A terminal or pipe that both streams write to. */
function createOutput({ isTTY }: { isTTY: boolean }) {
  let text = '';
  const open = (): CliOutput => {
    const stream = new PassThrough().on('data', (chunk) => {
      text += chunk;
    });
    return guardTerminal(Object.assign(stream, { isTTY }) as unknown as NodeJS.WriteStream);
  };
  return { stdout: open(), stderr: open(), text: () => text };
}

const bytes = (text: string): Buffer => Buffer.from(text);
afterEach(() => void vi.useRealTimers());

describe('createScreen', () => {
  it('never mixes two lines', async () => {
    const output = createOutput({ isTTY: true });
    const screen = createScreen(output);
    await screen.passStderr(bytes('half a '));
    await screen.writeLine('[claude] one');
    await screen.passStderr(bytes('line\nand the next'));
    await screen.writeLine('[claude] two');
    await screen.close();
    expect(output.text()).toBe('[claude] one\nhalf a line\n[claude] two\nand the next');
  });

  it('shows the user a question after a moment, and continues below it', async () => {
    vi.useFakeTimers();
    const output = createOutput({ isTTY: true });
    const screen = createScreen(output);
    await screen.passStderr(bytes('Password: '));
    expect(output.text()).toBe('');
    await vi.advanceTimersByTimeAsync(300);
    expect(output.text()).toBe('Password: ');
    await screen.writeLine('[claude] one');
    await screen.writeLine('[claude] two');
    screen.note('three');
    expect(output.text()).toBe('Password: \n[claude] one\n[claude] two\nrecount: three\n');
    await screen.close();
  });

  it('adds nothing to the bytes of a pipe, and buffers up to a bound', async () => {
    vi.useFakeTimers();
    const output = createOutput({ isTTY: false });
    const screen = createScreen(output);
    await screen.passStderr(bytes('x'.repeat(70_000)));
    expect(output.text()).toHaveLength(70_000);
    await screen.writeLine('one');
    expect(output.text().slice(70_000)).toBe('one\n');
    await screen.close();
  });

  it('goes no faster than its reader, and continues without one', async () => {
    const output = createOutput({ isTTY: false });
    const stdout = guardTerminal(new PassThrough({ highWaterMark: 4 }) as unknown as NodeJS.WriteStream);
    stdout.on('error', () => undefined);
    const screen = createScreen({ ...output, stdout });
    let isWritten = false;
    const writing = screen.writeLine('longer than that').then(() => {
      isWritten = true;
    });
    await sleep(20);
    expect(isWritten).toBe(false);
    stdout.emit('error', Object.assign(new Error('gone'), { code: 'EPIPE' }));
    await writing;
    await screen.writeLine('never read');
    await screen.close();
  });
});
