import { isUtf8 } from 'node:buffer';
import { existsSync } from 'node:fs';
import { chmod, lstat, mkdir, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Machine } from '../find/find-places.ts';

/** A settings file of an agent that gets hooks, or a separate plugin. */
export interface HookFile {
  agentId: string;
  label: string;
  path: string;
  /** Event names, as the agent has them. */
  events: readonly string[];
  /** The event before the agent answers a prompt, if a hook can stop the prompt then. */
  promptEvent?: string;
  /** For settings, the entry for each event. */
  toEntry?(command: string): JsonObject;
  /** For a plugin, the whole text of the file. */
  toText?(command: string): string;
  /** Other content of a new settings file. */
  base?: JsonObject;
  /** Exists if the agent is in use. Defaults to the file's folder. */
  agentFolder?: string;
  /** Further steps for the user. */
  hint?: string;
}

/** A change of a settings file, to be shown and then made. */
export interface HookChange {
  file: HookFile;
  /** The file's text; undefined if it does not exist. */
  before: string | undefined;
  /** Undefined if nothing needs to change. */
  after: string | undefined;
  /** Why recount cannot change it; the user has to. */
  problem?: string;
}

/** Facts about a changed file that `removeHooks` needs. */
export interface InstalledHooks {
  path: string;
  /** The file's earlier text; null if it did not exist. */
  before: string | null;
  after: string;
}

type JsonObject = { [name: string]: unknown };

/** Seconds until agents kill a hook. */
const TIMEOUT_SECONDS = 10;

const toMatcherEntry = (command: string): JsonObject => ({
  hooks: [{ type: 'command', command, timeout: TIMEOUT_SECONDS }],
});

/** Settings files of the agents on this machine whose hooks are documented. */
export function listHookFiles({ environment, homeFolder }: Machine): HookFile[] {
  const files: HookFile[] = [
    {
      agentId: 'claude-code',
      label: 'Claude Code',
      path: join(environment.CLAUDE_CONFIG_DIR?.split(',')[0] || join(homeFolder, '.claude'), 'settings.json'),
      events: ['SessionStart', 'Stop', 'SubagentStop', 'PreCompact', 'SessionEnd'],
      promptEvent: 'UserPromptSubmit',
      toEntry: toMatcherEntry,
      base: {},
    },
    {
      agentId: 'codex',
      label: 'Codex',
      path: join(environment.CODEX_HOME || join(homeFolder, '.codex'), 'hooks.json'),
      events: ['SessionStart', 'Stop', 'SubagentStop', 'PreCompact'],
      promptEvent: 'UserPromptSubmit',
      toEntry: toMatcherEntry,
      base: {},
      hint: 'Codex asks once before it runs them. Approve them with /hooks.',
    },
    {
      agentId: 'cursor',
      label: 'Cursor',
      path: join(homeFolder, '.cursor', 'hooks.json'),
      events: ['stop'],
      toEntry: (command) => ({ command }),
      base: { version: 1 },
    },
    {
      agentId: 'opencode',
      label: 'opencode',
      path: join(environment.XDG_CONFIG_HOME || join(homeFolder, '.config'), 'opencode/plugins/recount.js'),
      agentFolder: join(environment.XDG_DATA_HOME || join(homeFolder, '.local/share'), 'opencode'),
      events: ['session.idle', 'session.compacted'],
      toText: toOpencodePlugin,
    },
    {
      agentId: 'pi',
      label: 'Pi',
      path: join(environment.PI_CODING_AGENT_DIR || join(homeFolder, '.pi/agent'), 'extensions/recount.js'),
      agentFolder: environment.PI_CODING_AGENT_DIR || join(homeFolder, '.pi/agent'),
      events: ['agent_end', 'session_shutdown'],
      toText: toPiExtension,
    },
  ];
  return files.filter(({ path, agentFolder = dirname(path) }) => existsSync(agentFolder));
}

const toCall = (command: string): string => `function note(fields) {
  try {
    const options = { shell: true, detached: true, windowsHide: true, stdio: ['pipe', 'ignore', 'ignore'] };
    const child = spawn(${JSON.stringify(command)}, options);
    child.on('error', () => {});
    child.stdin.on('error', () => {});
    child.stdin.end(JSON.stringify(fields));
    child.unref();
  } catch {}
}`;

