import { describe, expect, it } from 'vitest';
import type { AgentExit } from './live-event.ts';
import { toStreamOutcome } from './stream-outcome.ts';
import type { StreamSummary } from './stream-summary.ts';

const success = { success: true, error: null };
const failure = { success: false, error: 'error_max_turns' };
const exited = (exitCode: number, stderrTail?: string): AgentExit => ({ exitCode, signal: null, stderrTail });

describe('toStreamOutcome', () => {
  it('is success with exit code 0, also without a result', () => {
    const expected = { state: 'complete', success: true, aborted: false, error: null, stopReason: 'tool_use' };
    expect(toStreamOutcome({ lastResult: null, stopReason: 'tool_use' }, exited(0))).toEqual(expected);
    expect(toStreamOutcome({ lastResult: success, stopReason: 'tool_use' }, exited(0))).toEqual(expected);
  });

  it('comes from the result if that is a failure', () => {
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

  it('comes from result and stop reason if there is no process', () => {
    const isSuccess = (lastResult: StreamSummary['lastResult'], stopReason: string | null): boolean =>
      toStreamOutcome({ lastResult, stopReason }).success;
    expect(isSuccess(success, null)).toBe(true);
    expect(isSuccess(failure, 'end_turn')).toBe(false);
    expect(isSuccess(null, 'end_turn')).toBe(true);
    expect(isSuccess(null, 'tool_use')).toBe(false);
    expect(isSuccess(null, null)).toBe(false);
  });
});
