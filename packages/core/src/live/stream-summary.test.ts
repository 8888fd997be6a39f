import { describe, expect, it } from 'vitest';
import { toUsage } from '../agents/anthropic-api/usage.ts';
import { toUsageFields } from '../testing/transcript-lines.ts';
import {
  type AgentExit,
  addStreamTotals,
  createTokenAccumulator,
  type StreamSummary,
  toStreamOutcome,
} from './stream-summary.ts';

const summary: StreamSummary = {
  agentSessionId: 'a',
  model: 'claude-opus-4-8',
  tokens: { input: 1, output: 2, cacheRead: 3, cacheWrite: 4 },
  tokensCover: 'stream',
  reportedTokens: null,
  costUsd: 0.1,
  lastResult: null,
  stopReason: 'end_turn',
  lineCount: 5,
  warningCount: 0,
  lastActivityMs: 0,
};
const success = { success: true, error: null };
const failure = { success: false, error: 'error_max_turns' };
const exited = (exitCode: number, stderrTail?: string): AgentExit => ({ exitCode, signal: null, stderrTail });

describe('toStreamOutcome', () => {
  it('is success with exit code 0, also without a result', () => {
    const expected = { state: 'complete', success: true, aborted: false, error: null, stopReason: 'tool_use' };
    expect(toStreamOutcome({ lastResult: null, stopReason: 'tool_use' }, exited(0))).toEqual(expected);
    expect(toStreamOutcome({ lastResult: success, stopReason: 'tool_use' }, exited(0))).toEqual(expected);
  });

  it('is taken from the result if that is a failure', () => {
    expect(toStreamOutcome({ lastResult: failure, stopReason: null }, exited(0))).toMatchObject({
      state: 'error',
      success: false,
      error: 'The agent reported error_max_turns',
    });
  });

  it('includes the exit code, or the signal, and the end of stderr', () => {
    const outcome = (exit: AgentExit) => toStreamOutcome({ lastResult: success, stopReason: null }, exit);
    expect(outcome(exited(2, ' not logged in\n'))).toMatchObject({
      success: false,
      aborted: false,
      error: 'The agent exited with code 2: not logged in',
    });
    expect(outcome({ exitCode: null, signal: 'SIGKILL' })).toMatchObject({
      success: false,
      aborted: true,
      error: 'The agent was ended by SIGKILL',
    });
    expect(outcome({ exitCode: null, signal: 'SIGTERM' }).aborted).toBe(true);
    expect(outcome({ exitCode: 143, signal: null }).aborted).toBe(true);
    expect(outcome({ exitCode: null, signal: 'SIGSEGV' }).aborted).toBe(false);
  });

  it('is taken from result and stop reason if nothing is known of the process', () => {
    const isSuccess = (lastResult: StreamSummary['lastResult'], stopReason: string | null): boolean =>
      toStreamOutcome({ lastResult, stopReason }).success;
    expect(isSuccess(success, null)).toBe(true);
    expect(isSuccess(failure, 'end_turn')).toBe(false);
    expect(isSuccess(null, 'end_turn')).toBe(true);
    expect(isSuccess(null, 'tool_use')).toBe(false);
    expect(isSuccess(null, null)).toBe(false);
  });
});

describe('addStreamTotals', () => {
  const session = { tokens: { input: 10, output: 1, cacheRead: 0, cacheWrite: 0 }, costUsd: 0.2, model: null };

  it('adds to the session’s figures', () => {
    expect(addStreamTotals(session, summary)).toEqual({
      tokens: { input: 11, output: 3, cacheRead: 3, cacheWrite: 4 },
      costUsd: 0.3,
      model: 'claude-opus-4-8',
    });
    expect(addStreamTotals({ ...session, costUsd: null, model: 'first' }, { ...summary, costUsd: null })).toMatchObject(
      {
        costUsd: null,
        model: 'first',
      },
    );
  });

  it('does not add what is the session’s total already', () => {
    expect(addStreamTotals(session, { ...summary, tokensCover: 'session' }).tokens).toEqual({
      input: 10,
      output: 2,
      cacheRead: 3,
      cacheWrite: 4,
    });
  });
});

describe('createTokenAccumulator', () => {
  const usage = (output: number) => toUsage(toUsageFields(10, output), () => {});

  it('counts a response once, at the maximum over its lines, and each line without an id', () => {
    const tokens = createTokenAccumulator();
    for (const [id, output] of [
      ['a', 1],
      ['b', 5],
      ['a', 40],
      ['a', 7],
      [null, 2],
      [null, 2],
    ] as const) {
      tokens.add(id, usage(output));
    }
    expect(tokens.total).toMatchObject({ input: 40, output: 49 });
    expect(tokens.add('b', usage(1))).toMatchObject({ counts: { output: 5 }, isFirst: false });
  });
});
