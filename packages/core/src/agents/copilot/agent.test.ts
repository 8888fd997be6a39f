import { describe, expect, it } from 'vitest';
import { countTokens, listIssues, readTranscript, toJsonLines } from '../../testing/agent-transcripts.ts';

const at = (second: number) => new Date(Date.UTC(2026, 5, 24, 5, 0, second)).toISOString();
const id = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
let last = 0;
const event = (type: string, second: number, data: object) => ({
  type,
  data,
  id: id(++last),
  timestamp: at(second),
  parentId: last === 1 ? null : id(last - 1),
});
const context = { cwd: '/home/ada/app', branch: 'main', repository: 'ada/app', headCommit: 'c0ffee' };
const message = (second: number, number: number, model: string, outputTokens: number, more = {}) =>
  event('assistant.message', second, {
    messageId: id(1000 + number),
    apiCallId: `msg_0000000000000000000${number}`,
    model,
    content: 'Here',
    toolRequests: [],
    outputTokens,
    ...more,
  });
const metrics = (input: number, output: number, cacheRead: number, cacheWrite: number) => ({
  requests: { count: 1, cost: 1 },
  usage: { inputTokens: input, outputTokens: output, cacheReadTokens: cacheRead, cacheWriteTokens: cacheWrite },
});

const FIRST_RUN = [
  event('session.start', 0, {
    sessionId: id(999),
    version: 1,
    producer: 'copilot-agent',
    copilotVersion: '1.0.64',
    startTime: at(0),
    context,
  }),
  event('session.model_change', 1, { newModel: 'claude-sonnet-4.6' }),
  event('hook.start', 1, { hookType: 'userPromptSubmitted' }),
  event('user.message', 2, { content: 'Find the heron', transformedContent: '<now/>Find the heron', attachments: [] }),
  message(3, 1, 'claude-sonnet-4.6', 100, {
    reasoningText: 'Where?',
    toolRequests: [
      {
        toolCallId: 'toolu_0000000000000000000001',
        name: 'bash',
        arguments: '{"command":"git log"}',
        type: 'function',
      },
    ],
  }),
  event('tool.execution_start', 4, { toolCallId: 'toolu_0000000000000000000001', toolName: 'bash' }),
  event('tool.execution_complete', 6, {
    toolCallId: 'toolu_0000000000000000000001',
    success: true,
    result: { content: 'two lines' },
  }),
  message(7, 2, 'claude-haiku-4.5', 10, { parentToolCallId: 'toolu_0000000000000000000001' }),
  message(8, 3, 'claude-sonnet-4.6', 50),
];
const SHUTDOWN = event('session.shutdown', 9, {
  totalPremiumRequests: 2,
  totalNanoAiu: 5,
  modelMetrics: { 'claude-sonnet-4.6': metrics(5000, 160, 4000, 300), 'claude-haiku-4.5': metrics(700, 10, 0, 0) },
});
const SECOND_RUN = [
  event('session.resume', 20, { resumeTime: at(20), context: { ...context, branch: 'next' } }),
  event('user.message', 21, { content: 'And the egret?' }),
  message(22, 4, 'claude-sonnet-4.6', 30),
  event('session.compaction_complete', 23, { success: true, preCompactionTokens: 9000 }),
  event('session.shutdown', 24, { modelMetrics: { 'claude-sonnet-4.6': metrics(1000, 40, 900, 0) } }),
];
const ALL = [...FIRST_RUN, SHUTDOWN, ...SECOND_RUN];

/**
 * From the format's description alone. The totals at the end of each run cover everything, and input includes the
 * caches.
 */
function countIndependently(lines: readonly { type: string; data: object }[]) {
  const total = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
  for (const { type, data } of lines) {
    if (type !== 'session.shutdown') continue;
    const { modelMetrics } = data as { modelMetrics: Record<string, ReturnType<typeof metrics>> };
    for (const { usage } of Object.values(modelMetrics)) {
      total.input += usage.inputTokens - usage.cacheReadTokens - usage.cacheWriteTokens;
      total.output += usage.outputTokens;
      total.cacheRead += usage.cacheReadTokens;
      total.cacheWrite += usage.cacheWriteTokens;
    }
  }
  return total;
}

