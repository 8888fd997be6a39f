import { describe, expect, it } from 'vitest';
import { findBillVendor, toBilledModel } from './billed-usage.ts';
import { readBill } from './read-bill.ts';

const sum = (rows: readonly { amountUsd: number | null }[]): number =>
  rows.reduce((total, { amountUsd }) => total + (amountUsd ?? 0), 0);
const read = (vendor: Parameters<typeof readBill>[0], value: unknown) => readBill(vendor, JSON.stringify(value));

describe('readBill', () => {
  it('reads Anthropic’s costs in cents, by description', () => {
    const result = {
      currency: 'USD',
      amount: '123.45',
      workspace_id: 'wrkspc_1',
      description: 'Claude Opus 5.5 Usage - Input Tokens',
      cost_type: 'tokens',
      context_window: '0-200k',
      model: 'claude-opus-5-5-20261101',
      service_tier: 'batch',
      token_type: 'uncached_input_tokens',
    };
    const bucket = { starting_at: '2026-11-01T00:00:00Z', ending_at: '2026-11-02T00:00:00Z', results: [result] };
    expect(read('anthropic', { data: [bucket], has_more: false, next_page: null })).toMatchObject([
      {
        day: '2026-11-01',
        kind: 'cost',
        model: result.model,
        serviceTier: 'batch',
        amountUsd: 1.2345,
        inputTokens: null,
      },
    ]);
  });

  it('knows Anthropic’s default workspace, which has no id, by the others of an answer', () => {
    const toLine = (workspace_id: string | null) => ({ amount: '5', currency: 'USD', description: 'a', workspace_id });
    const toBill = (...ids: (string | null)[]) =>
      read('anthropic', { data: [{ starting_at: '2026-11-01T00:00:00Z', results: ids.map(toLine) }] });
    expect(toBill(null, 'wrkspc_1').map(({ scope }) => scope)).toEqual(['default', 'wrkspc_1']);
    expect(toBill(null).map(({ scope }) => scope)).toEqual([null]);
  });

  it('reads Anthropic’s tokens', () => {
    const result = {
      uncached_input_tokens: 1500,
      cache_creation: { ephemeral_1h_input_tokens: 1000, ephemeral_5m_input_tokens: 500 },
      cache_read_input_tokens: 200,
      output_tokens: 50,
      model: 'claude-opus-5-5',
    };
    expect(read('anthropic', { data: [{ starting_at: '2026-11-01T00:00:00Z', results: [result] }] })).toMatchObject([
      {
        kind: 'usage',
        amountUsd: null,
        inputTokens: 1500,
        cacheWriteTokens: 1500,
        cacheReadTokens: 200,
        outputTokens: 50,
      },
    ]);
  });

  it('counts Anthropic’s tokens once, whether by context window, by region or as a whole', () => {
    const toResult = (input: number, more: object) => ({
      ...{
        uncached_input_tokens: input,
        cache_creation: { ephemeral_1h_input_tokens: 0, ephemeral_5m_input_tokens: input * 2 },
      },
      ...{ cache_read_input_tokens: input * 3, output_tokens: input * 4, server_tool_use: { web_search_requests: 0 } },
      ...{ api_key_id: null, workspace_id: 'wrkspc_1', model: 'claude-opus-5-5', service_tier: 'standard' },
      ...{ context_window: null, inference_geo: null, ...more },
    });
    const page = (...results: object[]) => ({
      data: [{ starting_at: '2026-11-01T00:00:00Z', ending_at: '2026-11-02T00:00:00Z', results }],
      ...{ has_more: false, next_page: null },
    });
    const whole = page(toResult(100, {}));
    const windows = page(toResult(40, { context_window: '0-200k' }), toResult(60, { context_window: '200k-1M' }));
    const regions = page(toResult(30, { inference_geo: 'us' }), toResult(70, { inference_geo: 'not_available' }));
    for (const pages of [[whole], [windows], [whole, windows], [windows, whole], [regions, windows]])
      expect(read('anthropic', pages).map(({ inputTokens }) => inputTokens)).toEqual([100]);
    // A later import of the other replaces the stored line.
    expect(read('anthropic', windows)[0]?.identity).toBe(read('anthropic', whole)[0]?.identity);
    // An answer can have only one of the windows or regions.
    const toAnswers = ({ data: [bucket] }: typeof whole) => bucket?.results.map((result) => page(result)) ?? [];
    const [small, large] = toAnswers(windows);
    for (const pages of [
      toAnswers(windows),
      toAnswers(regions),
      [windows, small],
      [small, whole, large],
      [whole, whole],
    ])
      expect(read('anthropic', pages).map(({ inputTokens }) => inputTokens)).toEqual([100]);
    for (const pages of [
      [whole, small],
      [small, whole],
      [regions, large],
    ])
      expect(() => read('anthropic', pages)).toThrow(
        'It has the tokens of 2026-11-01 twice, by other windows or regions, with different figures. Import one of the two',
      );
  });

  it('reads OpenAI’s costs by line item, and tokens by model, of several pages', () => {
    const start_time = Date.UTC(2026, 10, 1) / 1000;
    const cost = (value: number | string, line_item: string) => ({ amount: { value, currency: 'usd' }, line_item });
    const pages = [
      { object: 'page', data: [{ start_time, results: [cost(0.06, 'gpt-6.2-sol, input'), cost('2', 'Web search')] }] },
      {
        object: 'page',
        data: [
          {
            start_time,
            results: [{ input_tokens: 100, input_cached_tokens: 40, output_tokens: 5, model: 'gpt-6.2-sol' }],
          },
        ],
      },
    ];
    const expected = [
      { day: '2026-11-01', model: 'gpt-6.2-sol', amountUsd: 0.06 },
      { model: null, lineItem: 'Web search', amountUsd: 2 },
      { kind: 'usage', model: 'gpt-6.2-sol', inputTokens: 60, cacheReadTokens: 40, outputTokens: 5 },
    ];
    expect(read('openai', pages)).toMatchObject(expected);
    expect(readBill('openai', pages.map((page) => JSON.stringify(page)).join('\n'))).toMatchObject(expected);
  });

  it('refuses answers with the same amounts, grouped otherwise', () => {
    const start_time = Date.UTC(2026, 10, 1) / 1000;
    const cost = (value: number, more: object) => ({ amount: { value, currency: 'usd' }, ...more });
    const page = (...results: object[]) => ({ data: [{ start_time, results }] });
    const whole = page(cost(10, {}));
    const lines = page(cost(6, { line_item: 'gpt-5, input' }), cost(4, { line_item: 'gpt-5, output' }));
    const projects = page(
      ...['p1', 'p2'].map((project_id) => cost(3, { line_item: 'gpt-5, input', project_id })),
      cost(4, { line_item: 'gpt-5, output', project_id: 'p1' }),
    );
    for (const pages of [
      [whole, lines],
      [lines, whole],
      [lines, projects],
      [projects, whole],
    ])
      expect(() => read('openai', pages)).toThrow('It has the amounts of 2026-11-01 twice, grouped otherwise');
    const tokens = (more: object) => page({ model: 'gpt-5', input_tokens: 10, output_tokens: 1, ...more });
    expect(() => read('openai', [tokens({}), tokens({ batch: false })])).toThrow('twice, grouped otherwise');
    expect(read('openai', [tokens({ batch: true }), tokens({ batch: false })])).toHaveLength(2);
    for (const pages of [[lines, lines], [projects]]) expect(sum(read('openai', pages))).toBe(10);
  });

  it('reads GitHub’s items of Copilot, with a discount as a separate line', () => {
    const item = {
      date: '2026-11-01T00:00:00Z',
      sku: 'Copilot Premium Request',
      grossAmount: 4,
      discountAmount: 1,
      netAmount: 3,
    };
    const rows = read('github', {
      usageItems: [
        { ...item, product: 'Copilot' },
        { ...item, product: 'Actions' },
      ],
    });
    expect(rows.map(({ lineItem, amountUsd }) => [lineItem, amountUsd])).toEqual([
      ['Copilot Premium Request', 4],
      ['Copilot Premium Request, discount', -1],
    ]);
  });

  it('reads GitHub’s items by model of a day, and refuses a month’s, which would be added to its days’', () => {
    const report = (timePeriod: object) => ({
      timePeriod,
      usageItems: [{ sku: 'Copilot Premium Request', product: 'copilot', model: 'gpt-6.2', grossAmount: 4 }],
    });
    expect(read('github', report({ year: 2026, month: 11, day: 3 }))).toMatchObject([
      { day: '2026-11-03', model: 'gpt-6.2', amountUsd: 4 },
    ]);
    expect(() => read('github', report({ year: 2026, month: 11 }))).toThrow('covers a month or a year');
    expect(() => read('github', report({ year: 2026 }))).toThrow('covers a month or a year');
  });

  it('counts once what several answers have, at the figures of the last, and adds up the hours of a day', () => {
    const bucket = (hour: string, amount: string) => ({
      starting_at: `2026-11-01T${hour}:00:00Z`,
      results: [{ amount, currency: 'USD' }],
    });
    const answers = [
      { data: [bucket('00', '100'), bucket('01', '200')] },
      { data: [bucket('01', '250'), bucket('02', '400')] },
    ];
    expect(read('anthropic', answers)).toMatchObject([{ day: '2026-11-01', amountUsd: 7.5 }]);
    const start_time = Date.UTC(2026, 10, 1) / 1000;
    const cost = { data: [{ start_time, results: [{ amount: { value: 2, currency: 'usd' } }] }] };
    expect(read('openai', [cost, cost])).toMatchObject([{ amountUsd: 2 }]);
    const item = { date: '2026-11-01T00:00:00Z', product: 'Copilot', sku: 'Copilot Business', grossAmount: 19 };
    expect(read('github', [{ usageItems: [item] }, { usageItems: [item] }])).toMatchObject([{ amountUsd: 19 }]);
    const event = { timestamp: String(Date.UTC(2026, 10, 1)), model: 'm', kind: 'k', chargedCents: 10 };
    const later = { ...event, timestamp: String(Date.UTC(2026, 10, 1, 1)) };
    expect(read('cursor', [{ usageEvents: [event] }, { usageEvents: [event, later] }])).toMatchObject([
      { amountUsd: 0.2 },
    ]);
  });

  it('refuses tokens by hours and by days in one file, in any order, but not more of a day', () => {
    const toAnswer = (start: string, end: string, uncached_input_tokens: number) => ({
      starting_at: `2026-11-01T${start}:00Z`,
      ending_at: `2026-11-${end}:00Z`,
      results: [{ model: 'claude-opus-5-5', uncached_input_tokens }],
    });
    const day = toAnswer('00:00', '02T00:00', 24);
    const hours = [toAnswer('00:00', '01T01:00', 10), toAnswer('23:00', '02T00:00', 14)];
    expect(read('anthropic', [{ data: hours }])).toMatchObject([{ inputTokens: 24 }]);
    const byHour = { data: hours };
    for (const pages of [[byHour, { data: [day] }], [{ data: [day] }, byHour], [{ data: [day, ...hours] }]])
      expect(() => read('anthropic', pages)).toThrow('by hours and by days');
    const unfinished = toAnswer('00:00', '01T12:00', 12);
    expect(read('anthropic', [{ data: [unfinished] }, { data: [day] }])).toMatchObject([{ inputTokens: 24 }]);
  });

  it('adds up Cursor’s events by day, model and kind', () => {
    const event = {
      timestamp: String(Date.UTC(2026, 10, 1, 23)),
      model: 'claude-opus-5-5',
      kind: 'Usage-based',
      tokenUsage: { inputTokens: 10, outputTokens: 5, cacheReadTokens: 2, cacheWriteTokens: 1, totalCents: 20 },
    };
    const usageEvents = [event, { ...event, chargedCents: 30 }, { ...event, kind: 'Included', usageBasedCosts: '-' }];
    expect(read('cursor', { usageEvents })).toMatchObject([
      { day: '2026-11-01', lineItem: 'Usage-based', amountUsd: 0.5, inputTokens: 20 },
      { lineItem: 'Included', amountUsd: 0, inputTokens: 10 },
    ]);
  });

  it.each([
    ['anthropic', 'not JSON', 'It is not JSON'],
    ['anthropic', '{"usageItems":[]}', 'It is no report of this vendor: an answer of its API has a list “data”'],
    ['anthropic', '{"data":[{"starting_at":"x","results":[]}]}', 'A line has no valid date'],
    ['anthropic', '{"data":[{"starting_at":"2026-01-01","results":[{"amount":"x"}]}]}', 'A line has no valid amount'],
    [
      'openai',
      '{"data":[{"start_time":1,"results":[{"amount":{"value":1,"currency":"eur"}}]}]}',
      'It has amounts in another currency than US dollars',
    ],
  ] as const)('refuses as a report of %s: %s', (vendor, text, message) => {
    expect(() => readBill(vendor, text)).toThrow(message);
  });
});

it('finds the vendor that bills a request, and the name of its model there', () => {
  expect(findBillVendor('copilot', 'claude-sonnet-4.6')).toBe('github');
  expect(findBillVendor('claude-code', 'claude-opus-5-5-20261101')).toBe('anthropic');
  expect(findBillVendor('codex', 'openai/o3-2025-04-16')).toBe('openai');
  expect(findBillVendor('gemini', 'gemini-3-pro')).toBeUndefined();
  expect(toBilledModel('anthropic/Claude-Opus-5-5-20261101[1m]')).toBe('claude-opus-5-5');
  expect(toBilledModel('gpt-6.2-2026-04-16')).toBe('gpt-6.2');
});
