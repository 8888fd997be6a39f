import { createApiKey, parseSearchTarget, searchTranscripts, verifyUsage } from '@recount/db';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deleteTranscript } from '../maintenance/deletions.ts';
import { createTestInstallation, TEST_WORKSPACE, type TestInstallation } from '../testing/test-installation.ts';

let installation: TestInstallation;
beforeAll(async () => {
  installation = await createTestInstallation();
});
afterAll(() => installation.close());

const at = (second: number) => new Date(Date.UTC(2026, 3, 29, 21, 0, second)).toISOString();

interface State {
  statuses: Record<string, string>;
  primary: string | undefined;
  session: Record<string, unknown>;
  ledger: Record<string, unknown>;
}

/** The state of a session after its versions, by name, have been ingested in the given order. */
async function ingest(
  session: string,
  versions: Record<string, string>,
  order: readonly string[],
  uploaders: Record<string, string> = {},
): Promise<State> {
  const ids = new Map<string, string>();
  for (const name of order) {
    const uploaderKeyId = uploaders[name] ?? null;
    const { transcript } = await installation.receive(versions[name] ?? '', { sessionId: session, uploaderKeyId });
    ids.set(transcript.id, name);
    await installation.work();
  }
  return await readState(session, ids);
}

async function readState(session: string, ids: ReadonlyMap<string, string>): Promise<State> {
  const { pool } = installation.database;
  const { rows: found } = await pool.query(`SELECT id, status FROM recount.transcripts WHERE session_id = $1`, [
    session,
  ]);
  const { rows: sessions } = await pool.query(
    `SELECT primary_transcript_id, total_messages, tokens_in::float8, tokens_out::float8, cost_estimate_usd, output_only_count, transcript_count
     FROM recount.sessions WHERE session_id = $1`,
    [session],
  );
  const { rows: ledger } = await pool.query(
    `SELECT count(*)::int AS responses, sum(tokens_in)::int AS tokens_in, sum(tokens_out)::int AS tokens_out
     FROM recount.usage_ledger WHERE session_id = $1`,
    [session],
  );
  const { primary_transcript_id: primary, ...figures } = sessions[0];
  for (const check of await installation.database.withSnapshot((snapshot) => verifyUsage(snapshot, TEST_WORKSPACE))) {
    expect(check).toMatchObject({ missing: 0, surplus: 0 });
  }
  return {
    statuses: Object.fromEntries(found.map(({ id, status }) => [ids.get(id) ?? id, status]).sort()),
    primary: ids.get(primary),
    session: figures,
    ledger: ledger[0],
  };
}

function toOrders(names: readonly string[]): string[][] {
  if (names.length <= 1) return [[...names]];
  return names.flatMap((name) => toOrders(names.filter((other) => other !== name)).map((rest) => [name, ...rest]));
}

/** A chat of Gemini CLI after some answers; the first ones may have been removed by a compression. */
function toChat(session: string, answers: readonly number[], padding = ''): string {
  const messages = answers.flatMap((second) => [
    {
      id: `${session}-u${second}-0000000000000000`,
      timestamp: at(second),
      type: 'user',
      content: `prompt ${second}${padding}`,
    },
    {
      ...{ id: `${session}-m${second}-0000000000000000`, timestamp: at(second + 1), type: 'gemini', content: 'Here' },
      ...{
        model: 'gemini-2.5-pro',
        tokens: { input: 100, output: second, cached: 0, thoughts: 0, tool: 0, total: 100 },
      },
    },
  ]);
  const lastUpdated = at(Math.max(...answers) + 1);
  return JSON.stringify({ sessionId: session, projectHash: 'ab12', startTime: at(0), lastUpdated, messages }, null, 2);
}

