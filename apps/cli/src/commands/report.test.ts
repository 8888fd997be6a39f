import { describe, expect, it } from 'vitest';
import { runCommandLine } from '../run-command-line.ts';
import { createFakeContext } from '../testing/fake-context.ts';
import { replyJson, startReplyServer } from '../testing/reply-server.ts';
import { toUsageReport } from '../testing/report-answers.ts';

const KEY = 'rk_test';

async function run(commandArguments: readonly string[], answer: unknown = toUsageReport(), columns?: number) {
  const server = await startReplyServer((_request, response) => replyJson(response, answer));
  const environment = { RECOUNT_SERVER: server.url, RECOUNT_API_KEY: KEY };
  const context = createFakeContext({ environment, ...(columns !== undefined && { columns }) });
  const exitCode = await runCommandLine(context, ['report', ...commandArguments]);
  return { exitCode, out: context.out(), err: context.err(), requests: server.requests };
}

const toQuery = (request = ''): Record<string, string> =>
  Object.fromEntries(new URL(request.replace('GET ', 'http://x')).searchParams);

describe('recount report', () => {
  it('requests the report with its filters', async () => {
    const { requests, exitCode } = await run([
      ...['usage', '--group-by', 'month,model', '--from', '2026-03-01', '--to', '2026-04-01', '--tz', 'Asia/Kathmandu'],
      ...['--agent', 'claude-code', '--project', '.', '--branch', 'main', '--model', 'm', '--session', 's'],
      ...['--no-subagents', '--limit', '7'],
    ]);
    expect(exitCode).toBe(0);
    expect(requests).toHaveLength(1);
    expect(requests[0]).toMatch(/^GET \/v1\/analytics\/usage\?/);
    expect(toQuery(requests[0])).toEqual({
      from: '2026-03-01',
      to: '2026-04-01',
      time_zone: 'Asia/Kathmandu',
      agent: 'claude-code',
      project: '/home/ada',
      git_branch: 'main',
      model: 'm',
      session_id: 's',
      subagents: 'exclude',
      group_by: 'month,model',
      limit: '7',
    });
  });

  it('prints a table with the filters above it, and caveats apart from it', async () => {
    const caveats = { ...toUsageReport().caveats, default_priced_responses: 5 };
    const { out, err } = await run(['daily', '--tz', 'Europe/Berlin'], toUsageReport({ caveats }));
    expect(out).toMatch(/^Usage by day · from 2026-03-29 · Europe\/Berlin · USD\n\nDAY .*\n─+\nSun 2026-03-29 /);
    expect(out).toMatch(/\nTotal .* \$17\.00\n$/);
    expect(err).toContain('Default price: 5 responses');
  });

  it('uses styles on a terminal only, within its width', async () => {
    const { out } = await run(['daily'], toUsageReport(), 80);
    expect(out).toContain('\u001b[1mTotal');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
    for (const line of out.replace(/\u001b\[\d+m/g, '').split('\n')) expect(line.length).toBeLessThanOrEqual(80);
    expect((await run(['daily'])).out).not.toContain('\u001b');
  });

  it('requests the models too if they are shown', async () => {
    const { requests } = await run(['weekly', '--breakdown']);
    expect(requests.map((request) => toQuery(request).group_by)).toEqual(['week', 'week,model']);
  });

  it('says that the breakdown is cut at the limit', async () => {
    expect((await run(['weekly', '--breakdown'], toUsageReport({ truncated: true }))).err).toContain(
      'models in all are shown',
    );
    expect((await run(['weekly', '--breakdown'])).err).not.toContain('models in all are shown');
  });

  it('counts sub-agents as sessions only if asked to', async () => {
    const report = { ...toUsageReport(), totals: { sessions: 0 }, rows: [] };
    const ask = async (...flags: string[]) =>
      toQuery((await run(['sessions', ...flags], report)).requests[0]).subagents;
    expect(await ask()).toBeUndefined();
    expect(await ask('--with-subagents')).toBe('include');
    expect(await ask('--only-subagents')).toBe('only');
  });

  it('prints the answer as JSON, or its rows as CSV', async () => {
    expect(JSON.parse((await run(['daily', '--json'])).out)).toEqual(toUsageReport());
    const { out } = await run(['daily', '--csv']);
    expect(out.split('\r\n')[0]).toMatch(/^day,sessions,messages,user_messages,own_responses,own_tokens_in,/);
    expect(out.split('\r\n')).toHaveLength(4);
    expect((await run(['daily', '--csv', '--json'])).exitCode).toBe(2);
  });

  it('prints the server’s error about a parameter', async () => {
    const server = await startReplyServer((_request, response) =>
      replyJson(
        response,
        {
          type: 'urn:recount:problem:invalid-request',
          title: 'The request is not valid',
          status: 400,
          detail: 'Not valid: from',
          errors: [{ location: 'query', field: 'from', message: 'Not a date' }],
        },
        { status: 400 },
      ),
    );
    const context = createFakeContext({ environment: { RECOUNT_SERVER: server.url, RECOUNT_API_KEY: KEY } });
    expect(await runCommandLine(context, ['report', 'daily', '--from', '2026-1-1'])).toBe(2);
    expect(context.err()).toContain('The request is not valid: Not valid: from\n  from: Not a date');
  });

  it('says that rows are missing from CSV', async () => {
    const { out, err } = await run(['daily', '--csv'], { ...toUsageReport(), truncated: true });
    expect(out).not.toContain('--limit');
    expect(err).toMatch(/^Only the first [0-9]+ rows; --limit shows more\.$/m);
    expect((await run(['daily', '--csv'])).err).toBe('');
  });
});