describe('Copilot CLI', () => {
  it('adds the totals of each run, minus the output that its messages already counted', async () => {
    const read = await readTranscript(toJsonLines(ALL), '/h/.copilot/session-state/x/events.jsonl');
    expect(listIssues(read)).toEqual([]);
    expect(read.identity).toMatchObject({ agent: 'copilot', sessionId: id(999) });
    const { responses, ...tokens } = countTokens(read);
    expect(tokens).toEqual(countIndependently(ALL));
    expect(responses).toBe(4 + 3);
    const { input, output, cacheRead, cacheWrite } = tokens;
    expect(read.metadata).toMatchObject({
      repository: 'ada/app',
      commitHash: 'c0ffee',
      cwd: '/home/ada/app',
      gitBranch: 'main',
      version: '1.0.64',
      reportedTotals: {
        cost_usd: null,
        tokens_in: input,
        tokens_out: output,
        cache_read: cacheRead,
        cache_write: cacheWrite,
      },
    });
    expect(read.stats).toMatchObject({ prompt_count: 2, initial_prompt: 'Find the heron', thinking_blocks: 1 });
    expect(read.toolCalls).toMatchObject([
      { tool_kind: 'shell', program: 'git', is_error: false, output_bytes: 9, duration_ms: 3000 },
    ]);
    expect(read.events.map(({ kind }) => kind)).toEqual(['prompt', 'turn', 'prompt', 'compaction', 'turn']);
    expect(read.messages.filter(({ is_sidechain }) => is_sidechain)).toHaveLength(1);
  });

  it('has only the output of a run that has not ended', async () => {
    const read = await readTranscript(toJsonLines(FIRST_RUN));
    expect(countTokens(read)).toEqual({ responses: 3, input: 0, output: 160, cacheRead: 0, cacheWrite: 0 });
    expect(read.messages.filter(({ metadata }) => metadata.usage_is_output_only)).toHaveLength(3);
    expect(read.stats.output_only_count).toBe(3);
  });

  it('reports a killed run, whatever came after it, and no run that ended', async () => {
    const countOutputOnly = async (...lines: object[]) => {
      const { stats } = await readTranscript(toJsonLines(lines));
      return stats.output_only_count;
    };
    expect(await countOutputOnly(...ALL)).toBe(0);
    expect(await countOutputOnly(...FIRST_RUN, ...SECOND_RUN)).toBe(3);
    expect(await countOutputOnly(...FIRST_RUN, SHUTDOWN, ...SECOND_RUN.slice(0, 3))).toBe(1);
  });

  it('counts a total that is written twice in one run once', async () => {
    const again = { ...SHUTDOWN, id: id(5000), timestamp: at(10) };
    const { responses: _, ...tokens } = countTokens(await readTranscript(toJsonLines([...FIRST_RUN, SHUTDOWN, again])));
    expect(tokens).toEqual(countIndependently([SHUTDOWN]));
  });

  it('reports unknown lines as issues', async () => {
    expect(listIssues(await readTranscript(toJsonLines([FIRST_RUN[0], event('heron.seen', 1, {})])))).toEqual([
      'unknown_line_type:2',
    ]);
  });
});

