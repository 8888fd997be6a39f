/** Programs stand at the beginning; scripts of megabytes are not read for them. */
const MAX_COMMAND_LENGTH = 4096;
const MAX_PROGRAM_LENGTH = 512;

/** What most commands begin with: a bare word. */
const PLAIN_PROGRAM = /^[\w.-]+(?= |$)/;
const COMMENT_LINE = /^[ \t]*#.*$/gm;
const ASSIGNMENT = /^[A-Za-z_]\w*=/;
/** A word with its quoted parts, or an operator. */
const TOKEN = /(?:"(?:[^"\\]|\\.)*"|'[^']*'|\\.|[^\s;&|<>()"'\\])+|[;&|\n()]/gs;
const COMMAND_END = /^[;&|\n]$/;

/**
 * The first program of a shell command, without its path; null where there is none. Assignments, `sudo` with its flags,
 * comment lines, parentheses and a leading `cd` are passed over: `cd /srv && A=1 sudo /usr/bin/git log` is `git`. `cd`
 * alone is `cd`. Nothing is expanded, and a keyword such as `for` counts as a program.
 */
export function toShellProgram(command: string): string | null {
  const plain = PLAIN_PROGRAM.exec(command)?.[0];
  if (plain !== undefined && plain !== 'cd' && plain !== 'sudo') return plain.slice(0, MAX_PROGRAM_LENGTH);
  let passedOver: string | null = null;
  let isInArguments = false;
  for (const [token] of command.slice(0, MAX_COMMAND_LENGTH).replaceAll(COMMENT_LINE, '').matchAll(TOKEN)) {
    if (COMMAND_END.test(token)) isInArguments = false;
    if (isInArguments || /^[;&|\n()]$/.test(token) || ASSIGNMENT.test(token)) continue;
    if (passedOver === 'sudo' && token.startsWith('-')) continue;
    const name = toBaseName(token);
    if (name !== '' && name !== 'cd' && name !== 'sudo') return name;
    passedOver = name || passedOver;
    isInArguments = name === 'cd';
  }
  return passedOver;
}

function toBaseName(word: string): string {
  const path = word.replaceAll(/["']/g, '').replace(/\/+$/, '');
  return path.slice(path.lastIndexOf('/') + 1, MAX_COMMAND_LENGTH).slice(0, MAX_PROGRAM_LENGTH);
}
