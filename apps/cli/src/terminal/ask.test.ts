import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { ask } from './ask.ts';
import type { CliContext } from './cli-context.ts';
import { guardTerminal } from './guard-terminal.ts';

function toTerminal() {
  const shown: string[] = [];
  const stderr = Object.assign(new PassThrough(), { isTTY: true, columns: 80 });
  stderr.on('data', (data) => shown.push(String(data)));
  const stdin = new PassThrough();
  const context = {
    stdin,
    stderr: guardTerminal(stderr as unknown as NodeJS.WriteStream),
    listenForInterruption: () => new AbortController().signal,
  } as unknown as CliContext;
  return { context, stdin, toShown: () => shown.join('') };
}

test('a question on a terminal appears as it is, without escape sequences', async () => {
  const { context, stdin, toShown } = toTerminal();
  stdin.write(' y \n');
  expect(await ask(context, 'Import these 2 files? [Y/n] ')).toBe('y');
  expect(toShown()).toBe('Import these 2 files? [Y/n] ');
});

test('an input that ends answers nothing', async () => {
  const { context, stdin, toShown } = toTerminal();
  stdin.end();
  expect(await ask(context, 'Import? ')).toBeUndefined();
  expect(toShown()).toBe('Import? \n');
});
