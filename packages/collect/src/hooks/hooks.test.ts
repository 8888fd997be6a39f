import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createSpoolFolder, toSpoolFolder } from '../spool/spool-folder.ts';
import { toHookCommand, writeHookProgram } from './hook-program.ts';
import { applyHooks, type InstalledHooks, listHookFiles, planHooks, removeHooks } from './hook-settings.ts';

const COMMAND = '/home/ada/.recount/collector/hook';

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "recount hooks ada's-"));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
});

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(join(home, path)), { recursive: true });
  await writeFile(join(home, path), text);
}

const read = (path: string): Promise<string> => readFile(join(home, path), 'utf8');
const plan = () => planHooks(listHookFiles({ platform: 'linux', environment: {}, homeFolder: home }), COMMAND);

async function install(): Promise<InstalledHooks[]> {
  return await applyHooks(await plan());
}

describe('hooks in settings files', () => {
  it('are added beside existing ones, once, and only for installed agents', async () => {
    await write(
      '.claude/settings.json',
      '{\n\t"model": "opus",\n\t"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]}\n}',
    );
    await mkdir(join(home, '.codex'));
    await install();
    const settings = JSON.parse(await read('.claude/settings.json'));
    expect(settings).toMatchObject({
      model: 'opus',
      hooks: { Stop: [{ hooks: [{ command: 'mine' }] }, { hooks: [{ command: COMMAND }] }] },
    });
    expect(Object.keys(settings.hooks).sort()).toEqual([
      'PreCompact',
      'SessionEnd',
      'SessionStart',
      'Stop',
      'SubagentStop',
    ]);
    expect(await read('.claude/settings.json')).toContain('\n\t"model"');
    expect(JSON.parse(await read('.codex/hooks.json')).hooks.Stop).toHaveLength(1);
    expect(await readdir(home)).toEqual(['.claude', '.codex']);
    expect((await plan()).map(({ after }) => after)).toEqual([undefined, undefined]);
  });

  it.each([
    ['is not UTF-8', (path: string) => writeFile(path, Buffer.from('{"model":"opus\xE9"}', 'latin1'))],
    ['is a link to a file that does not exist', (path: string) => symlink('nowhere.json', path)],
    ['is a folder', (path: string) => mkdir(path)],
    ['is not a file', (path: string) => symlink('/dev/null', path)],
    ['cannot be read (ELOOP)', (path: string) => symlink('settings.json', path)],
  ])('leave a file alone that %s, and say so', async (what, make) => {
    const path = join(home, '.claude/settings.json');
    await mkdir(dirname(path), { recursive: true });
    await make(path);
    const seen = async () => [await readdir(dirname(path)), await readFile(path).catch(({ code }) => code)];
    const before = await seen();
    const [change] = await plan();
    expect(change).toMatchObject({ after: undefined, problem: `It ${what}` });
    expect(await install()).toEqual([]);
    expect(await seen()).toEqual(before);
    const isGone = what.includes('does not exist');
    expect(await removeHooks([{ path, before: null, after: '{}' }], COMMAND)).toEqual(isGone ? [] : [path]);
    expect(await seen()).toEqual(before);
  });

  it('are removed byte for byte if nothing else was changed since', async () => {
    const before = '{ "hooks": {"Stop":[]},"model" :"opus" }';
    await write('.claude/settings.json', before);
    await write('.cursor/hooks.json', '');
    await mkdir(join(home, '.codex'));
    const installed = await install();
    expect(JSON.parse(await read('.cursor/hooks.json'))).toEqual({
      version: 1,
      hooks: { stop: [{ command: COMMAND }] },
    });
    expect(await removeHooks(installed, COMMAND)).toEqual([]);
    expect(await read('.claude/settings.json')).toBe(before);
    expect(await read('.cursor/hooks.json')).toBe('');
    expect(await readdir(join(home, '.codex'))).toEqual([]);
  });

  it('are removed with the file that was created for them, even if it was formatted since', async () => {
    for (const folder of ['.codex', '.cursor']) await mkdir(join(home, folder));
    const installed = await install();
    await write('.codex/hooks.json', JSON.stringify(JSON.parse(await read('.codex/hooks.json'))));
    await write('.cursor/hooks.json', JSON.stringify({ ...JSON.parse(await read('.cursor/hooks.json')), theirs: 1 }));
    await removeHooks(installed, COMMAND);
    expect(await readdir(join(home, '.codex'))).toEqual([]);
    expect(JSON.parse(await read('.cursor/hooks.json'))).toEqual({ version: 1, theirs: 1 });
  });

  it('are removed alone if something else was changed since', async () => {
    await write('.claude/settings.json', '{"model":"opus"}');
    const installed = await install();
    const settings = JSON.parse(await read('.claude/settings.json'));
    settings.hooks.Stop[0].hooks.push({ type: 'command', command: 'theirs' });
    settings.hooks.Notification = [{ hooks: [{ type: 'command', command: 'bell' }] }];
    await write('.claude/settings.json', JSON.stringify(settings));
    await removeHooks(installed, COMMAND);
    expect(JSON.parse(await read('.claude/settings.json'))).toEqual({
      model: 'opus',
      hooks: {
        Stop: [{ hooks: [{ type: 'command', command: 'theirs' }] }],
        Notification: [{ hooks: [{ type: 'command', command: 'bell' }] }],
      },
    });
  });

  it('are written through links, and keep the file’s mode', async () => {
    await write('dotfiles/settings.json', '{}');
    await mkdir(join(home, '.claude'));
    await symlink(join(home, 'dotfiles/settings.json'), join(home, '.claude/settings.json'));
    const { mode } = await stat(join(home, 'dotfiles/settings.json'));
    const installed = await install();
    expect(await read('dotfiles/settings.json')).toContain(COMMAND);
    expect((await stat(join(home, 'dotfiles/settings.json'))).mode).toBe(mode);
    await removeHooks(installed, COMMAND);
    expect(await read('dotfiles/settings.json')).toBe('{}');
  });

  it.each(['{"hooks": []}', '{"hooks": {"Stop": "x"}}', '[1]', '{ // comment\n}'])(
    'leave %s unchanged',
    async (text) => {
      await write('.claude/settings.json', text);
      const [change] = await plan();
      expect(change).toMatchObject({ after: undefined, problem: expect.any(String) });
      await install();
      expect(await read('.claude/settings.json')).toBe(text);
    },
  );
});

