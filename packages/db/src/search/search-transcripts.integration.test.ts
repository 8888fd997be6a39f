import { withFewStatements } from '@recount/local-postgres/testing';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestPool, OTHER_WORKSPACE, TEST_WORKSPACE } from '../testing/create-test-pool.ts';
import { ingestTranscript } from '../testing/ingest-transcript.ts';
import { answer, prompt, toSearchTranscript } from '../testing/search-lines.ts';
import { parseSearchQuery, parseSearchTarget } from './parse-search-query.ts';
import { readSearchBacklog } from './read-search-backlog.ts';
import { type SearchRequest, SearchTimeoutError, searchTranscripts } from './search-transcripts.ts';

let pool: Awaited<ReturnType<typeof createTestPool>>;
let transcriptNumber = 0;

async function ingest(
  sessionId: string,
  lines: Parameters<typeof toSearchTranscript>[1],
  workspaceId = TEST_WORKSPACE,
) {
  const transcriptId = `t${++transcriptNumber}`;
  const path = `${sessionId}.jsonl`;
  await ingestTranscript(pool, { workspaceId, transcriptId }, { path, bytes: toSearchTranscript(sessionId, lines) });
  return transcriptId;
}

const history = [
  prompt('Why does the invoice show one cent too much?'),
  answer([
    { type: 'thinking', thinking: 'Rounding of half cents, I suspect' },
    { type: 'text', text: 'It rounds too early, in `round_half_up` of src/billing/OrderTotals.ts.' },
    {
      type: 'tool_use',
      id: 'tool-1',
      name: 'Bash',
      input: { command: 'grep -rn "round" src\nls', nested: { deep: ['x-ray'] } },
    },
  ]),
  prompt([
    { type: 'tool_result', tool_use_id: 'tool-1', content: 'TypeError: cannot read property total_cents of undefined' },
  ]),
  prompt('<system-reminder>Remember the invoice</system-reminder>'),
  prompt('Zusammenfassung', { isCompactSummary: true }),
  answer('done', { isSidechain: true, agentId: 'a1' }),
];

beforeAll(async () => {
  pool = await createTestPool();
  await ingest('first', history);
  // A fork holds copies of the lines under its own id, and continues.
  await ingest('fork', [
    ...history.map((line, number) => ({ ...line, uuid: `first-${number}`, forkedFrom: { sessionId: 'first' } })),
    answer('the fork adds an invoice'),
  ]);
  await ingest('languages', [
    prompt('Größe und STRASSE', { cwd: '/home/ada/web', gitBranch: 'umlauts' }),
    answer('東京都の請求書を確認しました。データベース 데이터베이스에서'),
    answer(`ſ ${'long '.repeat(20_000)}theend`),
    answer('100% sure_of \\ C:\\dir it\'s "quoted" `code` <b>&amp;</b>'),
  ]);
  await ingest('elsewhere', [prompt('The invoice of somebody else')], OTHER_WORKSPACE);
});
afterAll(() => pool.close());

async function search(q: string, request: Partial<SearchRequest> & { mode?: 'text' | 'substring' } = {}) {
  const { mode = 'text', ...rest } = request;
  const target = parseSearchTarget(mode, q);
  if (typeof target === 'string') throw new Error(target);
  const wanted = { timeZone: 'UTC', subagents: 'include' as const, ...rest };
  return await searchTranscripts(pool, TEST_WORKSPACE, target, wanted, { sort: 'relevance', limit: 50 });
}

async function find(...query: Parameters<typeof search>): Promise<string[]> {
  const { results } = await search(...query);
  return results.map(({ session_id, kind, line_number }) => `${session_id} ${kind} ${line_number}`);
}

describe('text mode', () => {
  it.each([
    ['invoice cent', ['first prompt 1']],
    ['INVOICE CENT', ['first prompt 1']],
    ['"one cent"', ['first prompt 1']],
    ['"cent one"', []],
    ['"invoice show one" -cent', []],
    ['cent or rounding', ['first prompt 1', 'first thinking 2']],
    ['round_half_up', ['first answer 2']],
    ['"half up"', ['first answer 2']],
    ['OrderTotals', ['first answer 2']],
    ['totals', ['first answer 2']],
    ['src/billing/OrderTotals.ts', ['first answer 2']],
    ['total_cents', ['first tool_result 3']],
    ['grep', ['first tool_input 2']],
    ['bash', ['first tool_input 2']],
    ['x-ray', ['first tool_input 2']],
    ['remember', ['first context 4']],
    ['zusammenfassung', ['first summary 5']],
    ['größe', ['languages prompt 1']],
    ['GRÖSSE straße', ['languages prompt 1']],
    ['grosse', []],
    ['請求書', ['languages answer 2']],
    ['求請', []],
    ['データ', ['languages answer 2']],
    ['데이터베이스', ['languages answer 2']],
    ['confi*', []],
    ['unde*', ['first tool_result 3']],
    ['somebody', []],
  ])('finds %j', async (query, expected) => {
    expect(await find(query)).toEqual(expected);
  });

  it('ranks prompts before answers before tool output', async () => {
    expect(await find('invoice')).toEqual(['first prompt 1', 'fork answer 7', 'first context 4']);
    expect(await find('round*')).toEqual(['first answer 2', 'first thinking 2', 'first tool_input 2']);
  });

  it('lists copies once, with the earliest place', async () => {
    const { results, matchCount } = await search('invoice cent');
    expect(matchCount).toBe(1);
    expect(results).toMatchObject([
      {
        session_id: 'first',
        transcript_id: 't1',
        block_order: 0,
        timestamp: '2026-01-01T00:00:00.000Z',
        line_number: 1,
        byte_offset: 0,
        project: '/home/ada/app',
        is_subagent: false,
        is_cut: false,
        copy_count: 2,
      },
    ]);
    expect(results[0]?.snippet).toEqual([
      { text: 'Why does the ', is_match: false },
      { text: 'invoice', is_match: true },
      { text: ' show one ', is_match: false },
      { text: 'cent', is_match: true },
      { text: ' too much?', is_match: false },
    ]);
    expect(await find('invoice cent', { sessionId: 'fork' })).toEqual(['fork prompt 1']);
  });

  it('truncates very long texts, and says so', async () => {
    expect(await find('theend')).toEqual([]);
    const { results } = await search('long');
    expect(results).toMatchObject([{ is_cut: true }]);
  });
});