describe('Copilot CLI from 1.0.65 to 1.0.92', () => {
  const resume = (second: number) => event('session.resume', second, { resumeTime: at(second) });
  const shutdown = (second: number, more: object, ...figures: Parameters<typeof metrics>) =>
    event('session.shutdown', second, { modelMetrics: { fable: { ...metrics(...figures), ...more } } });
  const requests = (count: number) => ({ requests: { count, cost: 0 } });
  const tokensOf = async (...lines: object[]) => {
    const { responses: _, ...tokens } = countTokens(await readTranscript(toJsonLines(lines)));
    return tokens;
  };

  it('continues the total before, as the output of the messages shows', async () => {
    const lines = [message(1, 1, 'fable', 100), shutdown(2, {}, 1000, 100, 700, 50), resume(3)];
    const second = [message(4, 2, 'fable', 20), shutdown(5, {}, 1500, 120, 900, 60)];
    expect(await tokensOf(FIRST_RUN[0] as object, ...lines, ...second)).toEqual({
      ...{ input: 540, output: 120, cacheRead: 900, cacheWrite: 60 },
    });
  });

  it('continues the total before, as the number of requests shows if messages have no output', async () => {
    const answer = (second: number, number: number) => message(second, number, 'fable', 0);
    const first = [answer(1, 1), shutdown(2, requests(1), 1000, 100, 700, 50), resume(3), answer(4, 2)];
    expect(await tokensOf(...first, shutdown(5, requests(2), 1500, 120, 900, 60))).toMatchObject({ output: 120 });
    // A larger second run, whose total begins at 0.
    expect(await tokensOf(...first, shutdown(5, requests(1), 1500, 120, 900, 60))).toMatchObject({ output: 220 });
  });

  it('begins at 0 in a larger second run, if the total has no room for the first', async () => {
    const first = [message(1, 1, 'fable', 100), shutdown(2, {}, 1000, 100, 700, 50), resume(3)];
    const second = [message(4, 2, 'fable', 120), shutdown(5, {}, 1500, 120, 900, 60)];
    expect(await tokensOf(...first, ...second)).toEqual({
      ...{ input: 790, output: 220, cacheRead: 1600, cacheWrite: 110 },
    });
  });
});

