import { mkdtempSync, rmSync } from 'node:fs';
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AgentEvent, parserFor, toStreamOutcome } from '@recount/core/live';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findCorpus } from './corpus.ts';
import { type LiveServer, startLiveServer } from './live-run/live-server.ts';
import { unpackStreams } from './live-run/recorded-streams.ts';
import { createFakeAgents, holdAgents, type Recount, startRecount, waitUntil } from './live-run/run-recount.ts';

const SESSION_ID = '11111111-2222-4333-8444-555555555555';
const LINE_COUNT = 30;

const corpus = findCorpus();
const corpusFolder = mkdtempSync(join(tmpdir(), 'recount-live-run-corpus-'));
const recordings = corpus === undefined ? [] : unpackStreams(corpus, corpusFolder);
afterAll(() => rmSync(corpusFolder, { recursive: true }));

let home: string;
let server: LiveServer;
let stream: string;
const running: Recount[] = [];
const start: typeof startRecount = (...recountArguments) => {
  const recount = startRecount(...recountArguments);
  running.push(recount);
  return recount;
};

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'recount-live-run-'));
  await createFakeAgents(join(home, 'bin'));
  stream = join(home, 'stream.jsonl');
  await writeFile(stream, toClaudeStream());
  server = await startLiveServer();
});
afterEach(async () => {
  for (const { child, ended } of running.splice(0)) {
    child.kill('SIGKILL');
    await ended;
  }
  await server.kill();
  await rm(home, { recursive: true, force: true });
});

function toClaudeStream(): string {
  const session_id = SESSION_ID;
  const lines: object[] = [{ type: 'system', subtype: 'init', session_id, model: 'claude-opus-4-8', tools: ['Read'] }];
  for (let number = 1; number <= LINE_COUNT; number += 1) {
    const content = [{ type: 'text', text: `Zeile ${number}: größer 👩‍👩‍👧` }];
    lines.push({ type: 'assistant', session_id, message: { id: `m${number}`, role: 'assistant', content } });
  }
  const result = { type: 'result', subtype: 'success', is_error: false, result: 'Done.', total_cost_usd: 0.015 };
  return [...lines, { ...result, session_id }].map((line) => `${JSON.stringify(line)}\n`).join('');
}

const environment = (more: Record<string, string> = {}): Record<string, string> => ({
  FAKE_STREAM: stream,
  RECOUNT_API_KEY: 'rk_test',
  ...more,
});
const recordTo = (url: string): string[] => ['run', '--server', url, '--', 'claude', '-p', 'go'];
const spool = (): string => join(home, '.recount/live-spool');
const listSpool = (): Promise<string[]> => readdir(spool()).catch(() => []);
const onlyStream = () => {
  expect([...server.streams.values()]).toHaveLength(1);
  return [...server.streams.values()][0];
};
const receivedBytes = (): number => [...server.streams.values()].reduce((sum, { bytes }) => sum + bytes.length, 0);