describe('versions of a session that its agent rewrites', () => {
  it('are one in any order, which is the latest that holds the responses of all', async () => {
    for (const [number, order] of toOrders(['first', 'second', 'third']).entries()) {
      const session = `grown-${number}`;
      const versions = {
        first: toChat(session, [10], ' that is longer than all that comes later'.repeat(40)),
        second: toChat(session, [10, 20]),
        third: toChat(session, [10, 20, 30]),
      };
      expect(await ingest(session, versions, order)).toMatchObject({
        statuses: { first: 'superseded', second: 'superseded', third: 'ingested' },
        primary: 'third',
        session: { total_messages: 6, tokens_in: 300, tokens_out: 60, transcript_count: 1 },
        ledger: { responses: 3, tokens_in: 300, tokens_out: 60 },
      });
    }
  });

  it('are found by the texts of the latest', async () => {
    const { database } = installation;
    const versions = [toChat('searched', [10], ' before it was rewritten'), toChat('searched', [10, 20])];
    for (const version of versions) {
      await installation.receive(version, { sessionId: 'searched' });
      await installation.work();
    }
    const target = parseSearchTarget('text', 'prompt');
    if (typeof target === 'string') throw new Error(target);
    const request = { timeZone: 'UTC', subagents: 'include', sessionId: 'searched', kinds: ['prompt'] } as const;
    const { results } = await searchTranscripts(database, TEST_WORKSPACE, target, request, {
      sort: 'newest',
      limit: 9,
    });
    expect(results.map(({ snippet }) => snippet.map(({ text }) => text).join(''))).toEqual(['prompt 20', 'prompt 10']);
  });

  it('keep what the latest has lost. It is shown, and every response counts', async () => {
    for (const [number, order] of toOrders(['first', 'long', 'compressed']).entries()) {
      const session = `compressed-${number}`;
      const versions = {
        first: toChat(session, [10]),
        long: toChat(session, [10, 20, 30]),
        compressed: toChat(session, [30, 40]),
      };
      expect(await ingest(session, versions, order)).toMatchObject({
        statuses: { first: 'superseded', long: 'ingested', compressed: 'ingested' },
        primary: 'compressed',
        session: { total_messages: 4, tokens_out: 70, transcript_count: 2 },
        ledger: { responses: 4, tokens_in: 400, tokens_out: 100 },
      });
    }
  });

  it('return when their replacement is deleted', async () => {
    const session = 'deleted';
    const versions = { first: toChat(session, [10]), second: toChat(session, [10, 20]) };
    await ingest(session, versions, ['first', 'second']);
    const { rows } = await installation.database.pool.query(
      `SELECT id FROM recount.transcripts WHERE session_id = $1 AND status = 'ingested'`,
      [session],
    );
    await deleteTranscript(installation, TEST_WORKSPACE, rows[0].id);
    await installation.work();
    expect(await readState(session, new Map())).toMatchObject({ ledger: { responses: 1, tokens_out: 10 } });
  });
});

describe('a session of Copilot CLI', () => {
  const event = (type: string, second: number, data: object) => JSON.stringify({ type, data, timestamp: at(second) });
  const toVersions = (session: string) => {
    const message = {
      model: 'claude-sonnet-4.6',
      apiCallId: `call-${session}-0000000000`,
      content: 'Here',
      outputTokens: 30,
    };
    const log = [
      event('session.start', 0, { sessionId: session, copilotVersion: '1.0.91', context: { cwd: '/home/ada/app' } }),
      event('user.message', 1, { content: 'Find the heron' }),
      event('assistant.message', 3, message),
    ];
    const row = {
      session_id: session,
      created_at: '2026-04-29 21:00:03',
      model: 'claude-sonnet-4.6',
      finish_reason: 'stop',
    };
    const tokens = { input_tokens: 5000, output_tokens: 30, cache_read_tokens: 1000, cache_write_tokens: 1000 };
    const store = [
      { recount: 'session', version: 1, agent: 'copilot', session, rowsSince: '2026-04-29 21:00:03' },
      { table: 'sessions', rowid: 1, row: { id: session, cwd: '/home/ada/app' } },
      ...log.map((line) => JSON.parse(line)),
      { table: 'assistant_usage_events', rowid: 1, row: { ...row, ...tokens } },
    ].map((line) => JSON.stringify(line));
    return { log: `${log.join('\n')}\n`, store: `${store.join('\n')}\n` };
  };

  it('counts once from log and store, in any order, with the store’s figures', async () => {
    for (const [number, order] of toOrders(['log', 'store']).entries()) {
      const session = `copilot-${number}`;
      expect(await ingest(session, toVersions(session), order)).toMatchObject({
        statuses: { log: 'superseded', store: 'ingested' },
        primary: 'store',
        session: { tokens_in: 3000, tokens_out: 30, output_only_count: 0, transcript_count: 1 },
        ledger: { responses: 1, tokens_in: 3000, tokens_out: 30 },
      });
    }
  });

  it('reports a truncated run, with only the output', async () => {
    const session = 'copilot-killed';
    expect(await ingest(session, toVersions(session), ['log'])).toMatchObject({
      session: { tokens_in: 0, tokens_out: 30, output_only_count: 1 },
    });
  });
});

