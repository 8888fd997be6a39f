import { verifyUsage } from '@recount/db';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestInstallation, TEST_WORKSPACE, type TestInstallation } from '../testing/test-installation.ts';

let installation: TestInstallation;
beforeAll(async () => {
  installation = await createTestInstallation();
});
afterAll(() => installation.close());

const START = Date.UTC(2026, 4, 12, 8);
const toLines = (...lines: object[]): string => lines.map((line) => `${JSON.stringify(line)}\n`).join('');
const prompt = (session: string, second: number, display: string) => ({
  ...{ display, pastedContents: {}, timestamp: START + second * 1000, project: '/home/ada/app', sessionId: session },
});
const toPrompts = (session: string, ...texts: string[]): string =>
  toLines(
    { recount: 'session', version: 1, agent: 'claude-code', session },
    ...texts.map((text, index) => prompt(session, index, text)),
  );
const toTranscript = (session: string): string =>
  toLines(
    {
      ...{ type: 'user', uuid: `u-${session}`, sessionId: session, cwd: '/home/ada/app' },
      timestamp: new Date(START).toISOString(),
      message: { role: 'user', content: 'Look for the heron' },
    },
    {
      ...{ type: 'assistant', uuid: `a-${session}`, sessionId: session, cwd: '/home/ada/app' },
      timestamp: new Date(START + 1000).toISOString(),
      message: {
        ...{ id: `msg_0000000000000000000000_${session}`, role: 'assistant', model: 'claude-sonnet-4-5' },
        ...{ content: [{ type: 'text', text: 'There' }], stop_reason: 'end_turn' },
        usage: { input_tokens: 10, output_tokens: 5 },
      },
    },
  );

/** Ingests them one after another, and reads the resulting session. */
async function ingest(session: string, ...bodies: string[]) {
  for (const body of bodies) {
    await installation.receive(body, { path: `/home/ada/.claude/history.jsonl/${session}.ndjson` });
    await installation.work();
  }
  const { pool } = installation.database;
  const { rows: transcripts } = await pool.query(
    `SELECT format, status FROM recount.transcripts WHERE session_id = $1 ORDER BY format, status`,
    [session],
  );
  const { rows: sessions } = await pool.query(
    `SELECT initial_prompt, project, total_messages, tokens_in::int, tokens_out::int, cost_estimate_usd, prompt_count, transcript_count
     FROM recount.sessions WHERE session_id = $1`,
    [session],
  );
  const { rows: counted } = await pool.query(
    `SELECT (SELECT count(*)::int FROM recount.usage_ledger WHERE session_id = $1) AS responses,
      (SELECT count(*)::int FROM recount.session_events WHERE session_id = $1 AND kind = 'prompt') AS prompts`,
    [session],
  );
  for (const check of await installation.database.withSnapshot((snapshot) => verifyUsage(snapshot, TEST_WORKSPACE))) {
    expect(check).toMatchObject({ missing: 0, surplus: 0 });
  }
  return { transcripts, session: sessions[0], counted: counted[0] };
}

it('shows the prompts of a session that has no transcript, without usage', async () => {
  const first = toPrompts('lost', 'Look for the heron');
  const grown = toPrompts('lost', 'Look for the heron', 'And now?');
  expect(await ingest('lost', first, grown)).toEqual({
    transcripts: [
      { format: 'claude-code-prompts', status: 'ingested' },
      { format: 'claude-code-prompts', status: 'superseded' },
    ],
    session: {
      ...{ initial_prompt: 'Look for the heron', project: '/home/ada/app', total_messages: 2, prompt_count: 2 },
      ...{ tokens_in: null, tokens_out: null, cost_estimate_usd: null, transcript_count: 1 },
    },
    counted: { responses: 0, prompts: 2 },
  });
});

it.each([
  ['before', (prompts: string, transcript: string) => [prompts, transcript]],
  ['after', (prompts: string, transcript: string) => [transcript, prompts]],
])('is replaced by the transcript, and counts no prompt twice, if that arrives %s it', async (order, arrange) => {
  const session = `found-${order}`;
  const bodies = arrange(toPrompts(session, 'Look for the heron', 'Lost'), toTranscript(session));
  expect(await ingest(session, ...bodies)).toEqual({
    transcripts: [
      { format: 'claude-code', status: 'ingested' },
      { format: 'claude-code-prompts', status: 'superseded' },
    ],
    session: expect.objectContaining({ total_messages: 2, tokens_in: 10, tokens_out: 5, prompt_count: 1 }),
    counted: { responses: 1, prompts: 1 },
  });
});

it('refuses a whole history, and names the command that imports it', async () => {
  const body = toLines(prompt('one', 0, 'Look'), prompt('two', 1, 'Look'));
  await expect(installation.receive(body, { path: '/home/ada/.claude/history.jsonl' })).rejects.toMatchObject({
    code: 'unsupported-format',
    message: expect.stringContaining('`recount backfill'),
  });
});