describe('recount run', () => {
  it('adds the flags, shows the stream, and passes stderr and exit code on', async () => {
    const log = join(home, 'log');
    const environmentOfAgent = environment({ FAKE_EXIT_CODE: '5', FAKE_STDERR: 'a warning\nno end', FAKE_LOG: log });
    const { exitCode, stdout, stderr } = await start(
      home,
      ['run', '--', 'claude', '-p', '--', '--version'],
      environmentOfAgent,
    ).ended;
    expect(await readFile(log, 'utf8')).toBe('["-p","--output-format","stream-json","--verbose","--","--version"]\n');
    expect(exitCode).toBe(5);
    expect(stderr).toBe('a warning\nno end');
    const lines = stdout.split('\n');
    expect(lines).toHaveLength(LINE_COUNT + 3);
    expect(lines[0]).toBe('[claude] "Zeile 1: größer 👩‍👩‍👧"');
    expect(lines.slice(-3)).toEqual([
      '[claude] Complete (cost: $0.0150)',
      '[claude] ERROR: The agent exited with code 5',
      '',
    ]);
  });

  it.each([
    ['SIGTERM', { exitCode: 143 }, '[claude] ERROR: The agent was ended by SIGTERM'],
    ['SIGINT', { exitCode: 9 }, '[claude] ERROR: The agent exited with code 9'],
  ] as const)('forwards %s, and shows what came before', async (signal, ending, lastLine) => {
    const log = join(home, 'log');
    const hold = await holdAgents(home);
    const recount = start(home, ['run', '--', 'claude', '-p'], environment({ ...hold.environment, FAKE_LOG: log }));
    await waitUntil(() => recount.stdout().includes('Zeile 3'), 'the third line');
    recount.child.kill(signal);
    const { exitCode, stdout } = await recount.ended;
    expect({ exitCode }).toEqual(ending);
    expect(stdout.trimEnd().split('\n').at(-1)).toBe(lastLine);
    if (signal === 'SIGINT') expect((await readFile(log, 'utf8')).match(/SIGINT/g)).toHaveLength(1);
  });

  it('exits like an agent that is killed', async () => {
    const { exitCode, stdout } = await start(home, ['run', '--', 'claude'], environment({ FAKE_KILLED_AFTER: '4' }))
      .ended;
    expect(exitCode).toBe(137);
    expect(stdout.trimEnd().split('\n').at(-1)).toBe('[claude] ERROR: The agent was ended by SIGKILL');
  });

  it('keeps reading after a long silence, while a process that the agent left behind still writes', async () => {
    const script = '#!/bin/sh\n(sleep 2.9; cat "$FAKE_STREAM") &\nsleep 2.3\n';
    await writeFile(join(home, 'bin/claude'), script);
    const { exitCode, stdout } = await start(home, ['run', '--', 'claude'], environment()).ended;
    expect({ exitCode, lines: stdout.split('\n').length }).toEqual({ exitCode: 0, lines: LINE_COUNT + 2 });
  });

  it('passes unknown agents, other output formats and --no-stream through unchanged', async () => {
    const bytes = await readFile(stream, 'utf8');
    const unknown = await start(home, ['run', '--', 'unknown-agent'], environment({ FAKE_EXIT_CODE: '3' })).ended;
    expect(unknown).toMatchObject({ exitCode: 3, stdout: bytes, stderr: '' });
    const text = ['run', '--', 'claude', '-p', '--output-format', 'text'];
    const other = await start(home, text, environment()).ended;
    expect(other).toMatchObject({ exitCode: 0, stdout: bytes });
    expect(other.stderr).toMatch(/prints no stream/);
    const log = join(home, 'log');
    const raw = await start(home, ['run', '--no-stream', '--', 'claude', '-p'], environment({ FAKE_LOG: log })).ended;
    expect(raw).toMatchObject({ exitCode: 0, stdout: bytes, stderr: '' });
    expect(await readFile(log, 'utf8')).toBe('["-p"]\n');
  });

  it.each([
    ['claude', 'done.', '4', 0],
    ['claude', 'something else', '0', 1],
    ['claude', 'something else', '4', 4],
    ['unknown-agent', 'Done.', '0', 0],
  ])('%s --complete-with %j, agent exits %s: %d', async (agent, text, agentExitCode, expected) => {
    const command = ['run', '--complete-with', text, '--', agent];
    const { exitCode } = await start(home, command, environment({ FAKE_EXIT_CODE: agentExitCode })).ended;
    expect(exitCode).toBe(expected);
  });

  it('reports that an agent is missing, or not executable, as a shell does', async () => {
    const missing = await start(home, ['run', '--', 'no-such-agent']).ended;
    expect(missing).toMatchObject({
      exitCode: 127,
      stdout: '',
      stderr: 'recount: no-such-agent is not found on PATH\n',
    });
    await chmod(join(home, 'bin/amp'), 0o644);
    expect(await start(home, ['run', '--', join(home, 'bin/amp')]).ended).toMatchObject({ exitCode: 126 });
  });

  it('warns of a silent agent', async () => {
    const slow = environment({ FAKE_DELAY_MS: '1500', FAKE_KILLED_AFTER: '1' });
    const { stderr } = await start(home, ['run', '--stall-timeout', '1', '--', 'claude'], slow).ended;
    expect(stderr).toMatch(
      // If it starts slowly, it is silent twice.
      /^(?:recount: claude has written nothing for 1 s and may be stuck\nrecount: claude continues, after \d s\n)+$/,
    );
  });

  it('lets the agent finish even if nothing reads the output', async () => {
    const hold = await holdAgents(home);
    const recount = start(home, recordTo(server.url), environment(hold.environment));
    await waitUntil(() => recount.stdout().includes('Zeile 2'), 'the second line');
    recount.child.stdout?.destroy();
    await hold.letGo();
    expect(await recount.ended).toMatchObject({ exitCode: 0 });
    expect(onlyStream()?.bytes.toString()).toBe(toClaudeStream());
  });
});

