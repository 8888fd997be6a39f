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
 * From the format's description alone: the totals at the end of each run cover everything, and input includes the
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
    expect(read.events.map(({ kind }) => kind)).toEqual(['prompt', 'prompt', 'compaction']);
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
