import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runCommandLine } from './run-command-line.ts';
import { InterruptedError } from './terminal/interruption.ts';
import { createFakeContext } from './testing/fake-context.ts';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'recount-cli-'));
});
afterEach(() => rm(directory, { recursive: true }));

async function run(commandLine: string[], options: Parameters<typeof createFakeContext>[0] = {}) {
  const context = createFakeContext({ workingDirectory: directory, ...options });
  context.environment = { RECOUNT_DATA_DIR: join(directory, 'data'), ...options.environment };
  const exitCode = await runCommandLine(context, commandLine);
  return { exitCode, out: context.out(), err: context.err() };
}

const SESSION = '11111111-1111-4111-8111-111111111111';
const transcript = `${JSON.stringify({
  type: 'user',
  sessionId: SESSION,
  uuid: 'u1',
  cwd: '/home/ada/app',
  timestamp: '2026-03-02T10:00:00.000Z',
  message: { role: 'user', content: 'Why is the invoice one cent too high?' },
})}\n{"type":\n`;

describe('recount', () => {
  it('lists what it can do', async () => {
    const { exitCode, out } = await run(['--help']);
    expect(exitCode).toBe(0);
    for (const name of [
      'up',
      'api',
      'worker',
      'migrate',
      'keys',
      'doctor',
      'requeue',
      'parse',
      'upload',
      'backfill',
      'sessions',
      'search',
      'workspaces',
      'settings',
      'retain',
    ]) {
      expect(out).toMatch(new RegExp(`^ {2}${name}\\b`, 'm'));
      const help = await run([name, '--help']);
      expect(help).toMatchObject({ exitCode: 0, err: '' });
      expect(help.out).toMatch(/Examples?:\n {2}\$ /);
    }
    expect((await run(['--version'])).out).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it.each(['80', '100'])('breaks no help in mid-sentence in a terminal of %s columns', async (COLUMNS) => {
    const { out } = await run(['--help'], { environment: { COLUMNS } });
    const names = [...out.matchAll(/^ {2}([a-z][a-z-]+)/gm)].flatMap(([, name]) => name ?? []);
    expect(names.length).toBeGreaterThan(40);
    const withoutAction = ['bill', 'cluster', 'keys', 'prices', 'repositories', 'settings', 'workspaces'];
    for (const words of [...names.map((name) => [name, '--help']), ...withoutAction.map((name) => [name])]) {
      const help = await run(words, { environment: { COLUMNS } });
      const text = help.out + help.err;
      expect(text).toContain('Usage: recount');
      const isToCopy = (line: string): boolean => /^ +(\$|\[\{)/.test(line);
      const long = text.split('\n').filter((line) => line.length > Number(COLUMNS) && !isToCopy(line));
      expect([...words, ...long]).toEqual(words);
    }
  });

  it('writes an error on one line, and a help without an action to the errors', async () => {
    const environment = { COLUMNS: '40' };
    const name = 'a-name-that-no-command-has-because-it-is-so-long';
    expect((await run([name, 'and more'], { environment })).err).toContain(`recount: unknown command '${name}'`);
    expect(await run(['keys'], { environment })).toMatchObject({ out: '', err: expect.stringContaining('Usage:') });
  });

  it.each([
    [['bakfill'], 'Did you mean backfill?'],
    [['backfill', '--list', '.'], 'Leave out the paths'],
    [['backfill', '--concurrency', '99', '.'], 'from 1 to 16'],
    [['backfill', '--since', 'soon', '.'], 'Must be a date'],
    [['backfill', '--workspace', 'w', '.'], '--direct'],
    [['backfill', '--direct', '--server', 'http://x', '.'], 'exclude each other'],
    [['sessions', '--server', 'example.com', '--key', 'k'], 'not a server’s URL'],
    [['sessions', '--server', 'https://recount.example.com'], 'RECOUNT_API_KEY'],
    [['search', 'needle', '--mode', 'regexp'], 'text, substring'],
    [['search', 'needle', '--no-subagents', '--only-subagents'], 'exclude each other'],
    [['parse', '--format', 'xml', 'f'], 'json, ndjson, table'],
    [['keys', 'create'], '--name'],
    [['requeue'], '--failed'],
    [['requeue', '--failed', 'id'], '--failed'],
    [['up', '--port', '70000'], '65535'],
    [['api'], 'DATABASE_URL is not set'],
    [['worker'], 'DATABASE_URL is not set'],
    [['migrate'], 'DATABASE_URL is not set'],
  ])('%j exits with 2 and one line of advice', async (commandLine, hint) => {
    const { exitCode, out, err } = await run(commandLine);
    expect({ exitCode, out }).toEqual({ exitCode: 2, out: '' });
    expect(err).toMatch(/^recount: /);
    expect(err).toContain(hint);
    expect(err).not.toMatch(/^ +at /m);
  });

  it.each([
    ['sessions'],
    ['search', 'needle'],
    ['keys', 'list'],
    ['doctor'],
    ['backfill', '.'],
    ['upload', '.'],
    ['requeue', '--failed'],
  ])('%s exits with 1 if there is nothing to work with', async (...commandLine) => {
    const { exitCode, err } = await run(commandLine);
    expect(exitCode).toBe(1);
    expect(err).toMatch(/^recount: No .*npm start.*\n$/);
  });

  it('says where it cannot store its data', async () => {
    await writeFile(join(directory, 'data'), 'a file');
    const { exitCode, err } = await run(['up']);
    expect(exitCode).toBe(1);
    expect(err).toMatch(/^recount: Cannot store data in .*data \(EEXIST\)\. .*RECOUNT_DATA_DIR.*\n$/);
  });

  it('names what it cannot reach', async () => {
    const environment = { DATABASE_URL: 'postgres://127.0.0.1:1/recount' };
    const { exitCode, err } = await run(['keys', 'list'], { environment });
    expect(exitCode).toBe(1);
    expect(err).toMatch(/^recount: .*127\.0\.0\.1:1.*ECONNREFUSED.*\n$/);
  });
});

describe('recount parse', () => {
  it.each([
    ['', (text: string) => text],
    ['.gz', gzipSync],
    ['.zst', zstdCompressSync],
  ])('prints the parse result of a file%s', async (ending, encode) => {
    await writeFile(join(directory, `${SESSION}.jsonl${ending}`), encode(transcript));
    const { exitCode, out, err } = await run(['parse', `${SESSION}.jsonl${ending}`]);
    expect({ exitCode, err }).toEqual({ exitCode: 0, err: '' });
    const result = JSON.parse(out);
    expect(Object.keys(result).sort()).toEqual([
      'apiResponses',
      'contentBlocks',
      'errors',
      'events',
      'messages',
      'metadata',
      'notices',
      'stats',
      'toolCalls',
      'warnings',
    ]);
    expect(result.messages[0]).toMatchObject({ session_id: SESSION, message_type: 'user' });
    expect(result.errors).toMatchObject([{ lineNumber: 2, byteOffset: transcript.indexOf('\n') + 1 }]);
    expect(result.stats).toMatchObject({ total_messages: 1, initial_prompt: 'Why is the invoice one cent too high?' });
  });

  it('reads stdin, whose session is named by its lines or the caller', async () => {
    const named = await run(['parse', '-', '--format', 'ndjson'], { stdin: transcript });
    expect(JSON.parse(named.out.split('\n')[0] ?? '')).toMatchObject({ kind: 'message', session_id: SESSION });
    const told = await run(['parse', '-', '--format', 'ndjson', '--session-id', 'mine'], { stdin: transcript });
    expect(JSON.parse(told.out.split('\n')[0] ?? '')).toMatchObject({ session_id: 'mine' });
    expect(await run(['parse', '-'], { stdin: '' })).toMatchObject({ exitCode: 1, err: 'recount: -: empty\n' });
  });

  it('applies its limits', async () => {
    const { out } = await run(['parse', '-', '--max-line-bytes', '20'], { stdin: transcript });
    expect(JSON.parse(out).errors[0]).toMatchObject({ code: 'line_too_long' });
  });

  it('shows people a table', async () => {
    const { out } = await run(['parse', '-', '--utc'], { stdin: transcript, columns: 100 });
    expect(out).toMatch(/^First prompt +Why is the invoice one cent too high\?$/m);
    expect(out).toMatch(/^0 +1 +2026-03-02 10:00Z +user +text$/m);
    expect(out).toMatch(/^ +2 +\d+ +1 +(Invalid JSON|Truncated).*$/m);
  });

  it('says what it cannot parse', async () => {
    await writeFile(join(directory, 'data.jsonl'), '{"rows":[1,2,3]}\n');
    await writeFile(join(directory, 'cut.jsonl.gz'), gzipSync(transcript).subarray(0, 40));
    await writeFile(join(directory, 'a.zip'), 'PK\x05\x06'.padEnd(22, '\0'));
    for (const [file, hint] of [
      ['data.jsonl', 'not recognised'],
      ['cut.jsonl.gz', 'ends too early'],
      ['a.zip', 'archive'],
      ['.', 'folder'],
      ['gone.jsonl', 'no such file'],
    ] as const) {
      const { exitCode, err } = await run(['parse', file]);
      expect({ file, exitCode }).toEqual({ file, exitCode: 1 });
      expect(err).toContain(hint);
      expect(err.trimEnd().split('\n')).toHaveLength(1);
    }
  });
});

describe('recount backfill --dry-run', () => {
  it('works without a server', async () => {
    await writeFile(join(directory, `${SESSION}.jsonl`), transcript);
    await writeFile(join(directory, 'notes.txt'), 'no');
    const { exitCode, out, err } = await run(['backfill', '--dry-run', '.']);
    expect(exitCode).toBe(0);
    expect(out).toMatch(/would be ingested +1\n/);
    expect(out).toMatch(/name is not a transcript’s +1\n/);
    expect(err).toContain('everything counts as new');
  });

  it('exits with 1 if something cannot be read, and prints its report as JSON', async () => {
    const { exitCode, out } = await run(['backfill', '--dry-run', '--json', 'gone']);
    expect(exitCode).toBe(1);
    expect(JSON.parse(out)).toMatchObject({
      isDryRun: true,
      found: 1,
      failed: 1,
      failures: [{ location: join(directory, 'gone') }],
    });
  });

  it('stops gracefully when interrupted', async () => {
    await writeFile(join(directory, `${SESSION}.jsonl`), transcript);
    const context = createFakeContext({ workingDirectory: directory });
    context.environment = { RECOUNT_DATA_DIR: directory };
    context.interruption.abort(new InterruptedError());
    expect(await runCommandLine(context, ['backfill', '--dry-run', '.'])).toBe(130);
    expect(context.err()).toContain('Run it again');
  });
});
