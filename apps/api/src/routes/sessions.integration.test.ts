import {
  type MessageList,
  messageListSchema,
  type SessionList,
  sessionDetailSchema,
  sessionDocumentSchema,
  sessionListSchema,
  type UploadReceipt,
} from '@recount/contract';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { expectProblem } from '../testing/expect-problem.ts';
import { createTestApi, type TestApi } from '../testing/test-api.ts';
import { toLine, toTranscript } from '../testing/transcript-lines.ts';

const PARENT = '33333333-2222-4333-8444-555555555555';
const ODD_ID = `a/b:c?d#e%f ü${'x'.repeat(480)}`;

let api: TestApi;

async function upload(text: string, query?: Record<string, string>): Promise<UploadReceipt> {
  return (await (await api.upload(text, query)).json()) as UploadReceipt;
}

async function read<T>(path: string): Promise<T> {
  const response = await api.fetch(path);
  expect(response.status).toBe(200);
  return (await response.json()) as T;
}

async function listIds(query: string): Promise<string[]> {
  const { sessions } = await read<SessionList>(`/v1/sessions?${query}`);
  return sessions.map(({ session_id }) => session_id);
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const measure = ({ content_text, tool_input }: MessageList['messages'][number]['content_blocks'][number]): number =>
  Buffer.byteLength(content_text ?? '') + (tool_input === null ? 0 : JSON.stringify(tool_input).length);

const dated = (day: number) => ({ timestamp: new Date(Date.UTC(2026, 1, day, 12)).toISOString() });

beforeAll(async () => {
  api = await createTestApi();
  await upload(toTranscript('feb-1', 2, { ...dated(1), gitBranch: 'main', cwd: '/srv/a' }));
  await upload(toTranscript('feb-2', 8, { ...dated(2), gitBranch: 'main', cwd: '/srv/b' }));
  await upload(toTranscript('feb-3', 6, { ...dated(3), gitBranch: 'fix/100%_sure', cwd: '/srv/b' }));
  await upload(toTranscript(PARENT, 4, dated(4)), { path: `/p/${PARENT}.jsonl` });
  for (const agent of ['a1', 'a2']) {
    await upload(toTranscript(PARENT, 4, { ...dated(4), agentId: agent }), {
      path: `/p/${PARENT}/subagents/agent-${agent}.jsonl`,
    });
  }
  await upload(toTranscript('odd', 2, dated(5)), { session_id: ODD_ID });
  await upload('{"type":"summary","summary":"no time at all","leafUuid":"x"}\n', { session_id: 'timeless' });
  await api.work();
});
afterAll(() => api.close());

/** Latest first; the one without any time comes last. */
const ALL = [ODD_ID, `${PARENT}:a2`, `${PARENT}:a1`, PARENT, 'feb-3', 'feb-2', 'feb-1', 'timeless'];

/** Tests list the sessions of `beforeAll` alone, in any order of the tests. */
afterEach(async () => {
  for (const id of await listIds('limit=500')) {
    if (!ALL.includes(id)) await api.fetch(`/v1/sessions/${encodeURIComponent(id)}`, { method: 'DELETE' });
  }
});

describe('GET /v1/sessions', () => {
  it('lists the latest first, with figures and without internal fields', async () => {
    const page = await read('/v1/sessions');
    const { sessions, next_cursor } = sessionListSchema
      .extend({ sessions: sessionListSchema.shape.sessions.element.strict().array() })
      .parse(page);
    expect(next_cursor).toBeNull();
    expect(sessions.map(({ session_id }) => session_id)).toEqual(ALL);
    expect(sessions.find(({ session_id }) => session_id === 'feb-2')).toMatchObject({
      total_messages: 8,
      project: '/srv/b',
      git_branch: 'main',
      models: ['claude-sonnet-4-5'],
      initial_prompt: 'prompt 0 of feb-2',
      transcript_count: 1,
    });
  });

  it.each([
    ['agent=claude-code&limit=500', ALL.length],
    ['agent=codex', 0],
    ['project=/srv/b', 2],
    ['project=b', 2],
    ['branch=main', 2],
    ['branch=fix/100%25_sure', 1],
    ['model=claude-sonnet-4-5', ALL.length - 1],
    ['model=claude', ALL.length - 1],
    ['from=2026-02-03', 5],
    ['from=2026-02-03&time_zone=Pacific/Auckland', 6],
    ['has_errors=true', 0],
    ['has_errors=false', ALL.length],
    ['from=2026-02-02T12:00:00Z&to=2026-02-03', 1],
    ['to=2026-02-02T12:00:00.001%2B00:00', 2],
    ['prompt=PROMPT 0 of feb', 3],
    ['prompt=%25', 0],
    ['prompt=_', 0],
    [`parent_session_id=${PARENT}`, 2],
    ['is_subagent=true', 2],
    ['is_subagent=false', ALL.length - 2],
    ['branch=main&project=/srv/b&from=2026-02-01', 1],
  ])('finds %s', async (query, count) => {
    expect(await listIds(query)).toHaveLength(count);
  });

  it.each(['', '&is_subagent=true', '&min_cost_usd=0.01', '&project=none'])(
    'adds up all sessions that pass %s, on the first page',
    async (query) => {
      const { sessions } = await read<SessionList>(`/v1/sessions?limit=500${query}`);
      const first = await read<SessionList>(`/v1/sessions?limit=1&totals=true${query}`);
      const { sessions: count, ...sums } = first.totals ?? { sessions: -1 };
      expect(count).toBe(sessions.length);
      for (const [name, sum] of Object.entries(sums)) {
        const values = sessions.map((session) => session[name as 'tokens_in']).filter((value) => value !== null);
        const isCount = name.endsWith('_count') || name.endsWith('_messages');
        if (values.length === 0) expect(sum, name).toBe(isCount ? 0 : null);
        else
          expect(sum, name).toBeCloseTo(
            values.reduce((a, b) => a + b, 0),
            9,
          );
      }
      if (first.next_cursor === null) return;
      const next = `/v1/sessions?limit=1&totals=true${query}&cursor=${first.next_cursor}`;
      expect((await read<SessionList>(next)).totals).toBeNull();
    },
  );

  it('finds sessions by cost, and by the pull request that they are linked to', async () => {
    const { sessions } = await read<SessionList>('/v1/sessions?limit=500');
    const costs = sessions.map(({ cost_estimate_usd: cost }) => cost).filter((cost) => cost !== null);
    const middle = costs.toSorted((a, b) => a - b)[Math.floor(costs.length / 2)] ?? 0;
    const idsOf = (holds: (cost: number) => boolean): string[] =>
      sessions
        .filter(({ cost_estimate_usd: cost }) => cost !== null && holds(cost))
        .map(({ session_id }) => session_id)
        .sort();
    expect((await listIds(`min_cost_usd=${middle}`)).sort()).toEqual(idsOf((cost) => cost >= middle));
    expect((await listIds(`max_cost_usd=${middle}`)).sort()).toEqual(idsOf((cost) => cost <= middle));
    expect(await listIds('pull_request=https://github.com/nobody/nothing/pull/1')).toEqual([]);
    const url = 'https://github.com/ada/app/pull/7';
    const line = { type: 'pr-link', sessionId: 'linked', prNumber: 7, prUrl: url, prRepository: 'ada/app' };
    const receipt = await (await api.upload(`${JSON.stringify(line)}\n`)).json();
    await api.work();
    expect(await listIds(`pull_request=${encodeURIComponent(url)}`)).toEqual(['linked']);
    await api.fetch(`/v1/transcripts/${(receipt as { transcript_id: string }).transcript_id}`, { method: 'DELETE' });
  });

  it('finds sessions by the tools that they called', async () => {
    const session = 'called-tools';
    const at = (second: number): string => `2025-03-04T10:00:0${second}.000Z`;
    const call = (id: string, name: string, input: object, second: number): string =>
      JSON.stringify({
        type: 'assistant',
        sessionId: session,
        uuid: id,
        timestamp: at(second),
        message: {
          id: `m-${id}`,
          role: 'assistant',
          model: 'claude-sonnet-4-5',
          content: [{ type: 'tool_use', id, name, input }],
        },
      });
    const lines = [
      call('a', 'Bash', { command: 'git status' }, 1),
      call('b', 'Read', { file_path: '/srv/called.ts' }, 2),
      call('c', 'mcp__docs__search', {}, 3),
      call('d', 'Task', { subagent_type: 'reviewer', prompt: 'look' }, 4),
    ];
    const receipt = await (await api.upload(`${lines.join('\n')}\n`)).json();
    await api.work();
    const called = ['tool=Bash', 'program=git', 'file=/srv/called.ts', 'mcp_server=docs', 'subagent_type=reviewer'];
    for (const query of [...called, 'tool=Bash&program=git', 'tool=Read&from=2025-03-04&to=2025-03-05']) {
      expect(await listIds(query), query).toEqual([session]);
    }
    for (const query of ['tool=bash', 'tool=Read&program=git', 'skill=release', 'tool=Read&from=2025-03-05']) {
      expect(await listIds(query), query).toEqual([]);
    }
    await api.fetch(`/v1/transcripts/${(receipt as { transcript_id: string }).transcript_id}`, { method: 'DELETE' });
  });

  it('lists the sessions of all that a partial name matches, of any of several names, and says which', async () => {
    const { sessions } = await read<SessionList>('/v1/sessions?limit=500');
    const all = [...new Set(sessions.flatMap(({ project }) => project ?? []))].filter((each) => each.includes('/srv'));
    expect(all.length).toBeGreaterThan(1);
    const list = await read<SessionList>('/v1/sessions?project=/srv&limit=500');
    expect(list.filters.project?.toSorted()).toEqual(all.toSorted());
    expect(list.sessions).toEqual(sessions.filter(({ project }) => all.includes(project ?? '')));
    const named = all.slice(0, 2);
    const query = new URLSearchParams(named.map((project): [string, string] => ['project', project]));
    const some = await read<SessionList>(`/v1/sessions?${query}&limit=500`);
    expect(some.sessions).toEqual(sessions.filter(({ project }) => named.includes(project ?? '')));
  });

  it.each([
    ['project=nowhere', 'project'],
    ['branch=mian', 'git_branch'],
    ['model=gpt', 'model'],
  ])('answers no sessions for a name that matches nothing, and says so: %s', async (query, field) => {
    const { sessions, filters } = await read<SessionList>(`/v1/sessions?${query}`);
    expect(sessions).toEqual([]);
    expect(filters).toMatchObject({ [field]: [], unmatched: [{ field, value: query.split('=')[1] }] });
  });

  it('reports an unknown session', async () => {
    const answer = await api.fetch('/v1/sessions?parent_session_id=nobody');
    const problem = await expectProblem(answer, 422, 'unknown-name');
    expect(problem.errors).toEqual([{ location: 'query', field: 'session_id', message: problem.detail }]);
    expect(problem.candidates).toBeInstanceOf(Array);
  });

  it.each(['last_timestamp', 'first_timestamp', 'cost_estimate_usd', 'tokens_out', 'total_messages', 'duration_ms'])(
    'pages through all sessions by %s, in both directions',
    async (sort) => {
      for (const order of ['asc', 'desc']) {
        const whole = await listIds(`sort=${sort}&order=${order}`);
        expect([...whole].sort()).toEqual([...ALL].sort());
        const paged: string[] = [];
        let cursor: string | null = null;
        do {
          const query: string = cursor === null ? '' : `&cursor=${cursor}`;
          const page: SessionList = await read<SessionList>(`/v1/sessions?sort=${sort}&order=${order}&limit=3${query}`);
          paged.push(...page.sessions.map(({ session_id }) => session_id));
          cursor = page.next_cursor;
        } while (cursor !== null);
        expect(paged).toEqual(whole);
      }
    },
  );

  it('sorts by value', async () => {
    expect((await listIds('sort=total_messages&order=desc')).slice(0, 2)).toEqual(['feb-2', 'feb-3']);
    expect((await listIds('sort=cost_estimate_usd')).at(0)).toBe('feb-2');
    expect((await listIds('sort=last_timestamp&order=asc')).slice(0, 2)).toEqual(['timeless', 'feb-1']);
  });

  it('refuses a cursor of another sort order, and a made-up one', async () => {
    const { next_cursor } = await read<SessionList>('/v1/sessions?limit=1');
    const toCursor = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const madeUp = [
      `sort=tokens_out&cursor=${next_cursor}`,
      `order=asc&cursor=${next_cursor}`,
      'cursor=AAAA',
      `cursor=${toCursor({ sort: 'last_timestamp', order: 'desc', key: 'no time', id: 'x' })}`,
      `cursor=${toCursor({ sort: 'last_timestamp', order: 'desc', key: '2026-99-99 00:00:00Z', id: 'x' })}`,
      `sort=tokens_out&cursor=${toCursor({ sort: 'tokens_out', order: 'desc', key: "1'); --", id: 'x' })}`,
      `sort=tokens_out&cursor=${toCursor({ sort: 'tokens_out', order: 'desc', key: '1e999999', id: 'x' })}`,
      `cursor=${toCursor({ sort: 'last_timestamp', order: 'desc', key: '2026-01-01Z', id: 'x\0' })}`,
      `cursor=${toCursor({ sort: 'last_timestamp', order: 'desc', key: '2026-01-01Z\0', id: 'x' })}`,
    ];
    for (const query of madeUp) await expectProblem(await api.fetch(`/v1/sessions?${query}`), 400, 'invalid-cursor');
  });

  it.each(['from=yesterday', 'limit=501', 'sort=prompt', 'is_subagent=1', 'prompt=%00', 'agent=a&agent=', 'q=x'])(
    'refuses %s, and names the parameter',
    async (query) => {
      const problem = await expectProblem(await api.fetch(`/v1/sessions?${query}`), 400, 'invalid-request');
      expect(problem.errors).toEqual([expect.objectContaining({ location: 'query', field: query.split('=')[0] })]);
    },
  );
});

describe('GET /v1/sessions/{id}', () => {
  it('lists the transcripts of the session, superseded ones too', async () => {
    const shorter = await upload(toTranscript('grown', 4));
    await api.work();
    const longer = await upload(toTranscript('grown', 6));
    await api.work();
    const session = sessionDetailSchema.strict().parse(await read('/v1/sessions/grown'));
    expect(session).toMatchObject({
      session_id: 'grown',
      primary_transcript_id: longer.transcript_id,
      total_messages: 6,
      transcripts: [
        { id: shorter.transcript_id, status: 'superseded', superseded_by: longer.transcript_id },
        { id: longer.transcript_id, status: 'ingested' },
      ],
      transcripts_next_cursor: null,
    });
    const path = `/v1/sessions/grown/messages?transcript_id=${shorter.transcript_id}`;
    const problem = await expectProblem(await api.fetch(path), 409, 'no-rows');
    expect(problem.detail).toContain(longer.transcript_id);
  });

  it('limits a page of messages in bytes, and says how many blocks of a large message it leaves out', async () => {
    const lines = [900, 30_000, 10, 5000, 5000, 5000].map((length, index) =>
      toLine('texts', index, { type: 'user', message: { role: 'user', content: 'é'.repeat(length / 2) } }),
    );
    const input = { command: 'x'.repeat(3000) };
    const calls = Array.from({ length: 40 }, (_, index) => ({
      type: 'tool_use',
      id: `c${index}`,
      name: 'Bash',
      input,
    }));
    const message = { role: 'assistant', content: [...calls, { type: 'text', text: 'short' }] };
    lines.splice(3, 0, toLine('texts', 6, { type: 'assistant', message }));
    await upload(lines.join(''));
    await api.work();
    const whole = (await read<MessageList>('/v1/sessions/texts/messages')).messages;
    expect(whole.map((each) => each.content_blocks.length)).toEqual([1, 1, 1, 41, 1, 1, 1]);
    for (const maxBytes of [1, 4000, 6000, 10_000, 100_000, 1_000_000]) {
      const found: MessageList['messages'] = [];
      for (let cursor = ''; ; ) {
        const page = messageListSchema.parse(
          await read(`/v1/sessions/texts/messages?limit=5&max_bytes=${maxBytes}${cursor}`),
        );
        const bytes = page.messages.flatMap((each) => each.content_blocks).map(measure);
        expect(sum(bytes)).toBeLessThan(maxBytes + Math.max(...bytes));
        // 41 blocks count 500 bytes each, and have 40 inputs of 3,000.
        const isCut = maxBytes < 130_000 && page.messages[0]?.ordinal === 3;
        expect(page.messages.some((each) => each.left_out_block_count > 0)).toBe(isCut);
        if (isCut) expect(page.messages).toHaveLength(1);
        found.push(...page.messages);
        if (page.next_cursor === null) break;
        cursor = `&cursor=${page.next_cursor}`;
      }
      expect(found).toEqual(
        whole.map((each, index) => {
          const count = found[index]?.content_blocks.length ?? 0;
          const blocks = each.content_blocks;
          return { ...each, content_blocks: blocks.slice(0, count), left_out_block_count: blocks.length - count };
        }),
      );
    }
    await expectProblem(await api.fetch('/v1/sessions/texts/messages?max_bytes=0'), 400, 'invalid-request');
  });

  it('counts metadata, ids and the values of JSON for the limit of a page, a document and the changes', async () => {
    const fields = Object.fromEntries(Array.from({ length: 25 }, (_, index) => [`f${index}`, 'x'.repeat(500)]));
    const notices = Array.from({ length: 30 }, (_, index) =>
      toLine('metadata', index, { type: 'system', content: 'a', compactMetadata: fields }),
    );
    const calls = Array.from({ length: 40 }, (_, index) => ({
      ...{ type: 'tool_use', id: `${index}${'é'.repeat(480)}`, name: 'n'.repeat(480), input: {} },
    }));
    const named = toLine('ids', 0, { type: 'assistant', message: { role: 'assistant', content: calls } });
    const input = { edits: Array.from({ length: 60_000 }, () => ({})) };
    const edits = Array.from({ length: 10 }, (_, index) => {
      const content = [{ type: 'tool_use', id: `e${index}`, name: 'MultiEdit', input }];
      return toLine('dense', index, { type: 'assistant', message: { id: `m${index}`, role: 'assistant', content } });
    });
    const marked = Array.from({ length: 10 }, (_, index) =>
      toLine('marked', index, { type: 'user', message: { role: 'user', content: '<'.repeat(250_000) } }),
    );
    for (const lines of [notices, [named], edits, marked]) await upload(lines.join(''));
    await api.work();

    const page = async (session: string, query = ''): Promise<MessageList> =>
      await read<MessageList>(`/v1/sessions/${session}/messages?limit=500${query}`);
    expect((await page('metadata')).messages).toHaveLength(30);
    expect((await page('metadata', '&max_bytes=30000')).messages.length).toBeLessThan(5);
    expect((await page('ids', '&max_bytes=20000')).messages[0]?.left_out_block_count).toBeGreaterThan(25);
    const found: MessageList['messages'] = [];
    for (let cursor = ''; ; ) {
      const { messages, next_cursor: next } = await page('dense', cursor);
      expect(messages.length).toBeLessThan(3);
      found.push(...messages);
      if (next === null) break;
      cursor = `&cursor=${next}`;
    }
    expect(found.map(({ ordinal, content_blocks: blocks }) => [ordinal, blocks.length])).toEqual(
      edits.map((_, index) => [index, 1]),
    );
    for (const session of ['dense', 'marked']) {
      const document = sessionDocumentSchema.parse(await read(`/v1/sessions/${session}/document?format=json`));
      expect(document.isCut).toBe(true);
      expect(document.messages.length).toBeGreaterThan(1);
    }
    expect(await read('/v1/sessions/dense/changes')).toMatchObject({ edits: 10, unknown_edits: 10 });
  });

  it('has fifty sub-agents in a document, and says that there are more', async () => {
    const readDocument = async () =>
      sessionDocumentSchema.parse(await read('/v1/sessions/many-agents/document?format=json'));
    const subagents = Array.from({ length: 51 }, (_, index) => `a${index}`);
    await upload(toTranscript('many-agents', 2), { path: '/p/many-agents.jsonl' });
    for (const [index, agentId] of subagents.entries()) {
      await upload(toTranscript('many-agents', 2, { agentId }), {
        path: `/p/many-agents/subagents/agent-${agentId}.jsonl`,
      });
      if (index < 49) continue;
      await api.work();
      const { subagents: shown, isCut } = await readDocument();
      expect([shown.length, isCut]).toEqual([50, index > 49]);
    }
  });

  it('has sub-agents of sub-agents in a document, each once', async () => {
    const toRollout = (id: string, parent: string): string =>
      [
        { type: 'session_meta', payload: { id, source: { subagent: { thread_spawn: { parent_thread_id: parent } } } } },
        {
          type: 'response_item',
          payload: { type: 'message', role: 'user', content: [{ type: 'input_text', text: id }] },
        },
      ]
        .map((line) => `${JSON.stringify({ timestamp: '2026-01-01T00:00:00Z', ...line })}\n`)
        .join('');
    // The first one claims that the last one started it.
    for (const [id, parent] of [
      ['deep-0', 'deep-2'],
      ['deep-1', 'deep-0'],
      ['deep-2', 'deep-1'],
    ] as const)
      await upload(toRollout(id, parent), { path: `/p/${id}.jsonl` });
    await api.work();
    const document = sessionDocumentSchema.parse(await read('/v1/sessions/deep-0/document?format=json'));
    const toIds = ({ session, subagents }: typeof document): string[] => [
      session.session_id,
      ...subagents.flatMap(toIds),
    ];
    expect([toIds(document), document.isCut]).toEqual([['deep-0', 'deep-1', 'deep-2'], false]);
    const html = await (await api.fetch('/v1/sessions/deep-0/document?format=html')).text();
    expect(html.split('Sub-agent: deep-2')).toHaveLength(2);
  });

  it('finds any existing id', async () => {
    const path = `/v1/sessions/${encodeURIComponent(ODD_ID)}`;
    expect(await read(path)).toMatchObject({ session_id: ODD_ID });
    expect(await read(`${path}/messages`)).toMatchObject({ session_id: ODD_ID });
    const widest = '\u{10ffff}'.repeat(256);
    await upload(toTranscript('widest', 2), { session_id: widest });
    await api.work();
    expect(await read(`/v1/sessions/${encodeURIComponent(widest)}`)).toMatchObject({ session_id: widest });
  });

  it('answers 404 for an unknown id', async () => {
    await expectProblem(await api.fetch('/v1/sessions/none'), 404, 'not-found');
    await expectProblem(await api.fetch('/v1/sessions/a%00'), 404, 'not-found');
    await expectProblem(await api.fetch('/v1/sessions/%ff'), 400, 'invalid-request');
    await expectProblem(await api.fetch(`/v1/sessions/${'x'.repeat(6000)}`), 414, 'uri-too-long');
    await expectProblem(await api.fetch(`/v1/sessions/${'x'.repeat(20_000)}`), 431, 'headers-too-large');
  });
});

describe('GET /v1/sessions/{id}/messages', () => {
  it('lists messages with their blocks, page by page', async () => {
    const whole = messageListSchema.parse(await read('/v1/sessions/feb-2/messages'));
    expect(whole.messages.map(({ ordinal }) => ordinal)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(whole.messages[1]).toMatchObject({
      message_type: 'assistant',
      tokens_out: 101,
      line_number: 2,
      content_blocks: [{ block_type: 'text', content_text: 'answer 1', block_order: 0, line_number: 2 }],
    });
    for (const limit of [1, 3, 7, 8]) {
      const paged: MessageList['messages'] = [];
      let cursor: string | null = null;
      do {
        const query: string = cursor === null ? '' : `&cursor=${cursor}`;
        const page: MessageList = await read<MessageList>(`/v1/sessions/feb-2/messages?limit=${limit}${query}`);
        expect(page.messages.length).toBeLessThanOrEqual(limit);
        paged.push(...page.messages);
        cursor = page.next_cursor;
      } while (cursor !== null);
      expect(paged).toEqual(whole.messages);
    }
  });

  it('shortens pages of long messages, and loses none', async () => {
    const long = 'y'.repeat(250_000);
    const lines = Array.from({ length: 60 }, (_, index) => toLine('long', 2 * index, { message: { content: long } }));
    await upload(lines.join(''));
    await api.work();
    const first = await read<MessageList>('/v1/sessions/long/messages?limit=500');
    expect(first.messages.length).toBeLessThan(60);
    const second = await read<MessageList>(`/v1/sessions/long/messages?limit=500&cursor=${first.next_cursor}`);
    const ordinals = [...first.messages, ...second.messages].map(({ ordinal }) => ordinal);
    expect(ordinals).toEqual(Array.from({ length: 60 }, (_, index) => index));
    expect(second.next_cursor).toBeNull();
  });

  it('lists the messages of a diverged transcript by its id', async () => {
    const primary = await upload(toTranscript('fork', 6));
    const other = await upload(toTranscript('fork', 4, { cwd: '/elsewhere' }));
    await api.work();
    expect(await read('/v1/sessions/fork')).toMatchObject({ transcript_count: 2, total_messages: 6 });
    const own = await read<MessageList>('/v1/sessions/fork/messages');
    expect(own).toMatchObject({ transcript_id: primary.transcript_id });
    const diverged = await read<MessageList>(`/v1/sessions/fork/messages?transcript_id=${other.transcript_id}`);
    expect(diverged).toMatchObject({ transcript_id: other.transcript_id });
    expect(diverged.messages).toHaveLength(4);
    expect(await read(`/v1/transcripts/${other.transcript_id}`)).toMatchObject({ is_diverged: true });
  });

  it('refuses a transcript of another session, and an invalid cursor', async () => {
    const { primary_transcript_id } = await read<{ primary_transcript_id: string }>('/v1/sessions/feb-1');
    const path = `/v1/sessions/feb-2/messages?transcript_id=${primary_transcript_id}`;
    await expectProblem(await api.fetch(path), 404, 'not-found');
    await expectProblem(await api.fetch('/v1/sessions/feb-2/messages?cursor=AAAA'), 400, 'invalid-cursor');
    await expectProblem(await api.fetch('/v1/sessions/none/messages'), 404, 'not-found');
  });
});

describe('GET /v1/sessions/{id}/subagents', () => {
  it('lists them', async () => {
    const page = await read<SessionList>(`/v1/sessions/${PARENT}/subagents?sort=first_timestamp&order=asc`);
    expect(page.sessions).toMatchObject([
      { session_id: `${PARENT}:a1`, parent_session_id: PARENT, is_subagent: true, agent_id: 'a1' },
      { session_id: `${PARENT}:a2`, parent_session_id: PARENT, is_subagent: true, agent_id: 'a2' },
    ]);
    const first = await read<SessionList>(`/v1/sessions/${PARENT}/subagents?limit=1`);
    const second = await read<SessionList>(`/v1/sessions/${PARENT}/subagents?limit=1&cursor=${first.next_cursor}`);
    expect([first, second].map(({ sessions }) => sessions.length)).toEqual([1, 1]);
    expect(await read('/v1/sessions/feb-1/subagents')).toEqual({ sessions: [], next_cursor: null });
    await expectProblem(await api.fetch('/v1/sessions/none/subagents'), 404, 'not-found');
  });
});

describe('DELETE /v1/sessions/{id}', () => {
  it('deletes rows and raw objects of this session alone', async () => {
    const { transcript_id } = await upload(toTranscript('doomed', 4));
    await api.work();
    const objects = await api.listStore();
    const response = await api.fetch('/v1/sessions/doomed', { method: 'DELETE' });
    expect(response.status).toBe(204);
    expect(await response.text()).toBe('');
    expect(await api.listStore()).toEqual(objects.filter((key) => !key.includes(transcript_id)));
    await expectProblem(await api.fetch('/v1/sessions/doomed'), 404, 'not-found');
    await expectProblem(await api.fetch(`/v1/transcripts/${transcript_id}`), 404, 'not-found');
    await expectProblem(await api.fetch('/v1/sessions/doomed', { method: 'DELETE' }), 404, 'not-found');
    expect(await listIds('')).toContain('feb-1');
    expect((await api.upload(toTranscript('doomed', 4))).status).toBe(202);
    await api.work();
  });
});
