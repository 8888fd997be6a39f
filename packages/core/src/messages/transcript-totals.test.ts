import { describe, expect, it } from 'vitest';
import { createTranscriptTotals } from './transcript-totals.ts';

const none = { tokens_in: null, tokens_out: null, cache_read: null, cache_write: null, cost_usd: null };

describe('createTranscriptTotals', () => {
  it('is all zero in the beginning', () => {
    expect(createTranscriptTotals().toStats(null, 0)).toEqual({
      total_messages: 0,
      user_messages: 0,
      assistant_messages: 0,
      tool_use_count: 0,
      thinking_blocks: 0,
      subagent_count: 0,
      tokens_in: 0,
      tokens_out: 0,
      cache_read: 0,
      cache_write: 0,
      cost_estimate_usd: 0,
      duration_ms: 0,
      initial_prompt: null,
    });
  });

  it('counts sub-agents by the names Task and Agent of tool uses', () => {
    const totals = createTranscriptTotals();
    for (const tool_name of ['Task', 'Agent', 'task', 'AgentOutput', 'Bash', null]) {
      totals.addBlock({ block_type: 'tool_use', tool_name });
    }
    totals.addBlock({ block_type: 'server_tool_use', tool_name: 'Task' });
    totals.addBlock({ block_type: 'thinking', tool_name: null });
    totals.addBlock({ block_type: 'redacted_thinking', tool_name: null });
    expect(totals.toStats('p', 9)).toMatchObject({
      tool_use_count: 6,
      subagent_count: 2,
      thinking_blocks: 2,
      duration_ms: 9,
      initial_prompt: 'p',
    });
  });

  it('replaces the usage of a message instead of adding to it', () => {
    const totals = createTranscriptTotals();
    const first = { tokens_in: 10, tokens_out: 1, cache_read: 2, cache_write: 3, cost_usd: 0.1 };
    const final = { tokens_in: 10, tokens_out: 50, cache_read: 2, cache_write: 3, cost_usd: 0.7 };
    totals.replaceUsage(none, first);
    totals.replaceUsage(first, final);
    expect(totals.toStats(null, 0)).toMatchObject({
      tokens_in: 10,
      tokens_out: 50,
      cache_read: 2,
      cache_write: 3,
      cost_estimate_usd: 0.7,
    });
  });

  it('adds dollars without the errors of binary fractions', () => {
    const totals = createTranscriptTotals();
    for (let index = 0; index < 1000; index++) totals.replaceUsage(none, { ...none, cost_usd: 0.1 });
    expect(totals.toStats(null, 0).cost_estimate_usd).toBe(100);
  });
});