describe('the program that hooks call on Windows', () => {
  it('is the same in every code page, whatever the user name', async () => {
    const folder = toSpoolFolder(join(home, 'José 山田'));
    const program = 'C:\\Program Files\\nodejs\\node.exe';
    const path = await writeHookProgram(folder, [program, 'C:\\Users\\José\\recount.mjs', 'send'], 'win32');
    const text = await readFile(path, 'utf8');
    expect(text).toMatch(/^[\x20-\x7e\r\n]*$/);
    expect(text).toContain('Jos\\u00e9 \\u5c71\\u7530');
    expect(text).not.toContain('chcp');
    const own = await writeHookProgram(folder, ['C:\\Users\\José\\node.exe', 'x.mjs'], 'win32');
    expect(await readFile(own, 'utf8')).toMatch(/^@echo off\r\nchcp 65001 >nul\r\n"C:\\Users\\José\\node\.exe" -e /);
  });
});

describe.skipIf(process.platform === 'win32')('the program that hooks call', () => {
  const fire = (path: string, input: string) => spawnSync('sh', ['-c', path], { input, encoding: 'utf8' });

  it('writes a note, starts one sender, and prints nothing', async () => {
    const folder = toSpoolFolder(join(home, 'collector'));
    await createSpoolFolder(folder);
    const mark = join(home, 'started');
    const sender = join(home, 'sender.mjs');
    await writeFile(
      sender,
      `import { appendFileSync } from 'node:fs';\nappendFileSync(${JSON.stringify(mark)}, 'x');\nsetInterval(() => {}, 1000);`,
    );
    await writeHookProgram(folder, [process.execPath, sender, 'send'], process.platform);
    const command = toHookCommand(folder, process.platform);
    const input = JSON.stringify({ transcript_path: '/a.jsonl', last_assistant_message: 'y'.repeat(1_000_000) });
    for (let count = 0; count < 3; count += 1) {
      const { status, stdout, stderr } = fire(command, input);
      expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '', stderr: '' });
    }
    const names = await readdir(folder.queue);
    expect(names).toHaveLength(3);
    expect((await stat(join(folder.queue, names[0] ?? ''))).mode & 0o777).toBe(0o600);
    await vi.waitFor(async () => expect(await readFile(mark, 'utf8')).toBe('x'));
    process.kill(Number(await readFile(folder.senderPid, 'utf8')));
  });

  it('exits successfully if nothing can be written', async () => {
    const folder = toSpoolFolder(join(home, 'collector'));
    await writeHookProgram(folder, ['/nowhere/node', '/nowhere/recount', 'send'], process.platform);
    await rm(folder.queue, { recursive: true, force: true });
    expect(fire(toHookCommand(folder, process.platform), '{}')).toMatchObject({ status: 0, stdout: '', stderr: '' });
  });
});

