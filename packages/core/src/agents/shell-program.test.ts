import { describe, expect, it } from 'vitest';
import { toProgramOfWords, toShellProgram } from './shell-program.ts';

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
    ['sudo -u maya git log', 'git'],
    ['sudo \\\n  apt-get update', 'apt-get'],
    ['timeout 10 git fetch', 'git'],
    ['timeout -k 5 --signal=KILL 1.5m git fetch', 'git'],
    ['env -u HOME A=1 nohup time -p make', 'make'],
    ['env', 'env'],
    ['env | sort', 'env'],
    ['timeout 10', 'timeout'],
    ['time (ls)', 'ls'],
  ])('%j is %s', (command, program) => {
    expect(toShellProgram(command)).toBe(program);
  });

  it.each(['', '  \n', '# only a comment', 'A=1', '&& ;', '""'])('%j has no program', (command) => {
    expect(toShellProgram(command)).toBeNull();
  });

  it('accepts any text', () => {
    const before = process.threadCpuUsage();
    for (const part of ['"', "'", '\\', '(', 'a=', '#', 'cd ', '"a', ' ', '/']) {
      const program = toShellProgram(part.repeat(1_000_000));
      expect((program ?? '').length).toBeLessThanOrEqual(512);
    }
    expect(toShellProgram('x'.repeat(5000))).toBe('x'.repeat(512));
    // Processor time, not wall clock, so that other work does not count.
    expect(process.threadCpuUsage(before).user).toBeLessThan(20e6);
  });

  describe.each(['sh', 'bash', 'zsh', 'dash', 'fish', 'ksh', '/bin/sh', '/usr/bin/zsh', '/opt/bin/bash'])(
    'in the shell %s',
    (shell) => {
      it.each([
        [`SHELL -c 'git log'`, 'git'],
        [`SHELL -lc 'git log && npm test'`, 'git'],
        [`SHELL -ic "cd /srv && A=1 sudo /usr/bin/make"`, 'make'],
        [`SHELL -l -c git`, 'git'],
        [`SHELL -euo pipefail -c 'git log'`, 'git'],
        [`SHELL -lc "SHELL -c 'git log'"`, 'git'],
        [`SHELL -lc "echo \\"a b\\""`, 'echo'],
        [`SHELL -lc 'git commit -m '"'"'a b'"'"''`, 'git'],
        [`FOO=1 SHELL -lc 'git log'`, 'git'],
        [`sudo -E SHELL -lc 'git log'`, 'git'],
        [`timeout 10 env FOO=1 nohup time SHELL -lc 'git log'`, 'git'],
        [`cd /srv && SHELL -lc 'git log'`, 'git'],
        [`SHELL -lc 'for f in *; do git log'`, 'for'],
        // Cut in the middle of its script.
        [`SHELL -lc 'cd /srv && git log`, 'git'],
        [`SHELL -lc "cat <<'EOF' > x.txt\n${'line\n'.repeat(2000)}EOF"`, 'cat'],
      ])('%j is the first program of the script', (command, program) => {
        expect(toShellProgram(command.replaceAll('SHELL', shell))).toBe(program);
      });
    },
  );

  it.each([
    ['bash', 'bash'],
    ['bash script.sh -c x', 'bash'],
    ['bash -l', 'bash'],
    [`bash -c ''`, 'bash'],
    ['bash -c', 'bash'],
    ['bash; ls', 'bash'],
    [`sudo sh`, 'sh'],
    ['bash --rcfile x -c ls', 'ls'],
    [`fish --command 'ls -l'`, 'ls'],
    ['python -c "print(1)"', 'python'],
    [`${'bash -c '.repeat(20)}ls`, 'bash'],
  ])('%j is %s', (command, program) => {
    expect(toShellProgram(command)).toBe(program);
  });
});

describe('toProgramOfWords', () => {
  it.each([
    [['bash', '-lc', 'git status'], 'git'],
    [['/usr/bin/zsh', '-lc', 'cd x && npm test'], 'npm'],
    [['timeout', '10', 'bash', '-c', 'git status'], 'git'],
    [['git', 'commit', '-c', 'HEAD'], 'git'],
    [['python', '-c', 'print(1)'], 'python'],
    [['npm test'], 'npm'],
    [['sudo', 'make'], 'make'],
    [['bash', '-c'], 'bash'],
    [['echo', ';', 'x'], 'echo'],
    [[], null],
  ])('%j is %s', (words, program) => {
    expect(toProgramOfWords(words)).toBe(program);
  });
});
