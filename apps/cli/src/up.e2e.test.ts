import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PROJECT_DIRECTORY } from './terminal/cli-context.ts';
import {
  type Account,
  canRun,
  createHome,
  type RecountProcess,
  removeHome,
  runRecount,
  startRecount,
} from './testing/recount-process.ts';

const SAMPLES = join(PROJECT_DIRECTORY, 'samples', 'claude-projects');
const SAMPLE_COUNT = 5;
const READY = /Ctrl-C stops it/;
const INGESTED = /^ +failed +\d+$/m;
const nobody = { uid: 65_534, gid: 65_534 };
const accounts: [name: string, account: Account][] = [
  ['whoever runs the tests', {}],
  ...(process.getuid?.() === 0 && canRun(nobody) ? [['an ordinary user', nobody] as [string, Account]] : []),
];

const toSessionId = (number: number): string => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;

function toTranscript(number: number): string {
  const envelope = { sessionId: toSessionId(number), cwd: '/home/ada/app', timestamp: '2030-01-01T00:00:00.000Z' };
  const prompt = { ...envelope, type: 'user', uuid: 'u', message: { role: 'user', content: `prompt ${number}` } };
  const usage = { input_tokens: 10, output_tokens: number };
  const answer = {
    ...envelope,
    type: 'assistant',
    uuid: 'a',
    message: { id: `m${number}`, role: 'assistant', content: 'yes', usage },
  };
  return `${JSON.stringify(prompt)}\n${JSON.stringify(answer)}\n`;
}

async function createArchive(folder: string, count: number): Promise<string> {
  const packed = join(folder, 'packed');
  await mkdir(packed);
  for (let number = 1; number <= count; number += 1) {
    await writeFile(join(packed, `${toSessionId(number)}.jsonl`), toTranscript(number));
  }
  const archive = join(folder, 'backup.tar.gz');
  execFileSync('tar', ['-C', packed, '-czf', archive, '.']);
  return archive;
}

interface Api {
  url: string;
  key: string;
  get(path: string): Promise<Response>;
}

function toApi(output: string): Api {
  const [, url = ''] = /^URL +(\S+)$/m.exec(output) ?? [];
  const [, key = ''] = /^API key +(\S+)$/m.exec(output) ?? [];
  return { url, key, get: (path) => fetch(url + path, { headers: { authorization: `Bearer ${key}` } }) };
}

async function readTranscripts(api: Api): Promise<{ status: string; session_id: string }[]> {
  const list = (await (await api.get('/v1/transcripts?limit=500')).json()) as {
    transcripts: { status: string; session_id: string }[];
  };
  return list.transcripts;
}

async function stop({ child, exited }: RecountProcess, ...signals: NodeJS.Signals[]): Promise<number | string> {
  for (const signal of signals) child.kill(signal);
  return await exited;
}

let home: string;
let folder: string;
const running: RecountProcess[] = [];
const start = (...commandArguments: Parameters<typeof startRecount>): RecountProcess => {
  const recount = startRecount(...commandArguments);
  running.push(recount);
  return recount;
};
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'recount-up-'));
  await chmod(folder, 0o755);
});
afterEach(async () => {
  for (const recount of running.splice(0)) await stop(recount, 'SIGTERM');
  await removeHome(home);
  await rm(folder, { recursive: true, force: true });
});

describe.each(accounts)('recount up, run by %s', (_name, account) => {
  beforeEach(async () => {
    home = await createHome(account);
  });

  it('ingests a folder in an empty home, and finds its data again', async () => {
    const first = await runRecount(home, ['up', '--exit', '--port', '0', SAMPLES], { account });
    expect(first).toMatchObject({ exitCode: 0 });
    expect(first.stdout).toMatch(/^ID +LAST ACTIVITY +PROJECT +SESSION +ERRORS +COST$/m);
    expect(first.stdout.match(/ \$\d+\.\d{4}$/gm)).toHaveLength(SAMPLE_COUNT);
    expect(first.stdout).toMatch(/^\w{8} +2026-07-02 08:41Z? +billing-service +└ .* 0 +\$0\.0171$/m);
    expect(first.stdout).toMatch(/^eee65f53 .* 1 +\$0\.3256$/m);
    const data = join(home, '.recount');
    expect((await stat(data)).mode & 0o777).toBe(0o700);
    expect((await stat(join(data, 'credentials.json'))).mode & 0o777).toBe(0o600);
    expect(existsSync(join(data, 'running.json'))).toBe(false);

    await writeFile(join(folder, `${toSessionId(7)}.jsonl`), toTranscript(7));
    const second = await runRecount(home, ['up', '--exit', '--port', '0', folder], {
      account,
      environment: { TZ: 'Asia/Tokyo' },
    });
    expect(second).toMatchObject({ exitCode: 0 });
    expect(second.stdout).toMatch(/^Transcripts found +1\n +ingested +1\n +already there +0\n +failed +0$/m);
    expect(second.stdout).toMatch(/^\w{8} +2030-01-01 09:00 +app +prompt 7 +/m);
    expect(toApi(second.stdout).key).toBe(toApi(first.stdout).key);
    const third = await runRecount(home, ['up', '--exit', '--port', '0', folder, join(folder, 'gone')], { account });
    expect(third).toMatchObject({ exitCode: 1 });
    expect(third.stdout).toMatch(/ingested +0\n +already there +1\n +failed +1$/m);
    expect(third.stdout).toContain(`${join(folder, 'gone')}: no such file or folder`);
  });
});