describe('Copilot CLI with usage records', () => {
  const KEY = (number: number) => `msg_0000000000000000000${number}`;
  const record = (second: number, number: number, more: object = {}) =>
    event('session.usage_record', second, {
      usage: {
        ...{
          model: 'fable',
          inputTokens: 1000,
          outputTokens: 70 + number,
          cacheReadTokens: 600,
          cacheWriteTokens: 300,
        },
        ...{ cost: 0, apiCallId: KEY(number), accounting: { sequence: number, usageId: KEY(number) } },
        ...more,
      },
    });
  const answer = (second: number, number: number, more: object = {}) =>
    event('assistant.message', second, {
      ...{ messageId: id(1000 + number), apiCallId: KEY(number), model: 'fable', content: 'Here', ...more },
    });
  const shutdown = (second: number, ...figures: Parameters<typeof metrics>) =>
    event('session.shutdown', second, {
      ...{ modelMetrics: { fable: metrics(...figures) }, usageAccountingWatermarks: { [id(999)]: 1 } },
    });
  const resume = (second: number) => event('session.resume', second, { resumeTime: at(second) });
  const START = event('session.start', 0, { sessionId: id(999), copilotVersion: '1.0.102', context });
  const TWO = { responses: 2, input: 200, output: 143, cacheRead: 1200, cacheWrite: 600 };
  const read = (...lines: object[]) => readTranscript(toJsonLines([START, ...lines]));

  it('counts each request once, with totals that continue over resumed runs', async () => {
    const first = [record(1, 1), answer(2, 1), shutdown(3, 1000, 71, 600, 300)];
    const all = await read(...first, resume(4), record(5, 2), answer(6, 2), shutdown(7, 2000, 143, 1200, 600));
    expect(listIssues(all)).toEqual([]);
    expect(countTokens(all)).toEqual(TWO);
    expect(all.stats.output_only_count).toBe(0);
    expect(all.messages.map(({ tokens_in, tokens_out }) => [tokens_in, tokens_out])).toEqual([
      ...[
        [100, 71],
        [100, 72],
      ],
    ]);
    expect(all.metadata.reportedTotals).toMatchObject({ tokens_in: 200, tokens_out: 143, cache_read: 1200 });
  });

  it('counts the output of a message and its record once, whichever comes first, and all parts of an answer', async () => {
    const first = [answer(1, 1, { outputTokens: 71 }), record(2, 1), answer(2, 1, { chunkIndex: 1 })];
    const second = [
      record(3, 2),
      answer(4, 2, { outputTokens: 72 }),
      answer(5, 2, { chunkIndex: 1, outputTokens: 72 }),
    ];
    const all = await read(...first, ...second, record(5, 2), shutdown(7, 2000, 143, 1200, 600));
    expect(listIssues(all)).toEqual([]);
    expect(countTokens(all)).toEqual(TWO);
    expect(all.messages).toHaveLength(2);
  });

  it('has everything of a killed run, which the total of the next one contains', async () => {
    const killed = [record(1, 1), answer(2, 1), record(3, 2)];
    const alone = await read(...killed);
    expect(countTokens(alone)).toEqual(TWO);
    expect(alone.stats.output_only_count).toBe(0);
    const all = await read(...killed, resume(4), record(5, 3), answer(6, 3), shutdown(7, 3000, 216, 1800, 900));
    expect(listIssues(all)).toEqual([]);
    expect(countTokens(all)).toMatchObject({ responses: 3, output: 216, cacheRead: 1800 });
  });

  it('counts what a total has beyond the records, and says so if no message lacks one', async () => {
    const lacking = await read(record(1, 1), answer(2, 1), answer(3, 2), shutdown(7, 2000, 143, 1200, 600));
    expect(countTokens(lacking)).toMatchObject({ output: 143, cacheRead: 1200 });
    expect(listIssues(lacking)).toEqual([]);
    const unexplained = await read(record(1, 1), answer(2, 1), shutdown(7, 1000, 90, 600, 300));
    expect(countTokens(unexplained)).toMatchObject({ output: 90 });
    expect(unexplained.warnings).toMatchObject([
      { code: 'total_mismatch', error: 'Output tokens of session.shutdown: 90 stated, 71 counted' },
    ]);
    const smaller = await read(record(1, 1), answer(2, 1), shutdown(7, 1000, 60, 600, 300));
    expect(countTokens(smaller)).toMatchObject({ output: 71 });
    expect(smaller.warnings).toMatchObject([
      { code: 'total_mismatch', error: 'Output tokens of session.shutdown: 60 stated, 71 counted' },
    ]);
  });

  it('knows the messages of sub-agents, whose model differs from the session’s', async () => {
    const agentId = id(7);
    const call = { toolCallId: 'toolu_1', name: 'task', arguments: { agent_type: 'explore' }, type: 'function' };
    const all = await read(
      record(1, 1),
      answer(1, 1, { toolRequests: [call] }),
      { ...event('subagent.started', 2, { toolCallId: 'toolu_1' }), agentId },
      { ...event('session.model_change', 2, { newModel: 'small' }), agentId },
      { ...event('user.message', 2, { content: 'Look', source: `agent-${id(999)}` }), agentId },
      { ...record(3, 2, { model: 'small', parentToolCallId: 'toolu_1' }), agentId },
      { ...answer(3, 2, { model: 'small', parentToolCallId: 'toolu_1' }), agentId },
      answer(4, 3, { model: undefined }),
    );
    expect(all.messages.map(({ is_sidechain, model }) => [is_sidechain, model])).toEqual([
      ...[
        [false, 'fable'],
        [true, null],
        [true, 'small'],
      ],
      [false, null],
    ]);
    expect(all.apiResponses.map(({ is_subagent }) => is_subagent)).toEqual([false, true]);
    expect(all.stats.prompt_count).toBe(0);
  });

  it('counts a compaction, which is in no total, once', async () => {
    const used = { inputTokens: 5000, outputTokens: 80, cacheReadTokens: 4000, cacheWriteTokens: 0, model: 'fable' };
    const compaction = (more: object) =>
      event('session.compaction_complete', 4, {
        ...{ success: true, summaryContent: 'The heron was found.', compactionTokensUsed: used, ...more },
      });
    const first = [record(1, 1), answer(2, 1)];
    const all = await read(...first, compaction({}), shutdown(7, 1000, 71, 600, 300));
    expect(listIssues(all)).toEqual([]);
    expect(countTokens(all)).toEqual({ responses: 2, input: 1100, output: 151, cacheRead: 4600, cacheWrite: 300 });
    expect(all.messages.map(({ message_type }) => message_type)).toContain('summary');
    // Some versions write a record of it, which the total contains.
    const own = record(3, 9, { ...used, apiCallId: KEY(9), serviceRequestId: 'request-9' });
    const recorded = await read(...first, own, compaction({ serviceRequestId: 'request-9' }));
    expect(countTokens(recorded)).toEqual(countTokens(all));
    const counted = await read(...first, compaction({}), shutdown(7, 6000, 151, 4600, 300));
    expect(countTokens(counted)).toEqual(countTokens(all));
  });
});

