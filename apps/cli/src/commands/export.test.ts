import { mkdtemp, readdir, readFile, readlink, rm } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runCommandLine } from '../run-command-line.ts';
import { createFakeContext } from '../testing/fake-context.ts';
import { replyJson, startReplyServer } from '../testing/reply-server.ts';

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'recount-export-'));
});
afterEach(() => rm(directory, { recursive: true }));

async function run(
  commandArguments: readonly string[],
  reply: (request: IncomingMessage, response: ServerResponse) => void,
  columns?: number,
) {
  const server = await startReplyServer(reply);
  const context = createFakeContext({
    environment: { RECOUNT_SERVER: server.url, RECOUNT_API_KEY: 'rk_test' },
    workingDirectory: directory,
    ...(columns !== undefined && { columns }),
  });
  const exitCode = await runCommandLine(context, ['export', ...commandArguments]);
  return { exitCode, out: context.out(), err: context.err(), requests: server.requests };
}

const replyRows = (_request: IncomingMessage, response: ServerResponse): void => {
  response.writeHead(200, { 'content-type': 'text/csv' }).end('a,b\r\n1,2\r\n');
};

describe('recount export', () => {
  it('writes to stdout', async () => {
    const { exitCode, out, requests } = await run(['usage', '--tz', 'UTC', '--only-subagents'], replyRows);
    expect({ exitCode, out }).toEqual({ exitCode: 0, out: 'a,b\r\n1,2\r\n' });
    expect(requests).toEqual(['GET /v1/export/usage?time_zone=UTC&subagents=only&format=csv']);
  });

  it('writes a file that appears only once it is complete', async () => {
    expect(await run(['sessions', '-o', 'out.csv'], replyRows)).toMatchObject({ exitCode: 0, out: '' });
    expect(await readFile(join(directory, 'out.csv'), 'utf8')).toBe('a,b\r\n1,2\r\n');
    const broken = await run(['sessions', '-o', 'broken.csv'], (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/csv' }).write('a,b\r\n');
      setTimeout(() => response.destroy(), 50);
    });
    expect(broken.exitCode).toBe(1);
    expect(await readdir(directory)).toEqual(['out.csv']);
  });

  it.runIf(process.platform === 'linux')('closes a file that it could not write', async () => {
    const { exitCode } = await run(['usage', '-o', 'out.csv'], (_request, response) =>
      replyJson(response, {}, { status: 403 }),
    );
    expect(exitCode).toBe(1);
    const descriptors = await readdir('/proc/self/fd');
    const open = await Promise.all(descriptors.map((name) => readlink(`/proc/self/fd/${name}`).catch(() => '')));
    expect(open.filter((path) => path.startsWith(directory))).toEqual([]);
  });

  it('gives the reason if there is no export', async () => {
    const problem = { type: 'urn:recount:problem:missing-scope', title: 'The API key lacks a scope', detail: 'read' };
    const refused = await run(['usage', '-o', 'out.csv'], (_request, response) =>
      replyJson(response, problem, { status: 403 }),
    );
    expect(refused).toMatchObject({ exitCode: 1, out: '' });
    expect(refused.err).toContain('The API key lacks a scope');
    expect(await readdir(directory)).toEqual([]);
  });

  it('refuses a binary format on a terminal, and unknown formats', async () => {
    expect(await run(['usage', '--format', 'parquet'], replyRows, 80)).toMatchObject({ exitCode: 2, requests: [] });
    expect(await run(['usage', '--format', 'xlsx'], replyRows)).toMatchObject({ exitCode: 2, requests: [] });
    expect(await run(['prompts'], replyRows)).toMatchObject({ exitCode: 2, requests: [] });
  });

  it('reports where it cannot write', async () => {
    const { exitCode, err } = await run(['usage', '-o', 'no/such/folder.csv'], replyRows);
    expect(exitCode).toBe(1);
    expect(err).toContain('Cannot write no/such/folder.csv: ENOENT');
  });
});