describe('plugins', () => {
  const PLUGIN = '.config/opencode/plugins/recount.js';
  const EXTENSION = '.pi/agent/extensions/recount.js';

  it('writes separate files, and removes them again', async () => {
    for (const folder of ['.local/share/opencode', '.pi/agent']) await mkdir(join(home, folder), { recursive: true });
    const installed = await install();
    expect(installed.map(({ path }) => path)).toEqual([join(home, PLUGIN), join(home, EXTENSION)]);
    expect((await plan()).map(({ after }) => after)).toEqual([undefined, undefined]);
    expect(await removeHooks(installed, COMMAND)).toEqual([]);
    expect(await readdir(join(home, '.config/opencode/plugins'))).toEqual([]);
    expect(await readdir(join(home, '.pi/agent/extensions'))).toEqual([]);
  });

  it('leave what others have written there', async () => {
    await mkdir(join(home, '.local/share/opencode'), { recursive: true });
    await write(PLUGIN, 'export const Mine = 1;');
    expect(await plan()).toMatchObject([{ after: undefined, problem: 'It differs from the file that recount writes' }]);
    expect(await install()).toEqual([]);
  });

  it('note what the agent reports, through the command', async () => {
    for (const folder of ['.local/share/opencode', '.pi/agent']) await mkdir(join(home, folder), { recursive: true });
    const notes = join(home, 'notes');
    const files = listHookFiles({ platform: 'linux', environment: {}, homeFolder: home });
    await applyHooks(await planHooks(files, `cat >> '${notes.replaceAll("'", `'\\''`)}'`));
    const { Recount } = await import(join(home, PLUGIN));
    const { event } = await Recount();
    await event({ event: { type: 'message.updated' } });
    await event({ event: { type: 'session.idle' } });
    const { default: extend } = await import(join(home, EXTENSION));
    const handlers = new Map<string, (event: object, context: object) => void>();
    extend({ on: (name: string, handler: () => void) => handlers.set(name, handler) });
    await vi.waitFor(async () => expect(await readFile(notes, 'utf8')).toContain('session.idle'));
    handlers.get('agent_end')?.({}, { sessionManager: { getSessionFile: () => '/s.jsonl' } });
    const expected = '{"hook_event_name":"session.idle"}{"hook_event_name":"agent_end","transcript_path":"/s.jsonl"}';
    await vi.waitFor(async () => expect(await readFile(notes, 'utf8')).toBe(expected));
  });
});