describe('a total that names models which messages did not', () => {
  const answer = (second: number, number: number, outputTokens: number) =>
    event('assistant.message', second, { messageId: id(1000 + number), content: 'Here', outputTokens });
  const shutdown = (second: number, modelMetrics: object) => event('session.shutdown', second, { modelMetrics });

  it('contains their output, and names them', async () => {
    const read = await readTranscript(
      toJsonLines([answer(1, 1, 100), answer(2, 2, 87), shutdown(3, { fable: metrics(5000, 187, 4000, 0) })]),
    );
    expect(listIssues(read)).toEqual([]);
    expect(countTokens(read)).toEqual({ responses: 3, input: 1000, output: 187, cacheRead: 4000, cacheWrite: 0 });
    expect(read.apiResponses.map(({ model }) => model)).toEqual(['fable', 'fable', 'fable']);
    expect(read.messages.map(({ model }) => model)).toEqual(['fable', 'fable']);
  });

  it('contains it among several models, and names the fitting one', async () => {
    const models = { small: metrics(900, 20, 0, 0), fable: metrics(5000, 187, 4000, 0) };
    const fits = await readTranscript(toJsonLines([answer(1, 1, 187), shutdown(3, models)]));
    expect(countTokens(fits)).toMatchObject({ output: 207 });
    expect(fits.messages.map(({ model }) => model)).toEqual(['fable']);
    const open = await readTranscript(toJsonLines([answer(1, 1, 150), shutdown(3, models)]));
    expect(countTokens(open)).toMatchObject({ output: 207 });
    expect(open.messages.map(({ model }) => model)).toEqual(['unknown']);
  });

  it('contains the output of messages that name another model', async () => {
    const other = message(1, 1, 'auto', 187);
    const read = await readTranscript(toJsonLines([other, shutdown(3, { fable: metrics(5000, 187, 4000, 0) })]));
    expect(countTokens(read)).toMatchObject({ output: 187 });
  });

  it('is reported if messages have more output', async () => {
    const read = await readTranscript(
      toJsonLines([answer(1, 1, 187), shutdown(3, { fable: metrics(5000, 100, 0, 0) })]),
    );
    expect(read.warnings).toMatchObject([
      { code: 'total_mismatch', error: 'Output tokens of session.shutdown: 100 stated, 187 counted' },
    ]);
  });
});

describe('what Copilot CLI writes besides', () => {
  it('is shown if it has a text', async () => {
    const read = await readTranscript(
      toJsonLines([
        event('session.error', 1, { errorType: 'query', statusCode: 400, message: 'The model is not to be had' }),
        event('session.compaction_complete', 2, { success: false, error: 'No answer came' }),
        event('tool.user_requested', 3, { toolCallId: 'u-1', toolName: 'bash', arguments: { command: 'ls' } }),
        event('session.handoff', 4, { summary: 'What was done' }),
      ]),
    );
    expect(listIssues(read)).toEqual([]);
    expect(read.contentBlocks.map(({ content_text }) => content_text)).toEqual([
      ...['The model is not to be had', 'No answer came', 'bash {"command":"ls"}', 'What was done'],
    ]);
    expect(read.events.map(({ kind, name }) => [kind, name])).toEqual([
      ['api_error', '400'],
      ['compaction', null],
    ]);
  });

  it('is reported if the type is unknown, or a type that is not read holds something new', async () => {
    const read = await readTranscript(
      toJsonLines([
        event('session.usage_novelty', 1, { usage: { inputTokens: 3 }, text: 'Hm' }),
        event('subagent.completed', 2, { totalTokens: 5, agentDescription: 'Looks for a heron' }),
        event('subagent.completed', 3, { usage: { outputTokens: 5 } }),
        event('hook.end', 4, { output: { text: 'What the hook said' } }),
        event('hook.end', 4, { usage: { outputTokens: 5 } }),
      ]),
    );
    expect(read.notices.map(({ error, lineNumber }) => [lineNumber, error])).toEqual([
      [1, 'Unknown line type: session.usage_novelty'],
      [1, 'Usage that is not counted, in lines of type session.usage_novelty'],
      [1, 'Text that is not shown, in lines of type session.usage_novelty'],
      [3, 'Usage that is not counted, in lines of type subagent.completed'],
      [5, 'Usage that is not counted, in lines of type hook.end'],
    ]);
  });
});