describe('recount up that serves', () => {
  beforeEach(async () => {
    home = await createHome({});
  });

  it('stores nothing that it was not given, neither samples nor a demo', async () => {
    expect(await runRecount(home, ['up', '--exit', '--port', '0'])).toMatchObject({ exitCode: 0 });
    const recount = start(home, ['up', '--port', '0']);
    await recount.waitForOutput(READY);
    const api = toApi(recount.stdout());
    expect(await readTranscripts(api)).toEqual([]);
    const { workspaces } = (await (await api.get('/v1/workspaces')).json()) as { workspaces: object[] };
    expect(workspaces).toHaveLength(1);
  });

  it('runs until it is stopped, and other commands use it', async () => {
    const recount = start(home, ['up', '--port', '0', SAMPLES]);
    await recount.waitForOutput(INGESTED);
    expect(recount.stdout()).toMatch(/^Open +\S+\/sign-in#\S+ \(one-time link\)\nURL /);
    const api = toApi(recount.stdout());
    expect(await readTranscripts(api)).toHaveLength(SAMPLE_COUNT);
    expect((await fetch(`${api.url}/v1/sessions`)).status).toBe(401);
    for (const address of outerAddresses()) {
      await expect(fetch(`http://${address}:${new URL(api.url).port}/healthz`)).rejects.toThrow();
    }

    const archive = await createArchive(folder, 20);
    const joined = await runRecount(home, ['up', archive]);
    expect(joined).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('runs already') });
    expect(joined.stdout).toMatch(/ingested +20$/m);
    expect(toApi(joined.stdout)).toMatchObject({ url: api.url, key: api.key });
    const again = await runRecount(home, ['backfill', '--json', archive]);
    expect(JSON.parse(again.stdout)).toMatchObject({ found: 20, ingested: 0, alreadyThere: 20 });
    const upload = await runRecount(home, ['upload', join(folder, 'packed')]);
    expect(upload).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('20 there already') });
    const sessions = await runRecount(home, ['sessions', '--json', '--limit', '3']);
    expect(JSON.parse(sessions.stdout)).toMatchObject({ sessions: { length: 3 }, hasMore: true });
    expect((await runRecount(home, ['doctor'])).exitCode).toBe(0);
    const { stdout: key } = await runRecount(home, ['keys', 'create', '--name', 'other', '--scopes', 'ingest']);
    const other = { RECOUNT_SERVER: api.url, RECOUNT_API_KEY: key.trim() };
    expect((await runRecount(home, ['sessions'], { environment: other })).stderr).toContain('scope read');

    const [sample] = await readTranscripts(api);
    const deleted = await fetch(`${api.url}/v1/sessions/${sample?.session_id}`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${api.key}` },
    });
    expect(deleted.status).toBe(204);
    expect(await stop(recount, 'SIGTERM')).toBe(0);
    expect(existsSync(join(home, '.recount/running.json'))).toBe(false);

    // As left by a full disk or a crash.
    await writeFile(join(home, '.recount/credentials.json'), '{"workspaceId"');
    const next = start(home, ['up', '--port', '0']);
    await next.waitForOutput(READY);
    const nextApi = toApi(next.stdout());
    expect(await readTranscripts(nextApi)).toHaveLength(SAMPLE_COUNT - 1 + 20);
    expect(nextApi.key).not.toBe(api.key);
    const headers = { authorization: `Bearer ${api.key}` };
    expect((await fetch(`${nextApi.url}/v1/transcripts`, { headers })).status).toBe(401);
    // From a terminal and again from the package manager that forwards it.
    expect(await stop(next, 'SIGINT', 'SIGINT')).toBe(0);
    expect(existsSync(join(home, '.recount/running.json'))).toBe(false);

    const last = start(home, ['up', '--port', '0']);
    await last.waitForOutput(READY);
    expect(await runRecount(home, ['stop'])).toMatchObject({
      exitCode: 0,
      stderr: `recount (process ${last.child.pid}) has stopped.\n`,
    });
    expect(await last.exited).toBe(0);
    expect((await runRecount(home, ['stop'])).stderr).toBe('recount is not running.\n');
    const asked = await runRecount(home, ['uninstall']);
    expect(asked).toMatchObject({ exitCode: 2, stdout: expect.stringContaining(join(home, '.recount')) });
    expect(existsSync(join(home, '.recount/credentials.json'))).toBe(true);
    expect((await runRecount(home, ['uninstall', '--yes'])).stderr).toContain('Deleted.');
    expect(existsSync(join(home, '.recount'))).toBe(false);
  });
});

describe('recount up that is killed', () => {
  beforeEach(async () => {
    home = await createHome({});
  });

  it('continues where it was, with the database server that it left behind', async () => {
    const count = 300;
    const archive = await createArchive(folder, count);
    const killed = start(home, ['up', '--port', '0', archive]);
    const lock = join(home, '.recount/running.json');
    await waitUntil(async () => (await countRows(lock)) > 30);
    const databaseUrl = JSON.parse(await readFile(lock, 'utf8')).databaseUrl;
    expect(await stop(killed, 'SIGKILL')).toBe('SIGKILL');
    expect(existsSync(lock)).toBe(true);

    const next = start(home, ['up', '--port', '0', archive]);
    await next.waitForOutput(INGESTED);
    expect(JSON.parse(await readFile(lock, 'utf8')).databaseUrl).toBe(databaseUrl);
    expect(next.stdout()).toMatch(new RegExp(`^Transcripts found +${count}$`, 'm'));
    expect(next.stdout()).toMatch(/failed +0$/m);
    const transcripts = await readTranscripts(toApi(next.stdout()));
    expect(transcripts.filter(({ status }) => status === 'ingested')).toHaveLength(count);
    expect(new Set(transcripts.map(({ session_id }) => session_id)).size).toBe(count);
    expect(await stop(next, 'SIGTERM')).toBe(0);
  });

  it.runIf(process.platform === 'linux')('restarts its database on the same port if that is killed', async () => {
    const recount = start(home, ['up', '--port', '0']);
    await recount.waitForOutput(READY);
    const { databaseUrl } = JSON.parse(await readFile(join(home, '.recount/running.json'), 'utf8'));
    process.kill(await findChild(recount.child.pid ?? 0, '/postgres\0'), 'SIGKILL');
    await recount.waitForOutput(/warning: PostgreSQL ended \(SIGKILL\)/);
    const api = toApi(recount.stdout());
    await writeFile(join(folder, `${toSessionId(1)}.jsonl`), toTranscript(1));
    await waitUntil(async () => (await api.get('/v1/transcripts')).status === 200);
    const backfill = await runRecount(home, ['backfill', folder]);
    expect(backfill.stdout).toMatch(/ingested +1$/m);
    expect(JSON.parse(await readFile(join(home, '.recount/running.json'), 'utf8')).databaseUrl).toBe(databaseUrl);
    expect(await stop(recount, 'SIGTERM')).toBe(0);
  });

  it.runIf(process.platform === 'linux')('restarts a worker that is killed', async () => {
    const recount = start(home, ['up', '--port', '0']);
    await recount.waitForOutput(READY);
    const worker = await findChild(recount.child.pid ?? 0, '\0worker');
    process.kill(worker, 'SIGKILL');
    await recount.waitForOutput(/warning: the worker (ended|did not start) \(SIGKILL\)/);
    await writeFile(join(folder, `${toSessionId(1)}.jsonl`), toTranscript(1));
    const backfill = await runRecount(home, ['backfill', folder]);
    expect(backfill.stdout).toMatch(/ingested +1$/m);
  });
});

/** Number of transcripts in the running installation's database; 0 while it is starting. */
async function countRows(lock: string): Promise<number> {
  const { url } = JSON.parse(await readFile(lock, 'utf8').catch(() => '{}')) as { url?: string };
  const credentials = await readFile(join(home, '.recount/credentials.json'), 'utf8').catch(() => undefined);
  if (url === undefined || credentials === undefined) return 0;
  const headers = { authorization: `Bearer ${JSON.parse(credentials).apiKey}` };
  const response = await fetch(`${url}/v1/transcripts?limit=500`, { headers });
  return ((await response.json()) as { transcripts: unknown[] }).transcripts.length;
}

async function waitUntil(isTrue: () => Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + 240_000;
  while (!(await isTrue())) {
    if (performance.now() > deadlineMs) throw new Error('waited in vain');
    await sleep(10);
  }
}

async function findChild(pid: number, pattern: string): Promise<number> {
  const children = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).trim().split(' ').map(Number);
  for (const child of children) {
    if ((await readFile(`/proc/${child}/cmdline`, 'utf8')).includes(pattern)) return child;
  }
  throw new Error(`no child ${pattern}`);
}

function outerAddresses(): string[] {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return all.filter(({ family, internal }) => family === 'IPv4' && !internal).map(({ address }) => address);
}
