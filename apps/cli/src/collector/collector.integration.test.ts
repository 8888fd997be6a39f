import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createTestApi, HOME_WORKSPACE, type TestApi } from '@recount/api/testing/test-api';
import { toTranscript } from '@recount/api/testing/transcript-lines';
import type { AttachmentList, Session, SessionList, Transcript, TranscriptList, UsageReport } from '@recount/contract';
import { createApiKey, revokeApiKey, verifyUsage } from '@recount/db';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { runCommandLine } from '../run-command-line.ts';
import { createFakeContext } from '../testing/fake-context.ts';
import { createHome, PROGRAM, removeHome, startRecount } from '../testing/recount-process.ts';

const PATIENCE = { interval: 50 };

let api: TestApi;
/** A proxy between machines and server that can be interrupted. */
let network: Network;
const homes: string[] = [];
const [, runningScript = ''] = process.argv;

beforeAll(async () => {
  // This program is what the commands start in the background.
  process.argv[1] = PROGRAM;
  api = await createTestApi();
  network = await createNetwork(new URL(api.url));
});
afterEach(async () => {
  network.restore();
  for (const home of homes.splice(0)) await removeHome(home);
});
afterAll(async () => {
  process.argv[1] = runningScript;
  await network.close();
  await api.close();
});

interface Network {
  url: string;
  /** Connections are refused. */
  takeAway(): void;
  /** The next connection breaks when this many bytes have been sent to the server. */
  breakAfter(bytes: number): void;
  /** Nothing passes any more when this many bytes have been sent to the server. */
  holdAfter(bytes: number): void;
  /** Resolves once nothing passes. */
  held(): Promise<void>;
  restore(): void;
  sentBytes(): number;
  close(): Promise<void>;
}