describe('a session with its rows of session-store.db', () => {
  const header = { recount: 'session', version: 1, agent: 'copilot', session: id(999), rowsSince: at(2) };
  const row = (rowid: number, second: number, counts: object) => ({
    ...{ table: 'assistant_usage_events', rowid },
    row: { session_id: id(999), model: 'fable', created_at: at(second), ...counts },
  });
  const counts = (output_tokens: number) => ({
    ...{ input_tokens: 1000, output_tokens, cache_read_tokens: 600, cache_write_tokens: 300 },
  });
  const pair = (second: number, number: number) => {
    const apiCallId = `msg_0000000000000000000${number}`;
    const tokens = { inputTokens: 1000, outputTokens: 70 + number, cacheReadTokens: 600, cacheWriteTokens: 300 };
    return [
      event('session.usage_record', second, { usage: { model: 'fable', ...tokens, apiCallId } }),
      event('assistant.message', second, { messageId: id(number), apiCallId, model: 'fable', content: 'Here' }),
    ];
  };
  const read = (...lines: object[]) => readTranscript(toJsonLines([header, ...lines]));

  it('counts each request once, also those that only one of the two has', async () => {
    const all = await read(
      ...pair(1, 1),
      row(1, 2, counts(71)),
      row(2, 3, counts(72)),
      ...pair(4, 2),
      row(3, 5, counts(80)),
      ...pair(6, 3),
    );
    expect(all.identity).toMatchObject({ format: 'copilot-session' });
    expect(listIssues(all)).toEqual([]);
    expect(countTokens(all)).toEqual({ responses: 4, input: 400, output: 296, cacheRead: 2400, cacheWrite: 1200 });
  });

  it('takes the rows alone where events state only the output', async () => {
    const spoken = event('assistant.message', 3, {
      messageId: id(1),
      model: 'fable',
      content: 'Here',
      outputTokens: 71,
    });
    const all = await read(spoken, row(1, 3, counts(71)));
    expect(countTokens(all)).toEqual({ responses: 1, input: 100, output: 71, cacheRead: 600, cacheWrite: 300 });
  });
});

describe('models that only the total names', () => {
  const unnamed = (second: number, number: number, outputTokens: number) =>
    event('assistant.message', second, {
      messageId: id(2000 + number),
      content: 'Here',
      toolRequests: [],
      outputTokens,
    });
  const start = event('session.start', 0, { sessionId: id(998), copilotVersion: '1.0.12', context });
  const modelsOf = async (...lines: object[]) => {
    const read = await readTranscript(toJsonLines([start, ...lines]), '.copilot/session-state/c/events.jsonl');
    expect(listIssues(read)).toEqual([]);
    return read.apiResponses.map(({ model, tokens_out }) => `${model} ${tokens_out}`).toSorted();
  };

  it('name the messages of two models, if their output fits in one way', async () => {
    const end = event('session.shutdown', 9, {
      modelMetrics: {
        'claude-sonnet-4.6': metrics(40_503, 187, 31_836, 0),
        'claude-haiku-4.5': metrics(1000, 80, 0, 0),
      },
    });
    expect(await modelsOf(unnamed(1, 1, 50), unnamed(2, 2, 187), unnamed(3, 3, 30), end)).toEqual([
      'claude-haiku-4.5 0',
      'claude-haiku-4.5 30',
      'claude-haiku-4.5 50',
      'claude-sonnet-4.6 0',
      'claude-sonnet-4.6 187',
    ]);
    expect(await modelsOf(unnamed(1, 4, 100), unnamed(2, 5, 100), unnamed(3, 6, 67), end)).toContain('unknown 67');
  });

  it('name a compaction', async () => {
    const compaction = event('session.compaction_complete', 2, {
      success: true,
      compactionTokensUsed: { input: 176_397, output: 1807, cachedInput: 0 },
    });
    const end = event('session.shutdown', 9, { modelMetrics: { 'claude-haiku-4.5': metrics(5000, 100, 4000, 0) } });
    expect(await modelsOf(unnamed(1, 7, 100), compaction, end)).toEqual([
      'claude-haiku-4.5 0',
      'claude-haiku-4.5 100',
      'claude-haiku-4.5 1807',
    ]);
  });
});
