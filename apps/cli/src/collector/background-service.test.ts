import { execFile, spawnSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createFakeContext } from '../testing/fake-context.ts';
import { installService, toBackgroundService, uninstallService } from './background-service.ts';

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'recount-service-'));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
});

/** A context with deliberately awkward values. */
const describeService = (platform: string) =>
  toBackgroundService(
    createFakeContext({
      environment: { HOME: home, RECOUNT_DATA_DIR: '/data/a "b" <c> & $HOME 100%', CODEX_HOME: '/codex' },
    }),
    platform,
  );

describe('the systemd user unit', () => {
  const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;

  it('starts recount watch with exactly the named folders', () => {
    const { path, text } = describeService('linux');
    expect(path).toBe(join(home, '.config/systemd/user/recount-watch.service'));
    expect(text).toMatch(/^ExecStart="\/.*" ".*" "watch"$/m);
    // systemd.exec(5): % is doubled, quotes are escaped by a backslash, $ is literal.
    expect(text).toContain(String.raw`Environment="RECOUNT_DATA_DIR=/data/a \"b\" <c> & $HOME 100%%"`);
  });

  it.skipIf(!hasSystemd)('is accepted by systemd without a warning', async () => {
    const { text } = describeService('linux');
    const path = join(home, 'recount-watch.service');
    await writeFile(path, text);
    const { stdout, stderr } = await promisify(execFile)('systemd-analyze', ['--user', 'verify', path], {
      env: { ...process.env, XDG_RUNTIME_DIR: home },
    });
    expect(stdout + stderr).not.toContain('recount-watch');
  });
});

it('is a launchd agent on macOS, as a property list', () => {
  const { path, text } = describeService('darwin');
  expect(path).toBe(join(home, 'Library/LaunchAgents/dev.recount.watch.plist'));
  expect(parsePlist(text)).toEqual({
    Label: 'dev.recount.watch',
    ProgramArguments: [process.execPath, expect.any(String), 'watch'],
    EnvironmentVariables: { RECOUNT_DATA_DIR: '/data/a "b" <c> & $HOME 100%', CODEX_HOME: '/codex' },
    RunAtLoad: true,
    KeepAlive: { SuccessfulExit: false },
    ProcessType: 'Background',
  });
});

it('is a scheduled task on Windows, without a file', () => {
  const { path, start, stop } = describeService('win32');
  expect(path).toBeUndefined();
  const [create, ...others] = [...start, ...stop];
  expect(create).toEqual([
    ...['schtasks', '/create', '/f', '/tn', 'recount-watch', '/sc', 'onlogon', '/tr'],
    expect.stringMatching(/^".+" ".+" watch$/),
  ]);
  expect(others.map((words) => words.slice(0, 2).join(' '))).toEqual([
    'schtasks /run',
    'schtasks /end',
    'schtasks /delete',
  ]);
});

it.skipIf(process.platform === 'win32')('is installed, and removed without a trace', async () => {
  const programs = join(home, 'bin');
  await mkdir(programs);
  await writeFile(join(programs, 'systemctl'), `#!/bin/sh\necho "$*" >> ${home}/calls\n`);
  await chmod(join(programs, 'systemctl'), 0o755);
  const calls = (): Promise<string> => readFile(join(home, 'calls'), 'utf8');
  const before = process.env.PATH;
  process.env.PATH = `${programs}:${before}`;
  onTestFinished(() => {
    process.env.PATH = before;
  });
  const units = join(home, '.config/systemd/user');
  await mkdir(units, { recursive: true });
  await writeFile(join(units, 'other.service'), '');
  const service = describeService('linux');
  expect(await installService(service)).toBeUndefined();
  expect(await readdir(units)).toEqual(['other.service', 'recount-watch.service']);
  expect(await calls()).toBe('--user daemon-reload\n--user enable --now recount-watch.service\n');
  await uninstallService(service);
  expect(await readdir(units)).toEqual(['other.service']);
  expect(await calls()).toMatch(/disable --now recount-watch.service\n--user daemon-reload\n$/);
  await uninstallService(service);
  await writeFile(join(programs, 'systemctl'), '#!/bin/sh\nexit 1\n');
  expect(await installService(service)).toBe('systemctl --user daemon-reload');
});

type Plist = string | boolean | Plist[] | { [key: string]: Plist };

/** Parses the property lists that we write. Anything else, or an unclosed element, throws. */
function parsePlist(text: string): Plist {
  const body =
    /^<\?xml version="1\.0" encoding="UTF-8"\?>\n<!DOCTYPE plist [^>]*>\n<plist version="1\.0">(.*)<\/plist>\n$/s;
  const tokens = [...(body.exec(text)?.[1] ?? '').matchAll(/<[^>]*>|[^<]+/g)].map(([token]) => token);
  const significant = tokens.filter((token) => token.trim() !== '');
  const next = (expected?: string): string => {
    const token = significant.shift() ?? '';
    if (expected !== undefined && token !== expected) throw new Error(`${token} in place of ${expected}`);
    return token;
  };
  const readText = (name: string): string => {
    const value = significant[0]?.startsWith('<') ? '' : next();
    next(`</${name}>`);
    if (/&(?!amp;|lt;|gt;)/.test(value)) throw new Error(`An ampersand in ${value}`);
    return value.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
  };
  const readValue = (): Plist => {
    const token = next();
    if (token === '<string>') return readText('string');
    if (token === '<true/>' || token === '<false/>') return token === '<true/>';
    if (token === '<array>') {
      const elements: Plist[] = [];
      while (significant[0] !== '</array>') elements.push(readValue());
      next('</array>');
      return elements;
    }
    if (token !== '<dict>') throw new Error(`${token} is no value`);
    const members: [string, Plist][] = [];
    while (significant[0] !== '</dict>') {
      next('<key>');
      members.push([readText('key'), readValue()]);
    }
    next('</dict>');
    return Object.fromEntries(members);
  };
  const value = readValue();
  if (significant.length > 0) throw new Error(`${significant[0]} behind the value`);
  return value;
}
