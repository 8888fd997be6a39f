import { describe, expect, it } from 'vitest';
import { toUsage } from '../agents/anthropic-api/usage.ts';
import type { ApiResponse } from '../records/rows.ts';
import { only } from '../testing/transcript-lines.ts';
import { createOpenResponse, priceResponse, toApiResponses } from './open-response.ts';
import { flatDefaultPrices } from './price-table.ts';
import { TranscriptTotals } from './transcript-totals.ts';

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
    turnLine: 0,
    isSubagent: false,
    gitBranch: null,
    agentVersion: null,
    isMarkedCopy: false,
    isSynthetic: false,
  });
  open.usage = toUsage({}, () => undefined);
  return { ...only(toApiResponses(open, priceResponse(open, flatDefaultPrices), flatDefaultPrices)), ...fields };
}

describe('TranscriptTotals', () => {
  it('is all zero at the beginning', () => {
    expect(new TranscriptTotals().toStats(null, 0)).toEqual({
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
      output_only_count: 0,
      unfinalised_count: 0,
      unpriced_count: 0,
      web_search_count: 0,
      prompt_count: 0,
      turn_count: 0,
      duration_ms: 0,
      initial_prompt: null,
    });
  });

  it('counts sub-agents by the kind of the tool that starts them', () => {
    const totals = new TranscriptTotals();
    for (const kind of ['agent', 'agent', 'other', 'plan', 'shell', undefined] as const) {
      totals.addBlock({ block_type: 'tool_use' }, kind);
    }
    totals.addBlock({ block_type: 'server_tool_use' }, 'agent');
    totals.addBlock({ block_type: 'thinking' });
    totals.addBlock({ block_type: 'redacted_thinking' });
    expect(totals.toStats('p', 9)).toMatchObject({
      tool_use_count: 6,
      subagent_count: 2,
      thinking_blocks: 2,
      duration_ms: 9,
      initial_prompt: 'p',
    });
  });

  it('sums responses, and counts the inexact ones', () => {
    const totals = new TranscriptTotals();
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

  it('sums dollars without binary rounding errors', () => {
    const totals = new TranscriptTotals();
    for (let index = 0; index < 1000; index++) totals.addResponse(response({ cost_usd: 0.1 }));
    expect(totals.toStats(null, 0).cost_estimate_usd).toBe(100);
  });

  it('has no cost if no response has a price, otherwise the sum of those that have', () => {
    const unpriced = response({ price_basis: 'unpriced', cost_usd: null });
    const totals = new TranscriptTotals();
    totals.addResponse(unpriced);
    totals.addResponse(unpriced);
    expect(totals.toExactCost()).toBeNull();
    expect(totals.toStats(null, 0)).toMatchObject({
      cost_estimate_usd: null,
      api_response_count: 2,
      unpriced_count: 2,
    });
    totals.addResponse(response({ cost_usd: 0 }));
    expect(totals.toStats(null, 0)).toMatchObject({ cost_estimate_usd: 0, unpriced_count: 2 });
  });

  it('stays exact beyond the range of a number, and reports an implausible total', () => {
    const totals = new TranscriptTotals();
    totals.addResponse(response({ cost_usd: 0.0000000001, web_search_requests: 2 ** 31 - 1 }));
    for (let count = 0; count < 3; count++) totals.addResponse(response({ cost_usd: 900_000 }));
    expect(totals.toExactCost()).toBe('2700000.0000000001');
    expect(totals.listImplausible()).toEqual([]);
    totals.addResponse(response({ cost_usd: 1e10 - 2_700_000, web_search_requests: 1 }));
    expect(totals.listImplausible()).toEqual(['cost_estimate_usd', 'web_search_count']);
    expect(totals.toStats(null, 0)).toMatchObject({ cost_estimate_usd: null, web_search_count: 2 ** 31 - 1 });
  });

  it('counts a turn for each prompt that is answered before the next', () => {
    const totals = new TranscriptTotals();
    totals.addAnswer();
    totals.addPrompt();
    totals.addPrompt();
    totals.addAnswer();
    totals.addAnswer();
    totals.addPrompt();
    expect(totals.toStats(null, 0)).toMatchObject({ prompt_count: 3, turn_count: 1 });
  });
});
