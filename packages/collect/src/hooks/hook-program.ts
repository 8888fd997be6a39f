import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SpoolFolder } from '../spool/spool-folder.ts';

/** Starts the sender: Node, recount's own file, and its arguments. */
export type SenderCommand = readonly [node: string, program: string, ...commandArguments: string[]];

const BUDGET_HOOK = 'budget-hook';

/** Notes exceed this only because of the agent's own text, which is not needed. */
const MAX_NOTE_BYTES = 64 * 1024;

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/**
 * The program that hooks call. It writes its stdin to the queue, starts a sender unless one is running, and always
 * exits with 0. It uses only the shell and no network, because Node alone takes longer to start than a hook may take.
 */
function toHookScript(folder: SpoolFolder, sender: SenderCommand): string {
  return `#!/bin/sh
# Notes for recount that a coding agent's session changed. Uses no network, and never fails.
# Written by \`recount connect\`; \`recount disconnect\` removes it.
umask 077
queue=${quote(folder.queue)}
sender=${quote(folder.senderPid)}
{
  note=$(mktemp "$queue/note.XXXXXXXX") && head -c ${MAX_NOTE_BYTES} > "$note" && mv "$note" "$note.json"
  cat > /dev/null
  pid=
  [ -n "$(find "$sender" -mmin -2)" ] && read -r pid < "$sender"
  if [ -z "$pid" ] || ! kill -0 "$pid"; then
    if command -v setsid; then run=setsid; else run=nohup; fi
    # The cache of npx, where recount may lie, is emptied now and then.
    if [ -e ${quote(sender[1])} ]; then set -- ${sender.map(quote).join(' ')}; else set -- npx -y recount ${sender.slice(2).map(quote).join(' ')}; fi
    $run "$@" < /dev/null &
    echo $! > "$sender"
  fi
} > /dev/null 2>&1
exit 0
`;
}

/** The same for Windows, where agents run hooks with cmd. */
function toHookCommandFile(folder: SpoolFolder, sender: SenderCommand): string {
  const [program, ...commandArguments] = sender;
  const script = [
    "const{readFileSync:r,writeFileSync:w}=require('fs');",
    `try{w(${toAsciiJson(folder.queue)}+'/'+process.pid+'-'+Date.now()+'.json',r(0).subarray(0,${MAX_NOTE_BYTES}))}catch{}`,
    `try{require('child_process').spawn(process.execPath,${toAsciiJson(commandArguments)},`,
    `{detached:true,stdio:'ignore',windowsHide:true}).unref()}catch{}`,
  ].join('');
  // Otherwise cmd reads the file in the console's code page.
  const codePage = isAscii(program) ? '' : 'chcp 65001 >nul\r\n';
  return `@echo off\r\n${codePage}"${program}" -e "${script.replaceAll('"', '\\"')}"\r\nexit /b 0\r\n`;
}

const toBudgetHookScript = (node: string, program: string): string => `#!/bin/sh
# Warns a coding agent's user that a budget is reached, or stops the prompt. Uses no network, and lets the agent continue
# if anything fails. Written by \`recount connect\`; \`recount disconnect\` removes it.
cat > /dev/null 2>&1
[ -e ${quote(program)} ] && ${quote(node)} ${quote(program)} budget check --hook < /dev/null 2> /dev/null
exit 0
`;

function toBudgetHookCommandFile(node: string, program: string): string {
  const codePage = isAscii(node + program) ? '' : 'chcp 65001 >nul\r\n';
  return `@echo off\r\n${codePage}"${node}" "${program}" budget check --hook 2>nul\r\nexit /b 0\r\n`;
}

const isAscii = (text: string): boolean => /^[\x20-\x7e]*$/.test(text);

/** JSON in ASCII, which all code pages read alike, because user names may contain any letters. */
const toAsciiJson = (value: unknown): string =>
  JSON.stringify(value).replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

/**
 * The program's path is the same for every version, because Codex makes its user approve each change of a hook's
 * command.
 */
const toHookPath = (folder: SpoolFolder, platform: string, name = 'hook'): string =>
  join(folder.path, platform === 'win32' ? `${name}.cmd` : name);

/** The command for settings files (the path, quoted if a shell would split it). */
export function toHookCommand(folder: SpoolFolder, platform: string): string {
  return toCommand(toHookPath(folder, platform), platform);
}

/** The same for the hook that asks for budgets. */
export function toBudgetHookCommand(folder: SpoolFolder, platform: string): string {
  return toCommand(toHookPath(folder, platform, BUDGET_HOOK), platform);
}

function toCommand(path: string, platform: string): string {
  if (platform === 'win32') return path.includes(' ') ? `"${path}"` : path;
  return /^[\w@%+=:,./-]+$/.test(path) ? path : quote(path);
}

export async function writeHookProgram(folder: SpoolFolder, sender: SenderCommand, platform: string): Promise<string> {
  const text = platform === 'win32' ? toHookCommandFile(folder, sender) : toHookScript(folder, sender);
  return await writeProgram(folder, toHookPath(folder, platform), text);
}

/** Writes the program that agents call before each prompt. It prints what `recount budget check --hook` does. */
export async function writeBudgetHookProgram(
  folder: SpoolFolder,
  [node, program]: SenderCommand,
  platform: string,
): Promise<string> {
  const text = platform === 'win32' ? toBudgetHookCommandFile(node, program) : toBudgetHookScript(node, program);
  return await writeProgram(folder, toHookPath(folder, platform, BUDGET_HOOK), text);
}

async function writeProgram(folder: SpoolFolder, path: string, text: string): Promise<string> {
  await mkdir(folder.path, { recursive: true, mode: 0o700 });
  await writeFile(path, text, { mode: 0o700 });
  await chmod(path, 0o700);
  return path;
}