const toLines = (lines: readonly object[]): string => lines.map((line) => `${JSON.stringify(line)}\n`).join('');

describe('a stream beside its session’s own file', () => {
  /** A Codex thread whose second prompt was another run of `codex exec`; its total includes the first run's. */
  const toThread = (session: string) => {
    const total = (input: number, cached: number, output: number) => ({
      ...{ input_tokens: input, cached_input_tokens: cached, output_tokens: output, reasoning_output_tokens: 0 },
      total_tokens: input + output,
    });
    const line = (second: number, type: string, payload: object) => ({ timestamp: at(second), type, payload });
    const count = (second: number, last: object, whole: object) =>
      line(second, 'event_msg', {
        ...{ type: 'token_count', info: { total_token_usage: whole, last_token_usage: last } },
      });
    const said = (second: number, turn: string) => [
      line(second, 'turn_context', { turn_id: turn, model: 'gpt-5', cwd: '/home/ada/app' }),
      line(second, 'response_item', {
        ...{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Here' }] },
      }),
    ];
    const rollout = [
      line(0, 'session_meta', { id: session, timestamp: at(0), cwd: '/home/ada/app', cli_version: '0.140.0' }),
      ...said(1, `${session}-turn-1`),
      count(2, total(100, 40, 5), total(100, 40, 5)),
      ...said(3, `${session}-turn-2`),
      count(4, total(200, 160, 9), total(300, 200, 14)),
    ];
    const run = (usage: object, text: string) => [
      { type: 'thread.started', thread_id: session },
      { type: 'item.completed', item: { id: 'item_0', type: 'agent_message', text } },
      { type: 'turn.completed', usage },
    ];
    return {
      first: toLines(run(total(100, 40, 5), 'Here, and that is longer than what the second run has to say')),
      resumed: toLines(run(total(300, 200, 14), 'Here')),
      rollout: toLines(rollout),
    };
  };

  it('counts once for Codex, in any order, with the rollout’s figures', async () => {
    for (const [number, order] of toOrders(['first', 'resumed', 'rollout']).entries()) {
      const session = `0199a213-81c0-7800-8aa1-00000000000${number}`;
      expect(await ingest(session, toThread(session), order)).toMatchObject({
        statuses: { first: 'superseded', resumed: 'superseded', rollout: 'ingested' },
        primary: 'rollout',
        session: { tokens_in: 100, tokens_out: 14, transcript_count: 1 },
        ledger: { responses: 2, tokens_in: 100, tokens_out: 14 },
      });
    }
  });

  it('counts once for Codex if two keys of one person uploaded both, and twice if the keys are not linked', async () => {
    const createKey = async (name: string, person: string | null): Promise<string> =>
      (
        await createApiKey(installation.database.database, {
          workspaceId: TEST_WORKSPACE,
          name,
          scopes: ['ingest'],
          person,
        })
      ).id;
    const laptop = await createKey('laptop', 'ada');
    const desktop = await createKey('desktop', 'ada');
    const ofBob = await createKey('bob', 'bob');
    const [unnamed, other] = [await createKey('one', null), await createKey('two', null)];
    let number = 20;
    for (const [stream, rollout, responses] of [
      [laptop, desktop, 2],
      [laptop, ofBob, 3],
      [unnamed, other, 3],
    ] as const) {
      for (const order of toOrders(['resumed', 'rollout'])) {
        const session = `0199a213-81c0-7800-8aa1-0000000000${number++}`;
        const { statuses, ledger } = await ingest(session, toThread(session), order, { resumed: stream, rollout });
        expect(statuses).toEqual({ resumed: responses === 2 ? 'superseded' : 'ingested', rollout: 'ingested' });
        expect(ledger).toMatchObject({ responses });
      }
    }
  });

  it('counts a thread of Codex once if it has only streams', async () => {
    for (const [number, order] of toOrders(['first', 'resumed']).entries()) {
      const session = `0199a213-81c0-7800-8aa1-00000000001${number}`;
      expect(await ingest(session, toThread(session), order)).toMatchObject({
        statuses: { first: 'ingested', resumed: 'ingested' },
        ledger: { responses: 1, tokens_in: 100, tokens_out: 14 },
      });
    }
  });

  it('counts once for opencode, in any order, with the store’s figures', async () => {
    const tokens = { total: 175, input: 10, output: 5, reasoning: 0, cache: { read: 100, write: 60 } };
    const toVersions = (session: string, created: number) => {
      const step = { type: 'step-finish', reason: 'stop', cost: 0.01, tokens };
      const info = {
        role: 'assistant',
        time: { created },
        modelID: 'claude-sonnet-4-5',
        providerID: 'anthropic',
        tokens,
      };
      const part = (second: number, type: string, value: object) => ({
        ...{ type, timestamp: Date.parse(at(second)), sessionID: session },
        part: { id: `prt_${session}_${second}`, sessionID: session, messageID: 'msg_1', ...value },
      });
      return {
        stream: toLines([
          part(1, 'step_start', { type: 'step-start' }),
          part(2, 'text', { type: 'text', text: 'Here' }),
          part(3, 'step_finish', step),
        ]),
        store: toLines([
          { recount: 'session', version: 1, agent: 'opencode', session },
          { table: 'session', rowid: 1, row: { id: session, directory: '/home/ada/app' } },
          {
            ...{ table: 'message', rowid: 1, row: { id: 'msg_1', session_id: session, data: JSON.stringify(info) } },
            children: [
              { table: 'part', rowid: 1, row: { id: 'prt_1', message_id: 'msg_1', data: JSON.stringify(step) } },
            ],
          },
        ]),
      };
    };
    for (const [number, order] of toOrders(['stream', 'store']).entries()) {
      const session = `ses_heron${number}`;
      expect(await ingest(session, toVersions(session, Date.parse(at(number))), order)).toMatchObject({
        statuses: { stream: 'superseded', store: 'ingested' },
        primary: 'store',
        session: { tokens_in: 10, tokens_out: 5, transcript_count: 1 },
        ledger: { responses: 1, tokens_in: 10, tokens_out: 5 },
      });
    }
  });
});

describe('a session of an agent that keeps no usage', () => {
  it('has unknown tokens and cost, rather than 0', async () => {
    const toLine = (role: string, text: string) =>
      JSON.stringify({ role, message: { content: [{ type: 'text', text }] } });
    const lines = [toLine('user', '<user_query>Find</user_query>'), toLine('assistant', 'Here')];
    const session = 'cursor-session';
    await installation.receive(`${lines.join('\n')}\n`, { sessionId: session, agent: 'cursor' });
    await installation.work();
    expect(await readState(session, new Map())).toMatchObject({
      session: { total_messages: 2, tokens_in: null, tokens_out: null, cost_estimate_usd: null },
    });
  });
});
