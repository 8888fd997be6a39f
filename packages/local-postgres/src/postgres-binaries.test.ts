import { expect, test } from 'vitest';
import { toNativePlatform, toProgramPath } from './postgres-binaries.ts';

test.each([
  ['linux', 'x64', 'linux-x64'],
  ['darwin', 'arm64', 'darwin-arm64'],
  ['win32', 'x64', 'windows-x64'],
])('%s on %s is %s in package names', (platform, architecture, expected) => {
  expect(toNativePlatform(platform, architecture)).toBe(expected);
});

test('programs have an extension on Windows', () => {
  expect(toProgramPath('native', 'initdb', 'win32')).toMatch(/bin.initdb\.exe$/);
  expect(toProgramPath('native', 'initdb', 'linux')).toMatch(/bin.initdb$/);
});
