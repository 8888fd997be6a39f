import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { installDependencies } from './dependencies.mjs';
import { findNode, isNewEnough, rememberNode, toCommand } from './node-program.mjs';
import { findStarter } from './starter.mjs';

const root = resolve(import.meta.dirname, '../..');

/** The manifests of the workspace (the root's, and those in the folders named in pnpm-workspace.yaml). */
async function listManifests(): Promise<string[]> {
  const parents = ['apps', 'packages'];
  const folders = await Promise.all(
    parents.map(async (parent) => (await readdir(join(root, parent))).map((name) => join(parent, name))),
  );
  return ['.', 'bench', 'test', ...folders.flat()].map((folder) => join(root, folder, 'package.json'));
}

describe('scripts of package.json', () => {
  it('run in any shell, including the shell of Windows', async () => {
    const scripts = [];
    for (const path of await listManifests()) {
      const { scripts: own = {} } = JSON.parse(await readFile(path, 'utf8')) as { scripts?: Record<string, string> };
      scripts.push(...Object.entries(own));
    }
    expect(scripts.length).toBeGreaterThan(10);
    // Variables, assignments, substitutions, single quotes, redirections, lists other than `&&`, and programs given by
    // path.
    const shellSyntax = /[$`'<>;|(){}\\]|(?<!&)&(?!&)|^\w+=|^\.{0,2}\/|&& *(?:\w+=|\.{0,2}\/)/;
    expect(scripts.filter(([, command]) => shellSyntax.test(command))).toEqual([]);
  });
});

describe('the command line of a program', () => {
  it('is quoted for the Windows shell, where npx is a batch file', () => {
    const words = ['-y', '-p', 'node@24', 'C:\\Users\\Ada Lovelace\\x', 'say "hi"', 'C:\\a b\\', 'a&b', ''];
    expect(toCommand('npx', words, 'linux')).toEqual({ file: 'npx', words, shell: false });
    expect(toCommand('npx', words, 'win32')).toEqual({
      file: 'npx',
      words: ['-y', '-p', 'node@24', '"C:\\Users\\Ada Lovelace\\x"', '"say ""hi"""', '"C:\\a b\\\\"', '"a&b"', '""'],
      shell: true,
    });
  });
});

describe('the process that started npm start', () => {
  it.each([
    ['9 npm start', 7],
    ['9 dash', 9],
    ['9 -bash', 9],
    ['9 /bin/sh', 9],
    ['9 fish-and-chips', 7],
    ['', 7],
  ])('above %j', (parent, starter) => expect(findStarter(7, () => parent)).toBe(starter));

  it('is found for this process', () => expect(findStarter()).toBeGreaterThan(0));
});

describe('the installation before npm start', () => {
  let folder: string;
  let installed: string[][];
  const install = (exitCode = 0): number =>
    installDependencies(folder, (_file, words) => {
      installed.push(words);
      mkdirSync(join(folder, 'node_modules/.pnpm'), { recursive: true });
      return exitCode;
    });

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'recount-launch-'));
    installed = [];
    await writeFile(join(folder, 'pnpm-lock.yaml'), 'one');
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('keeps of each package what runs and its licence, changes no sources, and leaves no store behind', async () => {
    const packagePath = join(folder, 'node_modules/.pnpm/a@1/node_modules/a');
    const sources = join(folder, 'packages/b');
    const store = join(folder, 'node_modules/.cache/recount-store');
    const names = ['a.js', 'a.d.ts', 'a.mjs', 'a.d.mts', 'a.js.map', 'a.ts', 'docs.md', 'LICENSE.md', 'data.json'];
    const exitCode = installDependencies(folder, (_file, words) => {
      expect(words.slice(words.indexOf('--store-dir'))).toEqual(['--store-dir', store]);
      for (const made of [packagePath, sources, store]) mkdirSync(made, { recursive: true });
      for (const name of names) writeFileSync(join(packagePath, name), '');
      writeFileSync(join(sources, 'index.ts'), '');
      symlinkSync(sources, join(packagePath, 'linked'));
      return 0;
    });
    expect(exitCode).toBe(0);
    expect(await readdir(packagePath)).toEqual(['LICENSE.md', 'a.js', 'a.mjs', 'data.json', 'linked']);
    expect(await readdir(sources)).toEqual(['index.ts']);
    expect(existsSync(store)).toBe(false);
  });

  it('leaves out development tools, and is repeated only for another lock file', async () => {
    expect([install(), install()]).toEqual([0, 0]);
    expect(installed).toEqual([expect.arrayContaining(['install', '--frozen-lockfile', '--prod'])]);
    await writeFile(join(folder, 'pnpm-lock.yaml'), 'two');
    expect(install()).toBe(0);
    expect(installed).toHaveLength(2);
  });

  it('keeps development tools up to date where they are installed, with types', async () => {
    const types = join(folder, 'node_modules/.pnpm/a@1/a.d.ts');
    await mkdir(join(folder, 'node_modules/.bin'), { recursive: true });
    await mkdir(dirname(types), { recursive: true });
    await writeFile(types, '');
    expect(install()).toBe(0);
    expect(installed.flat()).not.toContain('--prod');
    expect(existsSync(types)).toBe(true);
  });

  it('is complete even if nothing can be removed', () => {
    const installElsewhere = (): number => {
      installed.push([]);
      return 0;
    };
    expect(installDependencies(folder, installElsewhere)).toBe(0);
    expect(installDependencies(folder, installElsewhere)).toBe(0);
    expect(installed).toHaveLength(1);
  });

  it('is repeated after a failure, whose exit code it returns', () => {
    expect([install(3), install()]).toEqual([3, 0]);
    expect(installed).toHaveLength(2);
  });
});

describe('the Node that runs recount', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'recount-node-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it.each([
    ['24.1.0', true],
    ['22.18.0', true],
    ['22.17.9', false],
    ['20.20.2', false],
    ['100.0.0', true],
  ])('may have version %s', (version, isEnough) => expect(isNewEnough(version)).toBe(isEnough));

  it('must have the version in package.json', async () => {
    const { engines } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
    expect(isNewEnough(`${engines.node.replace('>=', '')}.0`)).toBe(true);
    expect(isNewEnough('22.17.99')).toBe(false);
  });

  it('is this one, or the remembered one if this one is too old', async () => {
    const memory = join(folder, 'cache', 'recount-node');
    expect(findNode(memory)).toBe(process.execPath);
    const installed = join(folder, 'node');
    await writeFile(installed, '');
    rememberNode(memory, '/usr/bin/node', installed);
    expect(await readFile(memory, 'utf8')).toBe(`/usr/bin/node\n${installed}\n`);
    expect(findNode(memory, { version: '20.19.0', install: () => 'installed anew' })).toBe(installed);
    await rm(installed);
    expect(findNode(memory, { version: '20.19.0', install: () => 'installed again' })).toBe('installed again');
  });

  it('is not remembered if nothing can be written', () => {
    expect(() => rememberNode(join(process.execPath, 'x'), 'a', 'b')).not.toThrow();
  });
});