const PLUGIN_HEADER = `// Notes for recount that a session changed. Uses no network, and never fails.
// Written by \`recount connect\`; \`recount disconnect\` removes it.
import { spawn } from 'node:child_process';
`;

/** See https://opencode.ai/docs/plugins. Its sessions are in a database, so that no path is named. */
const toOpencodePlugin = (command: string): string => `${PLUGIN_HEADER}
${toCall(command)}

export const Recount = async () => ({
  event: async ({ event }) => {
    if (event.type === 'session.idle' || event.type === 'session.compacted') note({ hook_event_name: event.type });
  },
});
`;

/** https://github.com/earendil-works/pi packages/coding-agent/docs/extensions.md */
const toPiExtension = (command: string): string => `${PLUGIN_HEADER}
${toCall(command)}

export default function (pi) {
  for (const name of ['agent_end', 'session_shutdown']) {
    pi.on(name, (_event, context) => {
      const path = context.sessionManager.getSessionFile();
      if (path) note({ hook_event_name: name, transcript_path: path });
    });
  }
}
`;

/** The command that agents call before each prompt; taken out of the settings if it is not wanted. */
export interface PromptHook {
  command: string;
  isWanted: boolean;
}

/**
 * The change of each file so that its agent calls `command`, and `prompt` before each prompt, if it can. Writes
 * nothing. After the changes are made, it returns none.
 */
export async function planHooks(
  files: readonly HookFile[],
  command: string,
  prompt?: PromptHook,
): Promise<HookChange[]> {
  return await Promise.all(
    files.map(async (file): Promise<HookChange> => {
      const read = await readText(file.path);
      if ('problem' in read) return { file, before: undefined, after: undefined, problem: read.problem };
      const { text: before } = read;
      if (file.toText !== undefined) return planPlugin(file, before, file.toText(command));
      const settings = before === undefined || before.trim() === '' ? { ...file.base } : parseObject(before);
      if (settings === undefined || !isHookObject(settings.hooks)) {
        return { file, before, after: undefined, problem: 'It is not JSON as the agent documents it' };
      }
      const hooks = withPromptHook(file, { ...settings.hooks }, prompt);
      for (const event of file.events) addHook(file, hooks, event, command);
      const after = format({ ...settings, hooks }, before);
      const isSame = before !== undefined && JSON.stringify(settings.hooks) === JSON.stringify(hooks);
      return { file, before, after: isSame ? undefined : after };
    }),
  );
}

function addHook(file: HookFile, hooks: Record<string, unknown[]>, event: string, command: string): void {
  const entries = hooks[event] ?? [];
  if (JSON.stringify(entries).includes(JSON.stringify(command))) return;
  hooks[event] = [...entries, file.toEntry?.(command) ?? {}];
}

function withPromptHook(
  file: HookFile,
  hooks: Record<string, unknown[]>,
  prompt: PromptHook | undefined,
): Record<string, unknown[]> {
  if (prompt === undefined || file.promptEvent === undefined) return hooks;
  if (!prompt.isWanted) return withoutCommand(hooks, prompt.command);
  addHook(file, hooks, file.promptEvent, prompt.command);
  return hooks;
}

/** A plugin of an earlier version is overwritten; somebody else's file is left alone. */
function planPlugin(file: HookFile, before: string | undefined, text: string): HookChange {
  if (before === text) return { file, before, after: undefined };
  const isOurs = before === undefined || before.startsWith(PLUGIN_HEADER.split('\n')[0] ?? '');
  if (isOurs) return { file, before: undefined, after: text };
  return { file, before, after: undefined, problem: 'It differs from the file that recount writes' };
}

export async function applyHooks(changes: readonly HookChange[]): Promise<InstalledHooks[]> {
  const installed: InstalledHooks[] = [];
  for (const { file, before, after } of changes) {
    if (after === undefined) continue;
    await mkdir(dirname(file.path), { recursive: true });
    await writeSettings(file.path, after);
    installed.push({ path: file.path, before: before ?? null, after });
  }
  return installed;
}

/**
 * Removes the hooks that call `command` from settings files. A file that is still as recount wrote it gets its former
 * text back, byte for byte, or is deleted. In a file that was changed since, only these entries are removed; if nothing
 * else is left and recount created it, it is deleted. Returns the paths that could not be read.
 */