describe('a recorded run', () => {
  it('reaches the server while it runs, whole, and leaves nothing behind', async () => {
    const hold = await holdAgents(home);
    const recount = start(home, recordTo(server.url), environment({ ...hold.environment, FAKE_EXIT_CODE: '4' }));
    await waitUntil(() => receivedBytes() > 500, 'the first lines');
    expect(recount.stdout()).not.toContain('Complete');
    const [noteName = ''] = (await listSpool()).filter((name) => name.endsWith('.ndjson'));
    expect((await stat(join(spool(), noteName))).mode & 0o777).toBe(0o600);
    expect((await stat(spool())).mode & 0o777).toBe(0o700);
    await hold.letGo();
    expect(await recount.ended).toMatchObject({ exitCode: 4, stderr: '' });
    expect(recount.stderr()).toBe(`recount: records for ${server.url}\n`);
    expect(onlyStream()).toMatchObject({ sessionId: SESSION_ID, agent: 'claude-code', end: { exitCode: '4' } });
    expect(onlyStream()?.bytes.toString()).toBe(toClaudeStream());
    expect(await listSpool()).toEqual([]);
  });

  it('continues where the server stopped, if that was killed in the middle', async () => {
    const hold = await holdAgents(home);
    const recount = start(home, recordTo(server.url), environment(hold.environment));
    await waitUntil(() => receivedBytes() > 300, 'the first lines');
    await server.kill();
    await waitUntil(() => recount.stderr().includes('Cannot reach'), 'the note');
    await server.start();
    await hold.letGo();
    const { exitCode, stderr } = await recount.ended;
    expect(exitCode).toBe(0);
    expect(stderr.trimEnd().split('\n')).toEqual([
      expect.stringMatching(/^recount: Cannot reach http:\S+ \(.*\)\. The stream is saved, and sent when possible$/),
    ]);
    expect(onlyStream()?.bytes.toString()).toBe(toClaudeStream());
    expect(onlyStream()?.end).toEqual({ exitCode: '0', signal: undefined });
    expect(server.log.filter((line) => line.startsWith('POST 0 '))).toHaveLength(0);
    expect(await listSpool()).toEqual([]);
  });

  it('waits in the spool while the server is unavailable, until `recount live flush`', async () => {
    await server.kill();
    const { exitCode, stdout, stderr } = await start(home, recordTo(server.url), environment()).ended;
    expect(exitCode).toBe(0);
    expect(stdout).toContain('Complete');
    expect(stderr).toMatch(
      /^recount: \d\.\d kB of the stream wait to be sent \(.*\)\. The next recording sends them, or/m,
    );
    expect(await listSpool()).toHaveLength(2);

    const flush = ['live', 'flush', '--server', server.url];
    expect(await start(home, flush, environment()).ended).toMatchObject({
      exitCode: 1,
      stdout: expect.stringMatching(/waiting/),
    });
    await server.start();
    expect(await start(home, ['live', 'flush'], environment()).ended).toMatchObject({
      exitCode: 1,
      stdout: expect.stringMatching(/waiting .*its key is not known here/),
    });
    expect(await start(home, flush, environment()).ended).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/^[0-9A-Z]{26} {2}\d\.\d kB {2}sent {2}http:\S+\n$/),
    });
    expect(onlyStream()?.bytes.toString()).toBe(toClaudeStream());
    expect(onlyStream()?.end).toEqual({ exitCode: '0', signal: undefined });
    expect(await start(home, flush, environment()).ended).toMatchObject({ exitCode: 0, stdout: 'Nothing waits.\n' });
  });

  it('is sent by the next one if recount was killed, up to the recorded end', async () => {
    const hold = await holdAgents(home);
    const first = start(home, recordTo(server.url), environment(hold.environment));
    await waitUntil(() => first.stdout().includes('Zeile 4'), 'the fourth line');
    const shown = first.stdout();
    first.child.kill('SIGKILL');
    await first.ended;
    expect((await listSpool()).length).toBeGreaterThan(1);
    const second = start(home, recordTo(server.url), environment(hold.environment));
    await waitUntil(() => second.stderr().includes('waited in the spool'), 'the note');
    await hold.letGo();
    expect((await second.ended).stderr).toBe('recount: a stream that waited in the spool is sent\n');
    const streams = [...server.streams.values()];
    expect(streams).toHaveLength(2);
    const whole = streams.find(({ end }) => end?.exitCode === '0');
    const killed = streams.find((each) => each !== whole);
    expect(whole?.bytes.toString()).toBe(toClaudeStream());
    expect(toClaudeStream().startsWith(killed?.bytes.toString() ?? '')).toBe(true);
    // Nothing was shown that was not in the spool.
    expect(killed?.bytes.toString()).toContain(shown.trimEnd().split('"').at(-2));
    expect(killed?.end).toEqual({ exitCode: undefined, signal: undefined });
    expect(await listSpool()).toEqual([]);
  });

  it('whose stream the server has closed since then is sent again as a whole', async () => {
    const hold = await holdAgents(home);
    const recount = start(home, recordTo(server.url), environment(hold.environment));
    await waitUntil(() => receivedBytes() > 300, 'the first lines');
    server.close([...server.streams.keys()][0] ?? '');
    await hold.letGo();
    expect(await recount.ended).toMatchObject({ exitCode: 0, stderr: '' });
    const [, second] = [...server.streams.values()];
    expect(second?.bytes.toString()).toBe(toClaudeStream());
    expect(second?.end).toEqual({ exitCode: '0', signal: undefined });
    expect(await listSpool()).toEqual([]);
  });

  it.each([
    ['waits', 401, 'invalid-key', 'waiting'],
    ['stays', 413, 'stream-too-large', 'refused'],
  ])('%s if the server answers %d', async (_what, status, slug, state) => {
    server.refusal = { status, slug };
    expect(await start(home, recordTo(server.url), environment()).ended).toMatchObject({ exitCode: 0 });
    const flush = ['live', 'flush', '--json', '--server', server.url];
    const { exitCode, stdout, stderr } = await start(home, flush, environment()).ended;
    expect(stderr).toBe('');
    expect({ exitCode, ...JSON.parse(stdout) }).toMatchObject({ exitCode: 1, state });
  });

  it('waits for the local installation if none is running', async () => {
    const command = ['run', '--record', '--', 'claude'];
    const { exitCode, stderr } = await start(home, command, environment({ RECOUNT_API_KEY: '' })).ended;
    expect(exitCode).toBe(0);
    expect(stderr).toMatch(/wait to be sent \(No local installation runs\)/);
    expect(await listSpool()).toHaveLength(2);
  });

  it('continues if nothing can be recorded', async () => {
    await writeFile(join(home, 'file'), '');
    const nowhere = environment({ RECOUNT_DATA_DIR: join(home, 'file') });
    const { exitCode, stdout, stderr } = await start(home, recordTo(server.url), nowhere).ended;
    expect(exitCode).toBe(0);
    expect(stdout).toContain('Complete');
    expect(stderr).toMatch(/^recount: not recorded: /);
  });

  it('has all of the agent’s output if the agent is killed', async () => {
    const killed = environment({ FAKE_KILLED_AFTER: '7' });
    expect(await start(home, recordTo(server.url), killed).ended).toMatchObject({ exitCode: 137 });
    expect(onlyStream()?.bytes.toString()).toBe(
      toClaudeStream()
        .split(/(?<=\n)/)
        .slice(0, 7)
        .join(''),
    );
    expect(onlyStream()?.end).toEqual({ exitCode: undefined, signal: 'SIGKILL' });
  });
});

