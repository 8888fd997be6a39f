import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Machine } from '../find-sessions.ts';

/** A settings file of an agent in which hooks are entered. */
export interface HookFile {
  agentId: string;
  label: string;
  path: string;
  /** Events, as the agent calls them. */
  events: readonly string[];
  toEntry(command: string): JsonObject;
  /** What the file has besides, where it is new. */
  base: JsonObject;
  /** What the user has to do besides. */
  hint?: string;
}

/** A change of a settings file that is to be shown, and then made. */
export interface HookChange {
  file: HookFile;
  /** The file's text; undefined where it is not there. */
  before: string | undefined;
  /** Undefined where nothing is to be changed. */
  after: string | undefined;
  /** Why it cannot be changed; then the user has to. */
  problem?: string;
}

/** What `removeHooks` has to know of a file that was changed. */
export interface InstalledHooks {
  path: string;
  /** The file's text before; null where it was not there. */
  before: string | null;
  after: string;
}

type JsonObject = { [name: string]: unknown };

/** Seconds after which agents end a hook. */
const TIMEOUT_SECONDS = 10;

const toMatcherEntry = (command: string): JsonObject => ({
  hooks: [{ type: 'command', command, timeout: TIMEOUT_SECONDS }],
});

/** Settings files of those agents on this machine whose hooks are documented. */
export function listHookFiles({ environment, homeFolder }: Machine): HookFile[] {
  const files: HookFile[] = [
    {
      agentId: 'claude-code',
      label: 'Claude Code',
      path: join(environment.CLAUDE_CONFIG_DIR?.split(',')[0] || join(homeFolder, '.claude'), 'settings.json'),
      events: ['SessionStart', 'Stop', 'SubagentStop', 'PreCompact', 'SessionEnd'],
      toEntry: toMatcherEntry,
      base: {},
    },
    {
      agentId: 'codex',
      label: 'Codex',
      path: join(environment.CODEX_HOME || join(homeFolder, '.codex'), 'hooks.json'),
      events: ['SessionStart', 'Stop', 'SubagentStop', 'PreCompact'],
      toEntry: toMatcherEntry,
      base: {},
      hint: 'Codex asks once before it runs them: approve them with /hooks.',
    },
    {
      agentId: 'cursor',
      label: 'Cursor',
      path: join(homeFolder, '.cursor', 'hooks.json'),
      events: ['stop'],
      toEntry: (command) => ({ command }),
      base: { version: 1 },
    },
  ];
  return files.filter(({ path }) => existsSync(dirname(path)));
}

/** How each file would be changed so that its agent calls `command`. Nothing is written. Asked again, there is nothing to change. */
export async function planHooks(files: readonly HookFile[], command: string): Promise<HookChange[]> {
  return await Promise.all(
    files.map(async (file): Promise<HookChange> => {
      const before = await readText(file.path);
      const settings = before === undefined || before.trim() === '' ? { ...file.base } : parseObject(before);
      if (settings === undefined || !isHookObject(settings.hooks)) {
        return { file, before, after: undefined, problem: 'It is not JSON as the agent documents it' };
      }
      const hooks = { ...settings.hooks };
      for (const event of file.events) {
        const entries = (hooks[event] ?? []) as unknown[];
        if (!JSON.stringify(entries).includes(JSON.stringify(command)))
          hooks[event] = [...entries, file.toEntry(command)];
      }
      const after = format({ ...settings, hooks }, before);
      const isSame = before !== undefined && JSON.stringify(settings.hooks) === JSON.stringify(hooks);
      return { file, before, after: isSame ? undefined : after };
    }),
  );
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
 * Takes the hooks that call `command` out of settings files. A file that is still as it was written gets its former text back, byte
 * for byte, or goes; of one that was changed since, only these entries go. Returns the paths that could not be read.
 */
export async function removeHooks(installed: readonly InstalledHooks[], command: string): Promise<string[]> {
  const unreadable: string[] = [];
  for (const { path, before, after } of installed) {
    const text = await readText(path);
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
    if (JSON.stringify(rest) !== JSON.stringify(settings)) await writeSettings(path, format(rest, text));
  }
  return unreadable;
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

/** With the indentation that the file has. */
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

/** Through links, as people keep their settings elsewhere, and with the file's own mode. */
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

async function readText(path: string): Promise<string | undefined> {
  return await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
}
