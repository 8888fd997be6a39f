import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { PROJECT_DIRECTORY, START_COMMAND, toLauncher, toWorkingDirectory } from './cli-context.ts';

const script = { npm_lifecycle_event: 'recount', INIT_CWD: '/home/ada' };

it('knows where the project is', () => {
  expect(existsSync(join(PROJECT_DIRECTORY, 'pnpm-workspace.yaml'))).toBe(true);
  expect(PROJECT_DIRECTORY.endsWith('/')).toBe(false);
});

it('resolves paths against the user’s directory', () => {
  expect(toWorkingDirectory({}, '/home/ada')).toBe('/home/ada');
  expect(toWorkingDirectory(script, PROJECT_DIRECTORY)).toBe('/home/ada');
  expect(toWorkingDirectory({ ...script, INIT_CWD: '' }, PROJECT_DIRECTORY)).toBe(PROJECT_DIRECTORY);
});

it('ignores what a package manager told another program', () => {
  expect(toWorkingDirectory(script, '/tmp')).toBe('/tmp');
  expect(toWorkingDirectory({ INIT_CWD: '/home/ada' }, PROJECT_DIRECTORY)).toBe(PROJECT_DIRECTORY);
});

it('prints the checkout’s launcher for a checkout, and its script on Windows', () => {
  expect(START_COMMAND).toBe('npm start');
  expect(toLauncher(PROJECT_DIRECTORY, 'linux')).toBe('./recount');
  expect(toLauncher('/home/ada', 'linux')).toBe(`${PROJECT_DIRECTORY}/recount`);
  expect(toLauncher(PROJECT_DIRECTORY, 'win32')).toBe(`npm --prefix "${PROJECT_DIRECTORY}" run --silent recount --`);
});