describe('recount run of a missing program', () => {
  it('exits with 127, and in JSON with a close object', async () => {
    const { exitCode, stdout } = await start(home, ['run', '--json', '--', 'missing-program']).ended;
    expect(exitCode).toBe(127);
    const lines = stdout.trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      {
        type: 'close',
        success: false,
        error: 'missing-program is not found on PATH',
        exit: { exitCode: 127, signal: null },
      },
    ]);
  });
});

describe('recount run -- claude with messages on its stdin', () => {
  it('lets it repeat them in its stream', async () => {
    const log = join(home, 'log');
    const stdinOptions = ['--input-format', 'stream-json'];
    await start(home, ['run', '--', 'claude', '-p', ...stdinOptions], environment({ FAKE_LOG: log })).ended;
    expect(JSON.parse((await readFile(log, 'utf8')).trim())).toContain('--replay-user-messages');
  });
});

describe('recount tail', () => {
  it('records, and exits with 1 if the stream is cut off', async () => {
    const whole = await start(home, ['tail', '--server', server.url], environment(), stream).ended;
    expect(whole).toMatchObject({ exitCode: 0, stderr: '' });
    expect(onlyStream()).toMatchObject({ sessionId: SESSION_ID, end: { exitCode: undefined, signal: undefined } });
    expect(onlyStream()?.bytes.toString()).toBe(toClaudeStream());
    await writeFile(stream, toClaudeStream().split('\n').slice(0, 3).join('\n'));
    expect(await start(home, ['tail'], {}, stream).ended).toMatchObject({ exitCode: 1 });
  });

  it('shows an agent’s plain text, unreadable lines, dropped ones, and versions that are too new', async () => {
    const torn = `{"type":"assistant","message":{"content":"${'x'.repeat(200)}`;
    const newer = JSON.stringify({ type: 'user', session_id: 's', version: '3.0.0', message: { content: 'hi' } });
    const lines = ['Invalid API key · Please run /login', newer, newer, torn, `{"a":"${'y'.repeat(11_000_000)}"}`];
    await writeFile(stream, `${lines.join('\n')}\n`);
    const { stdout } = await start(home, ['tail'], {}, stream).ended;
    expect(stdout.split('\n').slice(0, 4)).toEqual([
      '[claude] Invalid API key · Please run /login',
      expect.stringMatching(/^\[claude\] WARNING: .*update recount \(line 2\)$/),
      `[claude] WARNING: Unreadable line (line 4): ${torn.slice(0, 100)}`,
      '[claude] WARNING: More than 10485760 bytes without a line feed, so the line was dropped (line 5)',
    ]);
    const json = await start(home, ['tail', '--json'], {}, stream).ended;
    expect(json.stdout).not.toContain('Invalid API key');
  });

  it('passes a stream through until a line identifies its agent, and records it whole', async () => {
    const noise = 'Loading the project\n';
    const recount = start(home, ['tail', '--server', server.url], environment(), 'pipe');
    recount.child.stdin?.write(noise);
    await waitUntil(() => recount.stdout() === noise, 'what came is shown raw');
    recount.child.stdin?.end(toClaudeStream());
    const { exitCode, stdout } = await recount.ended;
    expect(exitCode).toBe(0);
    expect(stdout.split('\n')[1]).toBe('[claude] "Zeile 1: größer 👩‍👩‍👧"');
    expect(onlyStream()?.bytes.toString()).toBe(noise + toClaudeStream());
  });

  it('prints the error beside an empty result', async () => {
    const result = {
      type: 'tool_result',
      tool_use_id: 'tool_3',
      content: '',
      is_error: true,
      error: 'Permission denied',
    };
    await writeFile(stream, `${JSON.stringify({ type: 'user', session_id: 's', message: { content: [result] } })}\n`);
    const { stdout } = await start(home, ['tail', '--agent', 'claude'], {}, stream).ended;
    expect(stdout).toContain('[claude] ERROR: Permission denied');
  });

  it('passes streams of unknown agents through', async () => {
    const { exitCode, stdout } = await start(home, ['tail', '--agent', 'other'], {}, stream).ended;
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: toClaudeStream() });
  });
});

