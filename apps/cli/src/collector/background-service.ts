import { execFile } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { AGENTS } from '@recount/core';
import type { CliContext } from '../terminal/cli-context.ts';
import { toMachine, toSenderCommand } from './this-machine.ts';

/** The operating system's way to keep `recount watch` running for a user, from login on. */
export interface BackgroundService {
  /** The file that describes it; undefined if the system has no such file. */
  path: string | undefined;
  text: string;
  /** Commands to start it, to stop it permanently, and to run once its file is gone. */
  start: readonly Command[];
  stop: readonly Command[];
  forget?: readonly Command[];
}

type Command = readonly [program: string, ...words: string[]];

const NAME = 'recount-watch';
const LAUNCHD_LABEL = 'dev.recount.watch';

/** Variables that make it use the same places as the installing shell. */
function toVariables({ environment }: CliContext): [string, string][] {
  const names = AGENTS.flatMap(({ places = [] }) => places.flatMap(({ variable }) => variable ?? []));
  return [...new Set(['RECOUNT_DATA_DIR', ...names])].flatMap((name) => {
    const value = environment[name];
    return value ? [[name, value] as [string, string]] : [];
  });
}

/** systemd's user units on Linux, launchd's agents on macOS, scheduled tasks on Windows. */
export function toBackgroundService(context: CliContext, platform: string = process.platform): BackgroundService {
  if (platform === 'win32') return toScheduledTask();
  return platform === 'darwin' ? toLaunchAgent(context) : toUserUnit(context);
}

function toScheduledTask(): BackgroundService {
  const [node, program] = toSenderCommand();
  const command = `"${node}" "${program}" watch`;
  return {
    ...{ path: undefined, text: command },
    start: [
      ['schtasks', '/create', '/f', '/tn', NAME, '/sc', 'onlogon', '/tr', command],
      ['schtasks', '/run', '/tn', NAME],
    ],
    stop: [
      ['schtasks', '/end', '/tn', NAME],
      ['schtasks', '/delete', '/f', '/tn', NAME],
    ],
  };
}

function toLaunchAgent(context: CliContext): BackgroundService {
  const { homeFolder } = toMachine(context);
  const [node, program] = toSenderCommand();
  const variables = toVariables(context);
  const path = join(homeFolder, 'Library/LaunchAgents', `${LAUNCHD_LABEL}.plist`);
  const toWord = (text: string): string => `<string>${escapeXml(text)}</string>`;
  const text = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0"><dict>
  <key>Label</key>${toWord(LAUNCHD_LABEL)}
  <key>ProgramArguments</key><array>${[node, program, 'watch'].map(toWord).join('')}</array>
  <key>EnvironmentVariables</key><dict>${variables.map(([name, value]) => `<key>${name}</key>${toWord(value)}`).join('')}</dict>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
  <key>ProcessType</key><string>Background</string>
</dict></plist>
`;
  return {
    ...{ path, text },
    start: [['launchctl', 'load', '-w', path]],
    stop: [['launchctl', 'unload', '-w', path]],
  };
}

function toUserUnit(context: CliContext): BackgroundService {
  const { homeFolder } = toMachine(context);
  const [node, program] = toSenderCommand();
  const variables = toVariables(context);
  const path = join(
    context.environment.XDG_CONFIG_HOME || join(homeFolder, '.config'),
    'systemd/user',
    `${NAME}.service`,
  );
  const quote = (text: string): string => `"${text.replaceAll(/["\\]/g, '\\$&').replaceAll('%', '%%')}"`;
  const text = `[Unit]
Description=Sends the sessions of coding agents to recount

[Service]
ExecStart=${[node, program, 'watch'].map((word) => quote(word).replaceAll('$', '$$$$')).join(' ')}
${variables.map(([name, value]) => `Environment=${quote(`${name}=${value}`)}\n`).join('')}Restart=on-failure
RestartSec=60
Nice=10

[Install]
WantedBy=default.target
`;
  return {
    ...{ path, text },
    start: [
      ['systemctl', '--user', 'daemon-reload'],
      ['systemctl', '--user', 'enable', '--now', `${NAME}.service`],
    ],
    stop: [['systemctl', '--user', 'disable', '--now', `${NAME}.service`]],
    forget: [['systemctl', '--user', 'daemon-reload']],
  };
}

/** Returns the first command that failed, for the user to run; undefined if all succeeded. */
export async function installService({ path, text, start }: BackgroundService): Promise<string | undefined> {
  if (path !== undefined) {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text, { mode: 0o600 });
  }
  for (const command of start) if (!(await succeeds(command))) return command.join(' ');
  return undefined;
}

/** Does nothing if it is not installed. A task that is not running cannot be ended, but is deleted anyway. */
export async function uninstallService({ path, stop, forget = [] }: BackgroundService): Promise<void> {
  for (const command of stop) await succeeds(command);
  if (path !== undefined) await rm(path, { force: true });
  for (const command of forget) await succeeds(command);
}

const succeeds = ([program, ...words]: Command): Promise<boolean> =>
  promisify(execFile)(program, words).then(
    () => true,
    () => false,
  );

const escapeXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