describe('substring mode', () => {
  it.each([
    ['nvoice show', ['first prompt 1']],
    ['RDERTOT', ['first answer 2']],
    ['round_half', ['first answer 2']],
    ['home/ada', []],
    ['ORT', []],
    ['röß', ['languages prompt 1']],
    ['求書を', ['languages answer 2']],
    ['ータベ', ['languages answer 2']],
    ['100% sure_of', ['languages answer 4']],
    ['100_ sure%of', []],
    ['\\ C:\\dir', ['languages answer 4']],
    [`it's "quoted" \`code\` <b>&amp;`, ['languages answer 4']],
    ['"round" src\nls', ['first tool_input 2']],
    ['Grep', ['first tool_input 2']],
  ])('finds %j', async (part, expected) => {
    expect(await find(part, { mode: 'substring' })).toEqual(expected);
  });

  it('marks the matches', async () => {
    const { results } = await search('RÖß', { mode: 'substring' });
    expect(results[0]?.snippet).toEqual([
      { text: 'G', is_match: false },
      { text: 'röß', is_match: true },
      { text: 'e und STRASSE', is_match: false },
    ]);
  });
});

describe('filters', () => {
  it.each([
    [{ kinds: ['answer'] }, ['fork answer 7']],
    [{ kinds: ['prompt', 'answer'] }, ['first prompt 1', 'fork answer 7']],
    [{ project: '/home/ada/app' }, ['first prompt 1', 'fork answer 7', 'first context 4']],
    [{ model: 'claude-opus-5' }, ['first prompt 1', 'fork answer 7', 'first context 4']],
    [{ agent: 'codex' }, []],
    [{ gitBranch: 'umlauts' }, []],
    [{ from: '2026-01-01T00:00:03Z' }, ['fork answer 7', 'first context 4']],
    [{ from: '2026-01-01T00:00:03Z', to: '2026-01-01T00:00:06Z' }, ['first context 4']],
    [{ from: '2026-01-01', timeZone: 'America/New_York' }, []],
    [{ to: '2026-01-01', timeZone: 'America/New_York' }, ['first prompt 1', 'fork answer 7', 'first context 4']],
    [{ subagents: 'only' }, []],
  ] as [Partial<SearchRequest>, string[]][])('%j', async (filter, expected) => {
    expect(await find('invoice', filter)).toEqual(expected);
  });

  it('sub-agents, also within a main transcript', async () => {
    expect(await find('done', { subagents: 'only' })).toEqual(['first answer 6']);
    expect(await find('done', { subagents: 'exclude' })).toEqual([]);
  });
});

it('pages are in one order without gaps', async () => {
  const query = parseSearchQuery('invoice or done or cent or round* or long or größe');
  if (typeof query === 'string') throw new Error(query);
  for (const sort of ['relevance', 'newest'] as const) {
    const read = (limit: number, after?: Parameters<typeof searchTranscripts>[4]['after']) =>
      searchTranscripts(
        pool,
        TEST_WORKSPACE,
        { mode: 'text', query },
        { timeZone: 'UTC', subagents: 'include' },
        { sort, limit, after },
      );
    const whole = await read(50);
    expect(whole.results.length).toBeGreaterThan(6);
    expect(whole.next).toBeUndefined();
    const pieces = [];
    let page = await read(2);
    for (;;) {
      pieces.push(...page.results);
      expect(page.matchCount).toBe(whole.matchCount);
      if (page.next === undefined) break;
      page = await read(2, page.next);
    }
    expect(pieces).toEqual(whole.results);
    expect(pieces).toHaveLength(whole.matchCount);
  }
});

it('a search that takes too long is aborted', async () => {
  const target = parseSearchTarget('text', 'invoice');
  if (typeof target === 'string') throw new Error(target);
  const blocker = await pool.pool.connect();
  try {
    await blocker.query('BEGIN; LOCK TABLE recount.search_segments IN ACCESS EXCLUSIVE MODE');
    const request = { timeZone: 'UTC', subagents: 'include' as const };
    const searching = searchTranscripts(pool, TEST_WORKSPACE, target, request, { sort: 'newest', limit: 1 }, 50);
    await expect(searching).rejects.toThrow(SearchTimeoutError);
  } finally {
    await blocker.query('ROLLBACK');
    blocker.release();
  }
  expect(await find('invoice cent')).toEqual(['first prompt 1']);
});

it('leaves nothing waiting', async () => {
  expect(await readSearchBacklog(pool.database)).toEqual({
    waitingSessions: 0,
    oldestWaitingSince: null,
    failingSessions: 0,
  });
});

describe('any text', () => {
  const texts = fc.string({ unit: 'binary', maxLength: 300 }).map((text) => text.toWellFormed().replaceAll('\0', ''));

  it('can be searched for in either mode', async () => {
    await fc.assert(
      fc.asyncProperty(texts, fc.constantFrom('text' as const, 'substring' as const), async (text, mode) => {
        const target = parseSearchTarget(mode, text);
        if (typeof target !== 'string') expect((await search(text, { mode })).matchCount).toBeLessThan(50);
      }),
      withFewStatements(),
    );
  });
});