export async function removeHooks(installed: readonly InstalledHooks[], command: string): Promise<string[]> {
  const unreadable: string[] = [];
  for (const { path, before, after } of installed) {
    const read = await readText(path);
    if ('problem' in read) {
      if (!read.isGone) unreadable.push(path);
      continue;
    }
    const { text } = read;
    if (text === undefined) continue;
    const isAsBefore = text === after && before?.includes(JSON.stringify(command)) !== true;
    if (isAsBefore) {
      if (before === null) await rm(path, { force: true });
      else await writeSettings(path, before);
      continue;
    }
    const settings = parseObject(text);
    if (settings === undefined || !isHookObject(settings.hooks)) {
      if (text.includes(JSON.stringify(command))) unreadable.push(path);
      continue;
    }
    const { hooks: _hooks, ...others } = settings;
    const hooks = withoutCommand(settings.hooks ?? {}, command);
    const isEmptied = Object.keys(hooks).length === 0;
    const rest = isEmptied ? others : { ...settings, hooks };
    if (before === null && isEmptied && hasNothingElse(others, after)) await rm(path, { force: true });
    else if (JSON.stringify(rest) !== JSON.stringify(settings)) await writeSettings(path, format(rest, text));
  }
  return unreadable;
}

/** True if the file that recount created has had nothing but hooks added. */
function hasNothingElse(others: JsonObject, after: string): boolean {
  const { hooks: _hooks, ...made } = parseObject(after) ?? {};
  return JSON.stringify(others) === JSON.stringify(made);
}

function withoutCommand(hooks: Record<string, unknown[]>, command: string): Record<string, unknown[]> {
  const isOurs = (entry: unknown): boolean => (entry as JsonObject | null)?.command === command;
  const kept = Object.entries(hooks).map(([event, entries]): [string, unknown[]] => [
    event,
    entries.flatMap((entry) => {
      if (isOurs(entry)) return [];
      const { hooks: inner } = (entry ?? {}) as { hooks?: unknown };
      if (!Array.isArray(inner) || !inner.some(isOurs)) return [entry];
      const others = inner.filter((each) => !isOurs(each));
      return others.length === 0 ? [] : [{ ...(entry as JsonObject), hooks: others }];
    }),
  ]);
  return Object.fromEntries(kept.filter(([event, entries]) => entries.length > 0 || hooks[event]?.length === 0));
}

const isHookObject = (value: unknown): value is Record<string, unknown[]> | undefined =>
  value === undefined ||
  (typeof value === 'object' && value !== null && !Array.isArray(value) && Object.values(value).every(Array.isArray));

/** Keeps the file's indentation. */
function format(value: JsonObject, before: string | undefined): string {
  const [, indentation = '  '] = /^\{\r?\n([ \t]+)/.exec(before ?? '') ?? [];
  const text = JSON.stringify(value, null, indentation);
  return before === undefined || before.endsWith('\n') ? `${text}\n` : text;
}

function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
  } catch {
    return undefined;
  }
}

/** Follows links, because people keep their settings elsewhere, and keeps the file's mode. */
async function writeSettings(path: string, text: string): Promise<void> {
  const target = await realpath(path).catch(() => path);
  const mode = (await stat(target).catch(() => undefined))?.mode;
  const temporary = `${target}.${process.pid}.tmp`;
  try {
    await writeFile(temporary, text, { mode: mode ?? 0o600, flag: 'wx' });
    if (mode !== undefined) await chmod(temporary, mode);
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/**
 * The file's text; undefined if there is none. `problem` says why it cannot be changed without harm. Text that is not
 * UTF-8 would be written back with other bytes, and a link without a target would become a file.
 */
async function readText(path: string): Promise<{ text: string | undefined } | { problem: string; isGone: boolean }> {
  try {
    const target = await stat(path);
    if (target.isDirectory()) return { problem: 'It is a folder', isGone: false };
    // Reading a pipe or a device might never end.
    if (!target.isFile()) return { problem: 'It is not a file', isGone: false };
    const bytes = await readFile(path);
    return isUtf8(bytes) ? { text: bytes.toString() } : { problem: 'It is not UTF-8', isGone: false };
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT') return { problem: `It cannot be read (${code})`, isGone: false };
    const isLink = (await lstat(path).catch(() => undefined))?.isSymbolicLink() === true;
    return isLink ? { problem: 'It is a link to a file that does not exist', isGone: true } : { text: undefined };
  }
}
