import { describe, expect, it } from 'vitest';
import { flatDefaultPrices } from '../pricing/flat-default-prices.ts';
import type { ApiResponse } from '../rows.ts';
import { only } from '../testing/transcript-lines.ts';
import { createOpenResponse, toApiResponses } from '../usage/open-response.ts';
import { toUsage } from '../usage/usage.ts';
import { createTranscriptTotals } from './transcript-totals.ts';

function response(fields: Partial<ApiResponse>): ApiResponse {
  const facts = {
    provider_message_id: 'm',
    request_id: null,
    model: null,
    timestamp: null,
    agent_id: null,
    stop_reason: null,
    line_number: 1,
  };
  const open = createOpenResponse({
    key: 'k',
    source: 'message',
    sessionId: 's',
    messageRowId: null,
    facts,
    isSubagent: false,
    gitBranch: null,
    agentVersion: null,
    isMarkedCopy: false,
  });
  open.usage = toUsage({}, () => undefined);
  return { ...only(toApiResponses(open, flatDefaultPrices)), ...fields };
}

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
      api_response_count: 0,
      unfinalised_count: 0,
      unpriced_count: 0,
      web_search_count: 0,
      prompt_count: 0,
      turn_count: 0,
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

  it('adds up responses, and counts those that are not what they seem', () => {
    const totals = createTranscriptTotals();
    totals.addResponse(response({ tokens_in: 10, tokens_out: 1, cache_read: 2, cache_write: 3, cost_usd: 0.1 }));
    totals.addResponse(response({ is_unfinalised: true, web_search_requests: 2, estimated_tokens_out: 900 }));
    totals.addResponse(response({ tokens_in: 5, price_basis: 'unpriced', cost_usd: null }));
    expect(totals.toStats(null, 0)).toMatchObject({
      tokens_in: 15,
      tokens_out: 1,
      cache_read: 2,
      cache_write: 3,
      cost_estimate_usd: 0.1,
      api_response_count: 3,
      unfinalised_count: 1,
      unpriced_count: 1,
      web_search_count: 2,
    });
  });

  it('adds dollars without the errors of binary fractions', () => {
    const totals = createTranscriptTotals();
    for (let index = 0; index < 1000; index++) totals.addResponse(response({ cost_usd: 0.1 }));
    expect(totals.toStats(null, 0).cost_estimate_usd).toBe(100);
  });

  it('counts a turn for a prompt that is answered before the next', () => {
    const totals = createTranscriptTotals();
    totals.addAnswer();
    totals.addPrompt();
    totals.addPrompt();
    totals.addAnswer();
    totals.addAnswer();
    totals.addPrompt();
    expect(totals.toStats(null, 0)).toMatchObject({ prompt_count: 3, turn_count: 1 });
  });
});
