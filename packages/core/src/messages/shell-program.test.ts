import { describe, expect, it } from 'vitest';
import { toShellProgram } from './shell-program.ts';

describe('toShellProgram', () => {
  it.each([
    ['ls', 'ls'],
    ['git log --oneline', 'git'],
    ['  /usr/bin/git log', 'git'],
    ['./scripts/run.sh x', 'run.sh'],
    ['FOO=1 BAR="a b; c" node x.js', 'node'],
    ['sudo -E apt-get install', 'apt-get'],
    ['cd /srv/app && pnpm test', 'pnpm'],
    ['cd "/a b" && A=1 sudo make', 'make'],
    ['cd a; cd b; ls', 'ls'],
    ['cd a &&\n  ls', 'ls'],
    ['(cd a && ls)', 'ls'],
    ['# what it does\ngrep x y', 'grep'],
    ['"/opt/my tool/bin" x', 'bin'],
    ['ls|wc', 'ls'],
    ['ls;pwd', 'ls'],
    ['for f in *; do rm $f; done', 'for'],
    ['cd', 'cd'],
    ['cd /srv', 'cd'],
    ['sudo', 'sudo'],
    ['curl"" x', 'curl'],
  ])('%j is %s', (command, program) => {
    expect(toShellProgram(command)).toBe(program);
  });

  it.each(['', '  \n', '# only a comment', 'A=1', '&& ;', '""'])('%j is none', (command) => {
    expect(toShellProgram(command)).toBeNull();
  });

  it('stands any text', () => {
    const before = process.threadCpuUsage();
    for (const part of ['"', "'", '\\', '(', 'a=', '#', 'cd ', '"a', ' ', '/']) {
      const program = toShellProgram(part.repeat(1_000_000));
      expect((program ?? '').length).toBeLessThanOrEqual(512);
    }
    expect(toShellProgram('x'.repeat(5000))).toBe('x'.repeat(512));
    // Of the processor, not of the wall clock: other work takes none of it.
    expect(process.threadCpuUsage(before).user).toBeLessThan(20e6);
  });
});
