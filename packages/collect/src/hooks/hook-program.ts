import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SpoolFolder } from '../spool/spool-folder.ts';

/** Starts the sender: Node, recount's own file, and its arguments. */
export type SenderCommand = readonly [node: string, program: string, ...commandArguments: string[]];

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

const isAscii = (text: string): boolean => /^[\x20-\x7e]*$/.test(text);

/** JSON in ASCII, which all code pages read alike, because user names may contain any letters. */
const toAsciiJson = (value: unknown): string =>
  JSON.stringify(value).replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

/**
 * The program's path is the same for every version, because Codex makes its user approve each change of a hook's
 * command.
 */
const toHookPath = (folder: SpoolFolder, platform: string): string =>
  join(folder.path, platform === 'win32' ? 'hook.cmd' : 'hook');

/** The command for settings files (the path, quoted if a shell would split it). */
export function toHookCommand(folder: SpoolFolder, platform: string): string {
  const path = toHookPath(folder, platform);
  if (platform === 'win32') return path.includes(' ') ? `"${path}"` : path;
  return /^[\w@%+=:,./-]+$/.test(path) ? path : quote(path);
}

export async function writeHookProgram(folder: SpoolFolder, sender: SenderCommand, platform: string): Promise<string> {
  const path = toHookPath(folder, platform);
  await mkdir(folder.path, { recursive: true, mode: 0o700 });
  const text = platform === 'win32' ? toHookCommandFile(folder, sender) : toHookScript(folder, sender);
  await writeFile(path, text, { mode: 0o700 });
  await chmod(path, 0o700);
  return path;
}