/** Without what depends on the clock. */
function toTimeless(events: readonly object[]): object[] {
  return events.map((event) => ({ ...event, timestampMs: undefined, durationMs: undefined }));
}

describe.skipIf(recordings.length === 0)('recorded streams', () => {
  it.each(recordings.map((recording) => [recording.name, recording] as const))('%s', async (_name, { agent, path }) => {
    const parser = parserFor(agent, { now: Date.now });
    if (parser === undefined) throw new Error(agent);
    const events: AgentEvent[] = [...parser.push(await readFile(path)), ...parser.finish()];
    const { success } = toStreamOutcome(parser.toSummary());
    const replay = environment({ FAKE_STREAM: path, FAKE_DELAY_MS: '1' });
    const [shownToPeople, ...outputs] = await Promise.all([
      start(home, ['tail', '--verbose', '--progress', '--agent', agent], {}, path).ended,
      start(home, ['tail', '--json', '--server', server.url], environment(), path).ended,
      start(home, ['run', '--json', '--server', server.url, '--', agent, 'exec'], replay).ended,
    ]);
    expect(outputs.map(({ exitCode }) => exitCode)).toEqual([success ? 0 : 1, 0]);
    for (const { stdout, stderr } of outputs) {
      const shown = stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line));
      expect(shown.pop()).toMatchObject({ type: 'close' });
      expect(toTimeless(shown)).toEqual(JSON.parse(JSON.stringify(toTimeless(events))));
      expect(stderr).toBe('');
    }
    const [first, second] = [...server.streams.values()];
    const bytes = await readFile(path, 'utf8');
    expect(first?.bytes.toString()).toBe(bytes);
    expect(second?.bytes.toString()).toBe(bytes);
    // For people, with one line for each event, and nothing that a terminal acts on.
    const { stdout } = shownToPeople;
    expect(stdout).toMatch(new RegExp(`^(?:\\[${agent}\\] .+\n|  -> .+\n)+$`));
    expect(stdout.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
  });
});
