import type { Problem, SearchResultList } from '@recount/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestApi, type TestApi } from '../testing/test-api.ts';
import { toLine } from '../testing/transcript-lines.ts';

let api: TestApi;

const say = (session: string, index: number, content: unknown): string =>
  toLine(session, 2 * index, { message: { role: 'user', content } });

beforeAll(async () => {
  api = await createTestApi();
  await api.upload(
    say('first', 0, 'The <b>needle</b> in a_haystack') +
      say('first', 1, [{ type: 'tool_result', tool_use_id: 't', content: 'needle needle needle' }]) +
      say('first', 2, 'Nothing here'),
  );
  await api.upload(say('second', 0, 'another needle'));
  const headers = { authorization: `Bearer ${api.keys.other}` };
  await api.upload(say('foreign', 0, 'foreign needle'), {}, { headers });
  await api.work();
});
afterAll(() => api.close());

async function search(query: Record<string, string> | [string, string][], key = api.keys.read) {
  const init = { headers: { authorization: `Bearer ${key}` } };
  const response = await api.fetch(`/v1/search?${new URLSearchParams(query)}`, init);
  return { status: response.status, body: (await response.json()) as SearchResultList & Problem };
}

describe('GET /v1/search', () => {
  it('says how many sessions it does not find yet', async () => {
    const { pool } = api.database;
    await pool.query(`INSERT INTO recount.search_waiting (workspace_id, row_set_id, session_id)
      SELECT workspace_id, row_set_id, session_id FROM recount.transcripts`);
    expect((await search({ q: 'needle' })).body).toMatchObject({ waiting_sessions: 2 });
    await pool.query('DELETE FROM recount.search_waiting');
    expect((await search({ q: 'needle' })).body).toMatchObject({ waiting_sessions: 0 });
  });

  it('finds texts, with their places and the matching parts', async () => {
    const { status, body } = await search({ q: 'needle haystack' });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      match_count: 1,
      is_match_count_capped: false,
      waiting_sessions: 0,
      next_cursor: null,
    });
    expect(body.results).toEqual([
      {
        session_id: 'first',
        transcript_id: expect.stringMatching(/^[0-9A-Z]{26}$/),
        message_id: expect.stringMatching(/^[0-9A-Z]{26}$/),
        block_order: 0,
        kind: 'prompt',
        timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        is_subagent: false,
        line_number: 1,
        byte_offset: 0,
        project: expect.any(String),
        title: 'The <b>needle</b> in a_haystack',
        initial_prompt: expect.stringContaining('needle'),
        copy_count: 1,
        is_cut: false,
        snippet: [
          { text: 'The <b>', is_match: false },
          { text: 'needle', is_match: true },
          { text: '</b> in a_', is_match: false },
          { text: 'haystack', is_match: true },
        ],
      },
    ]);
  });

  it('returns the place of the line', async () => {
    const { body } = await search({ q: 'needle', kind: 'tool_result' });
    const [{ transcript_id, byte_offset, line_number } = { transcript_id: '', byte_offset: 0, line_number: 0 }] =
      body.results;
    expect(line_number).toBe(2);
    const line = await api.fetch(`/v1/transcripts/${transcript_id}/lines/${byte_offset}`);
    expect(await line.text()).toContain('needle needle needle');
  });

  it('applies its filters', async () => {
    const count = async (query: [string, string][]) => (await search([['q', 'needle'], ...query])).body.match_count;
    expect(await count([])).toBe(3);
    expect(await count([['session_id', 'second']])).toBe(1);
    expect(
      await count([
        ['kind', 'tool_result'],
        ['kind', 'prompt'],
      ]),
    ).toBe(3);
    expect(await count([['kind', 'answer']])).toBe(0);
    expect(await count([['mode', 'substring']])).toBe(3);
    expect(await count([['subagents', 'only']])).toBe(0);
    expect(
      await count([
        ['from', '2100-01-01'],
        ['time_zone', 'Europe/Berlin'],
      ]),
    ).toBe(0);
  });

  it.each(['relevance', 'newest'])('pages with its cursor, by %s', async (sort) => {
    const first = await search({ q: 'needle', limit: '2', sort });
    expect(first.body.results).toHaveLength(2);
    const cursor = first.body.next_cursor ?? '';
    const second = await search({ q: 'needle', limit: '2', sort, cursor });
    expect(second.body).toMatchObject({ results: [{}], match_count: 3, next_cursor: null });
    const places = [...first.body.results, ...second.body.results].map(
      ({ session_id, line_number }) => `${session_id} ${line_number}`,
    );
    expect(places.sort()).toEqual(['first 1', 'first 2', 'second 1']);
    const mixed = await search({ q: 'needle', sort: sort === 'newest' ? 'relevance' : 'newest', cursor });
    expect(mixed.body.type).toContain('invalid-cursor');
  });

  it('shows each workspace only its own sessions', async () => {
    for (const mode of ['text', 'substring']) {
      const { body } = await search({ q: 'needle', mode }, api.keys.other);
      expect(body.results.map(({ session_id }) => session_id)).toEqual(['foreign']);
      const foreign = await search({ q: 'needle', mode, session_id: 'first' }, api.keys.other);
      expect(foreign.body).toMatchObject({ type: 'urn:recount:problem:unknown-name', candidates: [] });
    }
  });
});