async function createNetwork(target: URL): Promise<Network> {
  let isAway = false;
  let breakAfterBytes = Number.POSITIVE_INFINITY;
  let holdAfterBytes = Number.POSITIVE_INFINITY;
  let sentBytes = 0;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    sockets.add(client);
    client.on('error', () => undefined).on('close', () => sockets.delete(client));
    if (isAway) return void client.destroy();
    const upstream = connect(Number(target.port), target.hostname);
    upstream.on('error', () => client.destroy()).on('close', () => client.destroy());
    client.on('close', () => upstream.destroy());
    upstream.pipe(client);
    client.on('data', (chunk) => {
      sentBytes += chunk.length;
      breakAfterBytes -= chunk.length;
      holdAfterBytes -= chunk.length;
      if (holdAfterBytes < 0) client.pause();
      else if (breakAfterBytes < 0) {
        breakAfterBytes = Number.POSITIVE_INFINITY;
        client.destroy();
      } else upstream.write(chunk);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as { port: number }).port}`,
    takeAway() {
      isAway = true;
      for (const socket of sockets) socket.destroy();
    },
    breakAfter(bytes) {
      breakAfterBytes = bytes;
    },
    holdAfter(bytes) {
      holdAfterBytes = bytes;
    },
    held: () => vi.waitFor(() => expect(holdAfterBytes).toBeLessThan(0), PATIENCE),
    restore() {
      isAway = false;
      holdAfterBytes = Number.POSITIVE_INFINITY;
      breakAfterBytes = Number.POSITIVE_INFINITY;
    },
    sentBytes: () => sentBytes,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Runs `recount` to its end, in this process. What it starts, and what hooks start, are separate processes. */
async function runRecount(
  home: string,
  words: readonly string[],
  { environment = {} }: { environment?: Record<string, string> } = {},
): Promise<{ exitCode: number; stdout: string; stderr: string }> {
  vi.stubEnv('HOME', home);
  const own = { PATH: process.env.PATH, HOME: home, TZ: 'UTC', ...environment };
  const context = createFakeContext({ environment: own, workingDirectory: home });
  const exitCode = await runCommandLine(context, words);
  return { exitCode, stdout: context.out(), stderr: context.err() };
}

/** A home with Claude Code in it, connected. */
async function createMachine(name: string, person: string, options: string[] = []): Promise<string> {
  const home = await createHome({});
  homes.push(home);
  await mkdir(join(home, '.claude/projects/-app'), { recursive: true });
  await writeFile(join(home, '.claude/settings.json'), '{"model": "opus"}');
  const environment = { RECOUNT_API_KEY: api.keys.ingest };
  const names = ['--machine', name, '--person', person];
  const connected = await runRecount(home, ['connect', network.url, ...names, '--yes', ...options], { environment });
  expect(connected.exitCode, connected.stderr).toBe(0);
  await waitForSender(home);
  return home;
}

const toPath = (home: string, sessionId: string): string => join(home, `.claude/projects/-app/${sessionId}.jsonl`);

/** Waits until the sender started by `recount connect` or a hook is done. */
async function waitForSender(home: string): Promise<void> {
  const collector = join(home, '.recount/collector');
  await vi.waitFor(async () => {
    expect(await readFile(join(collector, 'status.json'), 'utf8')).toContain('At');
    expect(await readdir(join(collector, 'queue'))).toEqual([]);
    await expect(stat(join(collector, 'sender.pid'))).rejects.toThrow();
  }, PATIENCE);
}

/** Kills a process, unless it has already ended. */
function killIfRunning(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Acts like Claude Code. It calls each hook of an event, with its JSON on stdin. */
async function fireHooks(home: string, event: string, fields: Record<string, string>): Promise<void> {
  const settings = JSON.parse(await readFile(join(home, '.claude/settings.json'), 'utf8'));
  const commands: string[] = settings.hooks[event].flatMap(({ hooks }: { hooks: { command: string }[] }) =>
    hooks.map(({ command }) => command),
  );
  for (const command of commands) {
    const child = spawn('sh', ['-c', command], {
      env: { PATH: process.env.PATH, HOME: home },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
    child.stdin.end(JSON.stringify({ hook_event_name: event, session_id: 'x', cwd: '/app', ...fields }));
    expect([(await once(child, 'close'))[0], output]).toEqual([0, '']);
  }
}

/** A fake `claude` writes a turn, and fires Stop before the last line is written, as the real one does. */
async function runTurn(home: string, sessionId: string, messages: number): Promise<void> {
  const path = toPath(home, sessionId);
  const text = toTranscript(sessionId, messages);
  const done = (await stat(path).catch(() => undefined))?.size ?? 0;
  const cut = text.lastIndexOf('\n', text.length - 2) + 10;
  await appendFile(path, text.slice(done, cut));
  await fireHooks(home, 'Stop', { transcript_path: path });
  await appendFile(path, text.slice(cut));
}

const read = async <Answer>(path: string): Promise<Answer> => (await (await api.fetch(path)).json()) as Answer;

async function listTranscripts(sessionId: string): Promise<Transcript[]> {
  return (await read<TranscriptList>(`/v1/transcripts?session_id=${sessionId}`)).transcripts;
}

async function expectStored(sessionId: string, messages: number): Promise<void> {
  const text = toTranscript(sessionId, messages);
  await vi.waitFor(async () => {
    const sizes = (await listTranscripts(sessionId)).map(({ size_bytes }) => size_bytes);
    expect(sizes).toContain(text.length);
  }, PATIENCE);
  const last = (await listTranscripts(sessionId)).find(({ size_bytes }) => size_bytes === text.length);
  expect(await (await api.fetch(`/v1/transcripts/${last?.id}/raw`)).text()).toBe(text);
}

describe('three connected machines', () => {
  it('upload what their agents write, each byte once, with machine and person', async () => {
    const laptop = await createMachine('laptop', 'ada');
    const desktop = await createMachine('desktop', 'ada');
    const server = await createMachine('build', 'bob');
    const sessions = [
      [laptop, 'on-laptop'],
      [desktop, 'on-desktop'],
      [server, 'on-build'],
    ] as const;
    await Promise.all(sessions.map(([home, sessionId]) => runTurn(home, sessionId, 400)));
    await Promise.all(sessions.map(([, sessionId]) => expectStored(sessionId, 400)));
    await Promise.all(sessions.map(([home]) => waitForSender(home)));
    const before = network.sentBytes();
    await runTurn(laptop, 'on-laptop', 402);
    await expectStored('on-laptop', 402);
    // All of it, compressed, would be several times as much.
    expect(network.sentBytes() - before).toBeLessThan(5000);
    await api.work();
    const { sessions: ofAda } = await read<SessionList>('/v1/sessions?person=ada');
    expect(ofAda.map(({ session_id, machine }) => [session_id, machine]).sort()).toEqual([
      ['on-desktop', 'desktop'],
      ['on-laptop', 'laptop'],
    ]);
    const { rows } = await read<UsageReport>('/v1/analytics/usage?group_by=machine&person=bob');
    expect(rows).toHaveLength(1);
    expect(await listTranscripts('on-laptop')).toHaveLength(2);
    const environment = { RECOUNT_SERVER: api.url, RECOUNT_API_KEY: api.keys.read };
    const restored = await runRecount(desktop, ['restore', 'on-laptop'], { environment });
    expect(restored, restored.stderr).toMatchObject({ exitCode: 0, stdout: `${toPath(desktop, 'on-laptop')}\n` });
    expect(await readFile(toPath(desktop, 'on-laptop'), 'utf8')).toBe(toTranscript('on-laptop', 402));
    expect(await runRecount(desktop, ['restore', 'on-laptop'], { environment })).toMatchObject({
      exitCode: 0,
      stdout: '',
    });
    await appendFile(toPath(desktop, 'on-laptop'), 'more');
    expect(await runRecount(desktop, ['restore', 'on-laptop'], { environment })).toMatchObject({ exitCode: 1 });
  });

  it('upload the files kept with a transcript, and restore them on another machine', async () => {
    const laptop = await createMachine('with-files', 'ada');
    const desktop = await createMachine('without-files', 'ada');
    const files = {
      'tool-results/toolu_01.txt': 'a result\n'.repeat(10_000),
      'subagents/agent-a1.meta.json': '{"agentType":"Explore","description":"look"}',
      'subagents/workflows/wf_1/journal.jsonl': '{"type":"result","key":"a"}\n',
    };
    for (const [name, text] of Object.entries(files)) {
      const path = join(laptop, '.claude/projects/-app/with-files', name);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, text);
    }
    await runTurn(laptop, 'with-files', 6);
    await expectStored('with-files', 6);
    await waitForSender(laptop);
    await api.work();
    const list = () => read<AttachmentList>('/v1/sessions/with-files/attachments');
    const { attachments } = await list();
    expect(attachments.map(({ path, machine, person }) => [path, machine, person])).toEqual(
      Object.keys(files)
        .sort()
        .map((path) => [path, 'with-files', 'ada']),
    );
    const environment = { RECOUNT_SERVER: api.url, RECOUNT_API_KEY: api.keys.read };
    const restored = await runRecount(desktop, ['restore', 'with-files'], { environment });
    expect(restored.exitCode, restored.stderr).toBe(0);
    for (const [name, text] of Object.entries(files)) {
      expect(await readFile(join(desktop, '.claude/projects/-app/with-files', name), 'utf8')).toBe(text);
    }
    // Existing files that differ stay.
    const changed = join(desktop, '.claude/projects/-app/with-files/tool-results/toolu_01.txt');
    await writeFile(changed, 'mine');
    expect(await runRecount(desktop, ['restore', 'with-files'], { environment })).toMatchObject({ exitCode: 1 });
    expect(await readFile(changed, 'utf8')).toBe('mine');
    // A backfill finds that all are already there.
    const projects = join(laptop, '.claude/projects');
    const options = { environment: { RECOUNT_SERVER: api.url, RECOUNT_API_KEY: api.keys.admin } };
    const backfilled = await runRecount(laptop, ['backfill', projects, '--json', '--no-wait'], options);
    expect(JSON.parse(backfilled.stdout)).toMatchObject({
      attachments: { found: 3, stored: 0, alreadyThere: 3, failed: 0 },
    });
    expect((await api.fetch('/v1/sessions/with-files', { method: 'DELETE' })).status).toBe(204);
    expect((await api.fetch('/v1/sessions/with-files/attachments')).status).toBe(404);
    const again = await runRecount(laptop, ['backfill', projects, '--json', '--no-wait', '--dry-run'], options);
    expect(JSON.parse(again.stdout)).toMatchObject({ attachments: { found: 3, stored: 3 } });
    expect((await api.fetch('/v1/sessions/with-files/attachments')).status).toBe(404);
    // So does an upload of a folder, and of a single file.
    const uploaded = await runRecount(laptop, ['upload', projects], options);
    expect(uploaded).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('3 stored, 0 already there') });
    await api.work();
    expect((await list()).attachments.map(({ path }) => path)).toEqual(Object.keys(files).sort());
    const alone = await runRecount(
      laptop,
      ['upload', join(projects, '-app/with-files/tool-results/toolu_01.txt')],
      options,
    );
    expect(alone).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('0 stored, 1 already there') });
  });

  it('upload the same session once', async () => {
    const homesOfBoth = [await createMachine('one', 'ada'), await createMachine('two', 'ada')];
    await Promise.all(homesOfBoth.map((home) => runTurn(home, 'shared', 8)));
    await Promise.all(homesOfBoth.map((home) => waitForSender(home)));
    await expectStored('shared', 8);
    expect(await listTranscripts('shared')).toHaveLength(1);
    const checks = await api.database.withSnapshot((snapshot) => verifyUsage(snapshot, HOME_WORKSPACE));
    for (const check of checks) expect(check).toMatchObject({ missing: 0, surplus: 0 });
  });
});

describe('a machine that loses its network', () => {
  it('keeps what the agent deletes during an outage, and uploads it when the network is back', async () => {
    const home = await createMachine('offline', 'ada');
    network.takeAway();
    await runTurn(home, 'deleted', 6);
    await runTurn(home, 'kept', 6);
    await vi.waitFor(async () => {
      expect(await readdir(join(home, '.recount/collector/kept'))).toHaveLength(2);
    }, PATIENCE);
    await waitForSender(home);
    const status = await runRecount(home, ['connect', '--json']);
    expect(status.exitCode).toBe(1);
    expect(JSON.parse(status.stdout)).toMatchObject({ waiting: 2, last_error: { code: 'unavailable' } });
    await rm(toPath(home, 'deleted'));
    network.restore();
    await fireHooks(home, 'SessionStart', { transcript_path: toPath(home, 'next') });
    await expectStored('deleted', 6);
    await expectStored('kept', 6);
    await waitForSender(home);
    expect(await readdir(join(home, '.recount/collector/kept'))).toEqual([]);
    expect((await runRecount(home, ['connect'])).stdout).toContain('Waiting      0');
  });

  it('resends an upload that broke off, and nothing twice', async () => {
    const home = await createMachine('broken', 'ada');
    network.breakAfter(2000);
    await runTurn(home, 'broken-off', 3000);
    await expectStored('broken-off', 3000);
    await waitForSender(home);
    expect(await listTranscripts('broken-off')).toHaveLength(1);
  });

  it('continues after the laptop was closed in the middle of an upload', async () => {
    const home = await createMachine('closed', 'ada');
    network.holdAfter(2000);
    const held = runTurn(home, 'asleep', 3000);
    await network.held();
    await held;
    const pid = Number(await readFile(join(home, '.recount/collector/sender.pid'), 'utf8'));
    process.kill(pid, 'SIGSTOP');
    // By then the server has given up the connection.
    network.takeAway();
    network.restore();
    process.kill(pid, 'SIGCONT');
    await expectStored('asleep', 3000);
    await waitForSender(home);
    expect(await listTranscripts('asleep')).toHaveLength(1);
  });

  it('loses nothing when the sender is killed', async () => {
    const home = await createMachine('killed', 'ada');
    for (let count = 0; count < 3; count += 1) {
      await runTurn(home, 'after-kill', 4 + count);
      const path = join(home, '.recount/collector/sender.pid');
      const pid = await vi.waitFor(async () => Number(await readFile(path, 'utf8')), PATIENCE);
      killIfRunning(pid);
    }
    // Not by a hook, because a killed process whose end went unnoticed counts as alive for two minutes.
    // It may take a moment to die, and holds the lock until then.
    await vi.waitFor(async () => {
      const sent = await runRecount(home, ['send', '--json']);
      expect(sent.exitCode, sent.stderr).toBe(0);
      expect(JSON.parse(sent.stdout)).toMatchObject({ is_busy: false });
    }, PATIENCE);
    await expectStored('after-kill', 6);
    const sizes = (await listTranscripts('after-kill')).map(({ size_bytes }) => size_bytes);
    expect(new Set(sizes).size).toBe(sizes.length);
  });

  it('reports that its key was revoked, keeps what is waiting, and continues with another key', async () => {
    const { id, key } = await createApiKey(api.database.database, {
      workspaceId: HOME_WORKSPACE,
      name: 'x',
      scopes: ['ingest'],
    });
    const home = await createMachine('revoked', 'ada');
    const environment = { RECOUNT_API_KEY: key };
    await runRecount(home, ['connect', network.url, '--yes'], { environment });
    await waitForSender(home);
    await revokeApiKey(api.database.database, HOME_WORKSPACE, id);
    await runTurn(home, 'revoked', 4);
    await waitForSender(home);
    // A sender in the background may still hold the lock for a moment.
    await vi.waitFor(async () => {
      const failed = await runRecount(home, ['send']);
      expect(failed).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('The API key is not valid') });
    }, PATIENCE);
    expect((await runRecount(home, ['disconnect'])).stderr).toContain('not sent yet');
    await runRecount(home, ['connect', network.url, '--yes'], { environment: { RECOUNT_API_KEY: api.keys.ingest } });
    await expectStored('revoked', 4);
  });
});

describe('a connected machine', () => {
  it('uploads what agents write while it watches, without hooks', async () => {
    const home = await createMachine('watched', 'ada', ['--no-hooks']);
    const watch = startRecount(home, ['watch']);
    try {
      await watch.waitForOutput(/Watching \d+ folders/);
      const second = startRecount(home, ['watch']);
      expect(await second.exited).toBe(1);
      expect(second.stderr()).toContain('Another `recount watch` is running');
      await appendFile(toPath(home, 'watched'), toTranscript('watched', 4));
      await expectStored('watched', 4);
      await appendFile(toPath(home, 'watched'), toTranscript('watched', 6).slice(toTranscript('watched', 4).length));
      await expectStored('watched', 6);
    } finally {
      watch.child.kill('SIGTERM');
    }
    await watch.exited;
  });

  it('sends tokens without texts for the folders set so, and reports with the key it was connected with', async () => {
    const home = await createHome({});
    homes.push(home);
    await mkdir(join(home, '.claude/projects/-app'), { recursive: true });
    await writeFile(toPath(home, 'private'), toTranscript('private', 6));
    const [, cwd = ''] = /"cwd":"([^"]+)"/.exec(toTranscript('private', 6)) ?? [];
    const { key } = await createApiKey(api.database.database, {
      ...{ workspaceId: HOME_WORKSPACE, name: 'both', scopes: ['ingest', 'read'] },
    });
    const environment = { RECOUNT_API_KEY: key };
    const connect = ['connect', network.url, '--yes', '--no-hooks', '--usage-only', cwd];
    const tried = await runRecount(home, [...connect, '--dry-run'], { environment });
    expect(tried, tried.stderr).toMatchObject({ exitCode: 0, stdout: `${toPath(home, 'private')}  (usage only)\n` });
    expect(await runRecount(home, connect, { environment })).toMatchObject({ exitCode: 0 });
    await waitForSender(home);
    const [transcript] = await listTranscripts('private');
    const raw = await (await api.fetch(`/v1/transcripts/${transcript?.id}/raw`)).text();
    expect(raw).not.toContain('prompt 2 of');
    await api.work();
    const usage = await runRecount(home, ['usage', '--json', '--no-cache', '--group-by', 'session']);
    const report = await runRecount(home, ['report', 'usage', '--json', '--by', 'session', '--session', 'private']);
    const [counted] = JSON.parse(usage.stdout).rows;
    const [stored] = JSON.parse(report.stdout).rows;
    expect(stored.own).toMatchObject({
      ...{ responses: counted.own.responses, tokens_in: counted.own.tokens_in, tokens_out: counted.own.tokens_out },
    });
  });

  it('uploads the sessions of databases as recount usage counts them, and restores a whole project', async () => {
    const home = await createHome({});
    homes.push(home);
    const path = join(home, '.local/share/goose/sessions/sessions.db');
    await mkdir(dirname(path), { recursive: true });
    const database = new DatabaseSync(path);
    database.exec(GOOSE_STORE);
    database.close();
    const opencodePath = join(home, '.local/share/opencode/opencode.db');
    await mkdir(dirname(opencodePath), { recursive: true });
    const opencode = new DatabaseSync(opencodePath);
    opencode.exec(OPENCODE_STORE);
    opencode.close();
    await mkdir(join(home, '.claude/projects/-app'), { recursive: true });
    await writeFile(toPath(home, 'pulled'), toTranscript('pulled', 4));
    const { key } = await createApiKey(api.database.database, {
      ...{ workspaceId: HOME_WORKSPACE, name: 'both', scopes: ['ingest', 'read'] },
    });
    const environment = { RECOUNT_API_KEY: key };
    const connect = ['connect', network.url, '--yes', '--no-hooks', '--machine', 'store'];
    const connected = await runRecount(home, connect, { environment });
    const notRead = 'table session_v3 (1 row) is unknown';
    expect(connected.stderr).toContain(notRead);
    await waitForSender(home);
    await api.work();
    const usage = await runRecount(home, ['usage', '--json', '--group-by', 'agent,model,session']);
    const answer = JSON.parse(usage.stdout);
    expect(answer.not_read).toEqual([{ path: opencodePath, reason: expect.stringContaining(notRead) }]);
    const status = JSON.parse((await runRecount(home, ['connect', '--json'])).stdout);
    expect(status.not_read).toEqual(answer.not_read);
    const countedBy = (name: string) => answer.rows.filter(({ agent }: { agent: string }) => agent === name);
    const counted = countedBy('goose');
    const { rows } = await read<UsageReport>('/v1/analytics/usage?group_by=agent,model,session&agent=goose');
    const stored = await read<UsageReport>('/v1/analytics/usage?group_by=agent,model,session&agent=opencode');
    const toFigures = (row: Record<string, unknown> & { own?: unknown }) => {
      const own = row.own as Record<string, unknown>;
      const session = row.session ?? row.session_id;
      return [row.model, session, own.responses, own.tokens_in, own.tokens_out, own.cache_read, own.cost_usd];
    };
    expect(counted.map(toFigures)).toEqual([['claude-sonnet-4-5', 'g1', 2, 2500, 130, 1500, expect.any(Number)]]);
    expect(rows.map((row) => toFigures(row as never))).toEqual(counted.map(toFigures));
    expect(countedBy('opencode').map(toFigures)).toEqual([
      ['claude-sonnet-4-5', 'ses_1', 2, 1100, 170, 10, expect.any(Number)],
    ]);
    expect(stored.rows.map((row) => toFigures(row as never))).toEqual(countedBy('opencode').map(toFigures));
    const [, cwd = ''] = /"cwd":"([^"]+)"/.exec(toTranscript('pulled', 4)) ?? [];
    await rm(toPath(home, 'pulled'));
    const pulled = await runRecount(home, ['pull', cwd]);
    expect(pulled.stdout).toContain(toPath(home, 'pulled'));
    expect(await readFile(toPath(home, 'pulled'), 'utf8')).toBe(toTranscript('pulled', 4));
  });

  it('uploads the prompts of sessions whose transcripts are gone, until a transcript arrives', async () => {
    const home = await createHome({});
    homes.push(home);
    const toPrompt = (sessionId: string, display: string): string =>
      `${JSON.stringify({ display, pastedContents: {}, timestamp: Date.UTC(2026, 4, 12), project: '/app', sessionId })}\n`;
    const history =
      toPrompt('gone', 'Look for the heron') + toPrompt('still-there', 'Hello') + toPrompt('gone', 'And now?');
    await mkdir(join(home, '.claude/projects/-app'), { recursive: true });
    await writeFile(join(home, '.claude/history.jsonl'), history);
    await writeFile(toPath(home, 'still-there'), toTranscript('still-there', 4));
    const { key } = await createApiKey(api.database.database, {
      ...{ workspaceId: HOME_WORKSPACE, name: 'prompts', scopes: ['ingest', 'read'] },
    });
    const environment = { RECOUNT_API_KEY: key };
    const found = await runRecount(home, ['backfill', '--list', '--json']);
    const places = JSON.parse(found.stdout).places.map((place: Record<string, unknown>) => [
      place.holds,
      place.sessions,
    ]);
    expect(places).toEqual([
      ['transcripts', 1],
      ['prompts', 1],
    ]);
    await runRecount(home, ['connect', network.url, '--yes', '--no-hooks', '--machine', 'old'], { environment });
    await waitForSender(home);
    await api.work();
    const lost = await read<Session>('/v1/sessions/gone');
    expect(lost).toMatchObject({ initial_prompt: 'Look for the heron', project: '/app', machine: 'old' });
    expect(lost).toMatchObject({ tokens_in: null, cost_estimate_usd: null, total_messages: 2 });
    expect((await listTranscripts('still-there')).map(({ format }) => format)).toEqual(['claude-code']);
    const usage = await runRecount(home, ['usage', '--json', '--group-by', 'session']);
    expect(JSON.parse(usage.stdout).rows).toMatchObject([{ session: 'still-there' }]);
    await writeFile(toPath(home, 'gone'), toTranscript('gone', 4));
    const sent = await runRecount(home, ['send', '--sweep']);
    expect(sent, sent.stderr).toMatchObject({ exitCode: 0 });
    await api.work();
    expect(await read<Session>('/v1/sessions/gone')).toMatchObject({
      total_messages: 4,
      tokens_in: expect.any(Number),
    });
    expect((await listTranscripts('gone')).map(({ format, status }) => [format, status]).sort()).toEqual([
      ['claude-code', 'ingested'],
      ['claude-code-prompts', 'superseded'],
    ]);
    const checks = await api.database.withSnapshot((snapshot) => verifyUsage(snapshot, HOME_WORKSPACE));
    for (const check of checks) expect(check).toMatchObject({ missing: 0, surplus: 0 });
  });
});

/** As Goose stores them, with a session with two requests. */
const GOOSE_STORE = `
  CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT, user_set_name BOOLEAN, session_type TEXT, working_dir TEXT,
    created_at TIMESTAMP, updated_at TIMESTAMP, accumulated_input_tokens INTEGER, accumulated_output_tokens INTEGER,
    accumulated_cache_read_tokens INTEGER, accumulated_cost REAL, model_config_json TEXT, parent_session_id TEXT);
  CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT, session_id TEXT, role TEXT,
    content_json TEXT, created_timestamp INTEGER, timestamp TIMESTAMP, tokens INTEGER, metadata_json TEXT);
  CREATE TABLE usage_ledger (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT, created_timestamp INTEGER, model TEXT,
    input_tokens INTEGER, output_tokens INTEGER, total_tokens INTEGER, cache_read_tokens INTEGER, cache_write_tokens INTEGER,
    cost REAL, cost_source TEXT, is_compaction INTEGER);
  INSERT INTO sessions VALUES ('g1', 'Heron', 0, 'user', '/home/ada/app', '2026-05-12 08:00:00', '2026-05-12 08:10:00',
    4000, 130, 1500, 0.06, '{"model_name":"claude-sonnet-4-5"}', NULL);
  INSERT INTO messages (message_id, session_id, role, content_json, created_timestamp)
    VALUES ('m1', 'g1', 'user', '[{"type":"text","text":"Look for the heron"}]', 1778572800);
  INSERT INTO usage_ledger (session_id, created_timestamp, model, input_tokens, output_tokens, total_tokens,
      cache_read_tokens, cache_write_tokens, cost, cost_source, is_compaction) VALUES
    ('g1', 1778572801, 'claude-sonnet-4-5', 1000, 30, 1030, 0, 0, 0.01, 'provider', 0),
    ('g1', 1778572802, 'claude-sonnet-4-5', 3000, 100, 3100, 1500, 0, 0.05, 'provider', 0);`;

describe('recount connect and disconnect', () => {
  it('change what they announce, and undo it exactly', async () => {
    const home = await createHome({});
    homes.push(home);
    const before = '{ "hooks": {},  "model": "opus" }';
    await mkdir(join(home, '.claude'));
    await writeFile(join(home, '.claude/settings.json'), before);
    await mkdir(join(home, '.codex'));
    await mkdir(join(home, '.local/share/opencode'), { recursive: true });
    const list = async () => (await readdir(home, { recursive: true })).sort();
    const listed = await list();
    const environment = { RECOUNT_API_KEY: api.keys.ingest };
    const tried = await runRecount(home, ['connect', network.url, '--dry-run'], { environment });
    expect(tried).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('SessionStart, Stop, SubagentStop') });
    const withoutKey = await runRecount(home, ['connect', network.url, '--dry-run']);
    expect(withoutKey).toMatchObject({ exitCode: 0, stdout: tried.stdout });
    expect(withoutKey.stderr).toContain('No key yet');
    expect(await list()).toEqual(listed);
    for (let count = 0; count < 2; count += 1) {
      expect(await runRecount(home, ['connect', network.url, '--yes'], { environment })).toMatchObject({ exitCode: 0 });
    }
    const { mode } = await stat(join(home, '.recount/collector/connection.json'));
    expect(mode & 0o777).toBe(0o600);
    await waitForSender(home);
    expect(await list()).toContain('.config/opencode/plugins/recount.js');
    expect(await runRecount(home, ['disconnect'])).toMatchObject({ exitCode: 0 });
    expect(await readFile(join(home, '.claude/settings.json'), 'utf8')).toBe(before);
    // A sender that had only just been started makes its folder again, and deletes it itself.
    await vi.waitFor(async () => expect(await list()).toEqual(listed), PATIENCE);
  });

  it('leave what others put into folders that they made', async () => {
    const home = await createHome({});
    homes.push(home);
    await mkdir(join(home, '.pi/agent'), { recursive: true });
    const environment = { RECOUNT_API_KEY: api.keys.ingest };
    expect(await runRecount(home, ['connect', network.url, '--yes'], { environment })).toMatchObject({ exitCode: 0 });
    await waitForSender(home);
    await writeFile(join(home, '.recount/credentials.json'), '{}');
    await writeFile(join(home, '.pi/agent/extensions/theirs.js'), '');
    expect(await runRecount(home, ['disconnect', '--yes'])).toMatchObject({ exitCode: 0 });
    await vi.waitFor(async () => expect(await readdir(join(home, '.recount'))).toEqual(['credentials.json']), PATIENCE);
    expect(await readdir(join(home, '.pi/agent/extensions'))).toEqual(['theirs.js']);
  });

  it('end a running sender and watcher', async () => {
    const home = await createMachine('ended', 'ada');
    const watch = startRecount(home, ['watch']);
    await watch.waitForOutput(/Watching \d+ folders/);
    network.holdAfter(2000);
    await runTurn(home, 'in-the-middle', 3000);
    await network.held();
    expect(await runRecount(home, ['disconnect', '--force'])).toMatchObject({ exitCode: 0 });
    expect(await watch.exited).toBe(0);
    expect((await readdir(home)).sort()).toEqual(['.claude']);
    network.takeAway();
    expect(await listTranscripts('in-the-middle')).toEqual([]);
  });

  it('report a bad key or server', async () => {
    const home = await createHome({});
    homes.push(home);
    const attempt = async (url: string, key: string) =>
      (await runRecount(home, ['connect', url, '--yes'], { environment: { RECOUNT_API_KEY: key } })).stderr;
    expect(await attempt(network.url, api.keys.read)).toContain('sending sessions needs ingest');
    expect(await attempt(network.url, 'rk_wrong')).toContain('The API key is not valid');
    expect(await attempt('http://127.0.0.1:1', api.keys.ingest)).toContain('Cannot reach http://127.0.0.1:1');
    expect(await attempt('not a url', api.keys.ingest)).toContain('is not a server’s URL');
    expect(await readdir(home)).toEqual([]);
  });
});

const toAnswer = (tokens: object): string =>
  JSON.stringify({
    ...{ role: 'assistant', providerID: 'anthropic', modelID: 'claude-sonnet-4-5', tokens },
    ...{ model: { id: 'claude-sonnet-4-5', providerID: 'anthropic' }, content: [], finish: 'stop' },
    time: { created: Date.UTC(2026, 9, 1), completed: Date.UTC(2026, 9, 1) + 9 },
  });
/** A session of version 1 that version 2 has copied and continued, and a table from the future. */
const OPENCODE_STORE = `
  CREATE TABLE session (id text, parent_id text, directory text, title text, time_created integer, time_updated integer);
  CREATE TABLE session_v2 (id text, parent_id text, directory text, title text, time_created integer,
    time_updated integer);
  CREATE TABLE message (id text, session_id text, time_created integer, time_updated integer, data text);
  CREATE TABLE part (id text, message_id text, time_updated integer, data text);
  CREATE TABLE session_message (id text, session_id text, type text, seq integer, time_created integer,
    time_updated integer, data text);
  CREATE TABLE session_v3 (id text);
  INSERT INTO session VALUES ('ses_1', NULL, '/app', 'Heron', 1, 1);
  INSERT INTO session_v2 VALUES ('ses_1', NULL, '/app', 'Heron', 1, 2);
  INSERT INTO session_v3 VALUES ('ses_9');
  INSERT INTO message VALUES ('msg_1', 'ses_1', 1, 1,
    '${toAnswer({ total: 160, input: 100, output: 50, reasoning: 30, cache: { read: 10, write: 0 } })}');
  INSERT INTO session_message VALUES ('msg_1', 'ses_1', 'assistant', 0, 1, 1,
    '${toAnswer({ input: 100, output: 50, reasoning: 30, cache: { read: 10, write: 0 } })}');
  INSERT INTO session_message VALUES ('msg_2', 'ses_1', 'assistant', 1, 2, 2,
    '${toAnswer({ input: 1000, output: 100, reasoning: 20, cache: { read: 0, write: 0 } })}');`;
