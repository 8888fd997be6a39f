import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type Account,
  canRun,
  createHome,
  type RecountProcess,
  removeHome,
  runRecount,
  type StartOptions,
  startRecount,
} from './testing/recount-process.ts';

const READY = /Ctrl-C stops it/;
const UNSEEN = /is run by process \d+ on host .+ \(boot .+, PID namespace .+\), which is not visible from here/;
const nobody = { uid: 65_534, gid: 65_534 };
/** As containers have them. The processes end with `unshare`. */
const namespaces = ['unshare', '--pid', '--ipc', '--fork', '--mount-proc', '--kill-child'];
const isRoot = process.getuid?.() === 0;
const userNamespaces = [...namespaces, '--user', '--map-current-user'];
const starters: [name: string, account: Account, wrapper: string[]][] = [
  ...(isRoot ? [['root', {}, namespaces] as [string, Account, string[]]] : []),
  ...(!isRoot || canRun(nobody)
    ? [['an ordinary user', isRoot ? nobody : {}, userNamespaces] as [string, Account, string[]]]
    : []),
];

if (isRoot && !canRun(nobody)) console.log('Skipped: an ordinary user cannot read this Node, so root alone starts two');

function allows([program = '', ...programArguments]: readonly string[], account: Account): boolean {
  const { status } = spawnSync(program, [...programArguments, 'true'], { ...account, cwd: '/' });
  if (status !== 0) console.log(`Skipped: the kernel refuses ${program} ${programArguments.join(' ')}`);
  return status === 0;
}

function toTranscript(number: number): string {
  const sessionId = `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
  const timestamp = '2030-01-01T00:00:00.000Z';
  const message = { role: 'user', content: `prompt ${number}` };
  return `${JSON.stringify({ type: 'user', sessionId, cwd: '/home/ada/app', timestamp, uuid: 'u', message })}\n`;
}

interface Api {
  url: string;
  headers: Record<string, string>;
}

async function waitForApi(recount: RecountProcess): Promise<Api> {
  await recount.waitForOutput(READY);
  const [, url = ''] = /^URL +(\S+)$/m.exec(recount.stdout()) ?? [];
  const [, key = ''] = /^API key +(\S+)$/m.exec(recount.stdout()) ?? [];
  return { url, headers: { authorization: `Bearer ${key}`, 'content-type': 'application/x-ndjson' } };
}

/** Uploads 15 to 200 transcripts, until the process has ended. */
async function upload({ url, headers }: Api, first: number, { child }: RecountProcess): Promise<number> {
  let next = first;
  while (next < first + 15 || (next < first + 200 && child.exitCode === null)) {
    const response = await fetch(`${url}/v1/transcripts`, { method: 'POST', headers, body: toTranscript(next) });
    expect(response.status).toBe(202);
    next += 1;
  }
  return next;
}

async function countTranscripts({ url, headers }: Api): Promise<number> {
  const response = await fetch(`${url}/v1/transcripts?limit=500`, { headers });
  return ((await response.json()) as { transcripts: unknown[] }).transcripts.length;
}

let home: string;
const running: RecountProcess[] = [];
const start = (options: StartOptions): RecountProcess => {
  const recount = startRecount(home, ['up', '--port', '0'], options);
  running.push(recount);
  return recount;
};
afterEach(async () => {
  for (const { child, exited } of running.splice(0)) {
    // `unshare` forwards no signal, but its own death.
    child.kill(child.spawnfile === 'unshare' ? 'SIGKILL' : 'SIGTERM');
    await exited;
  }
  await removeHome(home);
});

describe.runIf(process.platform === 'linux').each(starters)('recount up, twice, by %s', (_name, account, wrapper) => {
  beforeEach(async () => {
    home = await createHome(account);
  });

  it('is refused in another PID namespace, whichever is first, and loses nothing', async (context) => {
    if (!allows(wrapper, account)) context.skip();
    const outside = start({ account });
    const api = await waitForApi(outside);
    const { databaseUrl } = JSON.parse(await readFile(join(home, '.recount/running.json'), 'utf8'));
    const second = start({ account, wrapper });
    let next = await upload(api, 1, second);
    expect(await second.exited).toBe(1);
    expect(second.stderr()).toMatch(UNSEEN);
    expect(JSON.parse(await readFile(join(home, '.recount/running.json'), 'utf8')).databaseUrl).toBe(databaseUrl);
    outside.child.kill('SIGTERM');
    expect(await outside.exited).toBe(0);

    const inside = start({ account, wrapper });
    const insideApi = await waitForApi(inside);
    const other = start({ account });
    next = await upload(insideApi, next, other);
    expect(await other.exited).toBe(1);
    expect(other.stderr()).toMatch(UNSEEN);
    // Everything in the namespace dies together, as with a container.
    inside.child.kill('SIGKILL');
    await inside.exited;

    const last = start({ account });
    const lastApi = await waitForApi(last);
    expect(next - 1).toBeGreaterThanOrEqual(30);
    expect(await countTranscripts(lastApi)).toBe(next - 1);
    expect(await runRecount(home, ['doctor', '--deep'], { account })).toMatchObject({ exitCode: 0 });
  });
});