describe('an invalid query', () => {
  it.each([
    [{ q: '' }, 'q'],
    [{ q: '-needle' }, 'q'],
    [{ q: '=>' }, 'q'],
    [{ q: 'a'.repeat(1001) }, 'q'],
    [{ q: 'a '.repeat(100) }, 'q'],
    [{ q: 'nee\0dle' }, 'q'],
    [{ q: 'ab', mode: 'substring' }, 'q'],
    [{ q: 'needle', mode: 'regexp' }, 'mode'],
    [{ q: 'needle', limit: '101' }, 'limit'],
    [{ q: 'needle', kind: 'secret' }, 'kind'],
    [{ q: 'needle', time_zone: 'Mars/Olympus' }, 'time_zone'],
    [{ q: 'needle', from: 'yesterday' }, 'from'],
    [{ q: 'needle', workspace_id: 'x' }, 'workspace_id'],
    [{}, 'q'],
  ])('%j is refused', async (query, field) => {
    const { status, body } = await search(query as Record<string, string>);
    expect(status).toBe(400);
    expect(body.errors).toMatchObject([{ location: 'query', field }]);
  });

  it.each([
    { sort: 'text relevance', rank: '1', timestamp: null, sessionId: '', messageId: '', blockOrder: 0 },
    { sort: 'text relevance', rank: 1, timestamp: '0000-01-01T00:00:00Z', sessionId: '', messageId: '', blockOrder: 0 },
    { sort: 'text relevance', rank: 1, timestamp: null, sessionId: '\0', messageId: '', blockOrder: 0 },
    [],
  ])('is refused with a made-up cursor: %j', async (value) => {
    const cursor = Buffer.from(JSON.stringify(value)).toString('base64url');
    const { status, body } = await search({ q: 'needle', cursor });
    expect([status, body.type]).toEqual([400, 'urn:recount:problem:invalid-cursor']);
  });

  it.each([
    `' OR 1=1 --`,
    `"'\\`,
    `needle') @@ (`,
    `:*&|!()<->`,
    '%_%needle\\',
    '\u{1F600}needle',
    `${'"'.repeat(999)}a`,
    '(a'.repeat(30),
  ])('is answered if it is merely odd: %j', async (q) => {
    for (const mode of ['text', 'substring']) {
      expect([200, 400]).toContain((await search({ q, mode })).status);
    }
  });
});

it('logs neither query nor text', async () => {
  for (let count = 0; count < 24; count++) await search({ q: count % 2 === 0 ? 'needle haystack' : 'Olympus' });
  expect(api.logLines.length).toBeGreaterThan(20);
  for (const line of api.logLines) expect(line).not.toMatch(/needle|haystack|Olympus/);
});
