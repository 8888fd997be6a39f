/** Programs are at the beginning; the rest of a long script is not searched. */
const MAX_COMMAND_LENGTH = 4096;
const MAX_PROGRAM_LENGTH = 512;
/** Scripts of shells within scripts of shells. */
const MAX_NESTED_SCRIPTS = 8;

/** The beginning of most commands (a bare word). */
const PLAIN_PROGRAM = /^[\w.-]+(?= |$)/;
const COMMENT_LINE = /^[ \t]*#.*$/gm;
const ASSIGNMENT = /^[A-Za-z_]\w*=/;
/** A word with its quoted parts, where the last one may have no end, or an operator. */
const TOKEN = /(?:"(?:[^"\\]|\\.)*(?:"|$)|'[^']*(?:'|$)|\\.|[^\s;&|<>()"'\\])+|[;&|\n()]/gs;
const OPERATOR = /^[;&|\n()]$/;
const COMMAND_END = /^[;&|\n]$/;

/** Programs that start another one, which counts instead, with their options that a value follows. */
const LAUNCHERS: ReadonlyMap<string, RegExp> = new Map([
  ['cd', /^$/],
  ['sudo', /^-[ugChpRrtTUD]$/],
  ['env', /^-[uCS]$/],
  ['nohup', /^$/],
  ['time', /^-[fo]$/],
  ['timeout', /^-[ks]$/],
]);
const DURATION = /^[\d.]+[smhd]?$/;

const SHELLS: ReadonlySet<string> = new Set(['sh', 'bash', 'zsh', 'dash', 'fish', 'ksh', 'ash']);
/** `-c`, `-lc`, `-ic` mean that the next word is a script. */
const SCRIPT_OPTION = /^(?:-[A-Za-z]*c[A-Za-z]*|--command)$/;
const SHELL_OPTION_WITH_VALUE = /^(?:[-+][A-Za-z]*[oO]|--rcfile|--init-file|-C|--init-command)$/;

interface Word {
  /** As it is in the command. */
  text: string;
  /** Without its quotes, if it is a script. */
  toScript(): string;
}

/**
 * The first program of a shell command, without its path; null if there is none. Assignments, launchers such as `sudo` and
 * `timeout 10` with their options, comment lines, parentheses and a leading `cd` are skipped, and the program of
 * `bash -lc '…'` is the first one of the script: `cd /srv && A=1 sudo /usr/bin/git log` and `zsh -lc 'git log'` are `git`.
 * A launcher or a shell alone is itself. Nothing is expanded, and a keyword such as `for` counts as a program.
 */
export function toShellProgram(command: string): string | null {
  return findInScript(command, 0);
}

/** The same for a command that is split into words, as in `["bash","-lc","git status"]`. A single word is a command. */
export function toProgramOfWords(words: readonly string[]): string | null {
  const [first = '', ...others] = words;
  if (others.length === 0) return toShellProgram(first);
  return findProgram(
    words.map((text) => ({ text, toScript: () => text })),
    0,
  );
}

function findInScript(command: string, depth: number): string | null {
  const plain = PLAIN_PROGRAM.exec(command)?.[0];
  if (plain !== undefined && !LAUNCHERS.has(plain) && !SHELLS.has(plain)) return plain.slice(0, MAX_PROGRAM_LENGTH);
  const tokens = command
    .slice(0, MAX_COMMAND_LENGTH)
    .replaceAll(COMMENT_LINE, '')
    .replaceAll('\\\n', ' ')
    .matchAll(TOKEN);
  return findProgram(
    [...tokens].map(([text]) => ({ text, toScript: () => removeQuotes(text) })),
    depth,
  );
}

function findProgram(words: readonly Word[], depth: number): string | null {
  let launcher: string | null = null;
  let isValue = false;
  for (const [index, { text }] of words.entries()) {
    if (OPERATOR.test(text)) {
      // `env | sort` launches nothing.
      if (COMMAND_END.test(text) && launcher !== null && launcher !== 'cd') return launcher;
      if (COMMAND_END.test(text)) isValue = false;
      continue;
    }
    const isSkipped = isValue || ASSIGNMENT.test(text) || isOptionOf(launcher, text);
    isValue = isValue ? launcher === 'cd' : (LAUNCHERS.get(launcher ?? '')?.test(text) ?? false);
    if (isSkipped) continue;
    const name = toBaseName(text);
    if (name === '') continue;
    if (SHELLS.has(name)) return findInShell(name, words.slice(index + 1), depth);
    if (!LAUNCHERS.has(name)) return name;
    launcher = name;
    isValue = name === 'cd';
  }
  return launcher;
}

const isOptionOf = (launcher: string | null, text: string): boolean =>
  launcher !== null && launcher !== 'cd' && (text.startsWith('-') || (launcher === 'timeout' && DURATION.test(text)));

/** The program of a shell's script; without one, the shell. */
function findInShell(shell: string, words: readonly Word[], depth: number): string {
  let isScript = false;
  let isValue = false;
  for (const { text, toScript } of words) {
    if (OPERATOR.test(text)) return shell;
    const isOption = /^[-+]/.test(text) && !isValue;
    if (isOption) {
      isScript ||= SCRIPT_OPTION.test(text);
      isValue = SHELL_OPTION_WITH_VALUE.test(text);
    } else if (isValue) isValue = false;
    else return (isScript && depth < MAX_NESTED_SCRIPTS ? findInScript(toScript(), depth + 1) : null) ?? shell;
  }
  return shell;
}

function toBaseName(word: string): string {
  const path = word.replaceAll(/["']/g, '').replace(/\/+$/, '');
  return path.slice(path.lastIndexOf('/') + 1, MAX_COMMAND_LENGTH).slice(0, MAX_PROGRAM_LENGTH);
}

const QUOTED = /\$?"((?:[^"\\]|\\.)*)(?:"|$)|\$?'([^']*)(?:'|$)|\\(.)/gs;

const removeQuotes = (word: string): string =>
  word.replaceAll(
    QUOTED,
    (_, double: string | undefined, single: string | undefined, escaped: string | undefined) =>
      double?.replaceAll(/\\(["\\$`])/g, '$1') ?? single ?? escaped ?? '',
  );
