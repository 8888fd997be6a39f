import type {
  DisagreementsReport,
  ModelsReport,
  SessionDetail,
  SessionList,
  Transcript,
  TranscriptList,
  UploadReceipt,
  UsageReport,
} from '@recount/contract';
import { createApiKey, OPERATOR, SEVERAL_UPLOADERS, verifyUsage } from '@recount/db';
import { createDirectTarget } from '@recount/ingest';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createTestApi, HOME_WORKSPACE, type TestApi } from '../testing/test-api.ts';
import { toLine, toTranscript } from '../testing/transcript-lines.ts';

interface Uploader {
  id: string;
  key: string;
}

let api: TestApi;
let ada: Uploader;
let mallory: Uploader;
beforeAll(async () => {
  api = await createTestApi();
  const create = (name: string) =>
    createApiKey(api.database.database, { workspaceId: HOME_WORKSPACE, name, scopes: ['ingest'] });
  ada = await create('ada');
  mallory = await create('mallory');
});
afterAll(() => api.close());
/** Reports read the whole workspace. */
afterEach(async () => {
  const { sessions } = await read<SessionList>('/v1/sessions?limit=500');
  for (const { session_id: id } of sessions) {
    await api.fetch(`/v1/sessions/${encodeURIComponent(id)}`, { method: 'DELETE' });
  }
});

async function upload({ key }: Uploader, text: string, query: Record<string, string> = {}): Promise<string> {
  const response = await api.upload(text, query, { headers: { authorization: `Bearer ${key}` } });
  expect(response.ok).toBe(true);
  return ((await response.json()) as UploadReceipt).transcript_id;
}

const read = async <T>(path: string): Promise<T> => (await (await api.fetch(path)).json()) as T;
const readSession = (sessionId: string) => read<SessionDetail>(`/v1/sessions/${sessionId}`);
const readDisagreements = (query = '') => read<DisagreementsReport>(`/v1/analytics/disagreements${query}`);

async function remove(transcriptId: string): Promise<void> {
  const response = await api.fetch(`/v1/transcripts/${transcriptId}`, { method: 'DELETE' });
  expect(response.status).toBe(204);
}

async function expectVerified(): Promise<void> {
  const checks = await api.database.withSnapshot((snapshot) => verifyUsage(snapshot, HOME_WORKSPACE));
  for (const check of checks) expect(check).toMatchObject({ missing: 0, surplus: 0 });
}

/** An answer with an id as long as the API's, which alone identifies the response. */
function toAnswer(
  sessionId: string,
  id: string,
  { second = 1, model = 'claude-sonnet-4-5', output = 500, input = 10, stopReason = 'end_turn' as string | null } = {},
): string {
  return toLine(sessionId, second, {
    uuid: `uuid-${sessionId}-${id}-${second}`,
    requestId: undefined,
    type: 'assistant',
    message: {
      id: id.padEnd(24, '0'),
      role: 'assistant',
      model,
      stop_reason: stopReason,
      content: [{ type: 'text', text: 'answer' }],
      usage: { input_tokens: input, output_tokens: output },
    },
  });
}

describe('uploaders', () => {
  it('are those who uploaded the bytes first, and transcripts can be filtered by them', async () => {
    const text = toTranscript('uploaders', 4);
    const first = await upload(ada, text);
    const again = await upload(mallory, text);
    const other = await upload(mallory, toTranscript('uploaders', 6));
    await api.work();
    expect(again).toBe(first);
    expect(await read<Transcript>(`/v1/transcripts/${first}`)).toMatchObject({ uploader_key_id: ada.id });
    const query = `?session_id=uploaders&uploader_key_id=${mallory.id}`;
    const { transcripts } = await read<TranscriptList>(`/v1/transcripts${query}`);
    expect(transcripts.map(({ id, uploader_key_id }) => [id, uploader_key_id])).toEqual([[other, mallory.id]]);
    expect(await readSession('uploaders')).toMatchObject({ uploader_key_ids: [ada.id, mallory.id] });
  });

  it('are recorded for each file of a multipart upload, for streams, and for the operator’s direct ingestion', async () => {
    const form = new FormData();
    form.append('file', new Blob([toTranscript('parted', 2)]), 'parted.jsonl');
    const authorization = `Bearer ${ada.key}`;
    await api.fetch('/v1/transcripts', { method: 'POST', body: form, headers: { authorization } });

    const stream = '01J0000000000000000000000S';
    const send = ({ key }: Uploader, line: string, offset: number, headers: Record<string, string> = {}) =>
      api.fetch('/v1/sessions/streamed/live', {
        method: 'POST',
        body: line,
        headers: {
          authorization: `Bearer ${key}`,
          'content-type': 'application/x-ndjson',
          'recount-stream': stream,
          'recount-offset': String(offset),
          ...headers,
        },
      });
    const line = '{"type":"user","session_id":"streamed","message":{"content":"x"}}\n';
    expect((await send(ada, line, 0)).status).toBe(200);
    expect((await send(mallory, line, line.length, { 'recount-complete': '?1' })).status).toBe(200);

    const bytes = Buffer.from(toTranscript('direct', 2));
    const target = createDirectTarget(api, { workspaceId: HOME_WORKSPACE });
    async function* open(): AsyncGenerator<Uint8Array> {
      yield bytes;
    }
    await target.send({ path: '/x/direct.jsonl', open, sizeBytes: bytes.length, sha256: undefined }, undefined);
    await api.work();
    expect(await readSession('parted')).toMatchObject({ uploader_key_id: ada.id });
    expect(await readSession('streamed')).toMatchObject({ uploader_key_id: SEVERAL_UPLOADERS });
    expect(await readSession('direct')).toMatchObject({ uploader_key_id: OPERATOR });
  });
});

describe('machines and persons', () => {
  it('come from the upload, and sessions, reports, search and exports filter and group by them', async () => {
    const laptop = { machine: 'laptop', person: 'ada@example.com' };
    await upload(ada, toTranscript('on laptop', 4), laptop);
    await upload(ada, toAnswer('on desktop', 'msg_desktop'), { machine: 'desktop', person: 'ada@example.com' });
    await upload(mallory, toAnswer('by bob', 'msg_bob'), { person: 'bob@example.com' });
    await api.work();
    expect(await readSession('on laptop')).toMatchObject({ ...laptop, transcripts: [laptop] });
    const { sessions } = await read<SessionList>('/v1/sessions?person=ada@example.com&machine=desktop');
    expect(sessions.map(({ session_id }) => session_id)).toEqual(['on desktop']);
    const { rows, filters } = await read<UsageReport>(
      '/v1/analytics/usage?group_by=person,machine&from=2026-01-01&person=bob@example.com',
    );
    expect(filters).toMatchObject({ person: ['bob@example.com'], machine: null });
    expect(rows).toMatchObject([{ person: 'bob@example.com', machine: null, own: { responses: 1 } }]);
    const answers = await read<{ results: { session_id: string }[] }>('/v1/search?q=answer&machine=desktop');
    expect(answers.results.map(({ session_id }) => session_id)).toEqual(['on desktop']);
    const csv = await (await api.fetch('/v1/export/sessions?machine=laptop')).text();
    expect(csv.trimEnd().split('\n').at(-1)).toMatch(/,laptop,ada@example\.com,0,app,,,,false,"\[\]",,,$/);
    const { rows: responses } = await api.database.pool.query(
      "SELECT machine, person FROM analytics.api_responses WHERE person LIKE 'bob%'",
    );
    expect(responses).toEqual([{ machine: null, person: 'bob@example.com' }]);
    await expectVerified();
  });

  it('come from the key’s person first, and names with control characters are dropped', async () => {
    const scopes = ['ingest' as const];
    const ofGrace = { workspaceId: HOME_WORKSPACE, name: 'grace', person: 'grace@example.com', scopes };
    const grace = await createApiKey(api.database.database, ofGrace);
    const id = await upload(grace, toTranscript('of grace', 2), { person: 'somebody@example.com', machine: 'm' });
    expect(await read<Transcript>(`/v1/transcripts/${id}`)).toMatchObject({
      person: 'grace@example.com',
      machine: 'm',
    });
    const refused = await api.upload(toTranscript('x', 2), { machine: 'a\nb' });
    expect(refused.status).toBe(400);
    await api.work();
  });

  it('are added to earlier uploads of the same key without them, and never changed by other keys', async () => {
    const text = toTranscript('nameless', 3);
    const id = await upload(ada, text);
    await api.work();
    await upload(mallory, text, { person: 'mallory' });
    expect(await read<Transcript>(`/v1/transcripts/${id}`)).toMatchObject({ person: null, machine: null });
    await upload(ada, text, { person: 'ada', machine: 'laptop' });
    await upload(ada, text, { person: 'eve', machine: 'desktop' });
    expect(await readSession('nameless')).toMatchObject({
      ...{ person: 'ada', machine: 'laptop' },
      transcripts: [{ id, person: 'ada', machine: 'laptop' }],
    });
  });
});

describe('copies of a response that disagree', () => {
  const victim = toAnswer('victim', 'msg_victim', { second: 3600 });
  const forgedCopy = toAnswer('forger', 'msg_victim', { second: 1, model: 'claude-opus-4-1', output: 100_000_000 });

  it('are counted beside the totals, listed with their uploaders, and gone once the forged transcript is deleted', async () => {
    const honest = await upload(ada, victim);
    await upload(ada, toTranscript('bystander', 4));
    await api.work();
    const before = await read<ModelsReport>('/v1/analytics/models');
    expect(before.caveats.disagreements.responses).toBe(0);

    const forged = await upload(mallory, forgedCopy);
    await api.work();
    const report = await readDisagreements();
    expect(report.totals).toMatchObject({ responses: 1, cost_usd: 7500.00015 });
    expect(report.totals.lowest_cost_usd).toBeLessThan(0.01);
    expect(report.totals.highest_cost_usd).toBeGreaterThan(7500);
    expect(report.rows).toMatchObject([
      {
        response_id: 'msg_victim'.padEnd(24, '0'),
        disagreements: ['model', 'time', 'figures'],
        ...{ session_id: 'forger', transcript_id: forged, line_number: 1, uploader_key_id: mallory.id },
        ...{ is_credited: true, has_figures: true, tokens_out: 100_000_000, model: 'claude-opus-4-1' },
      },
      {
        ...{ session_id: 'victim', transcript_id: honest, line_number: 1, uploader_key_id: ada.id },
        ...{ is_credited: false, has_figures: false, tokens_out: 500, model: 'claude-sonnet-4-5' },
      },
    ]);
    const { responses: _responses, ...amounts } = report.totals;
    for (const query of ['', '?session_id=victim', '?session_id=forger', '?model=claude-sonnet-4-5']) {
      const { caveats } = await read<ModelsReport>(`/v1/analytics/models${query}`);
      expect(caveats.disagreements).toEqual({ responses: 1, ...amounts });
    }
    expect((await readDisagreements('?session_id=bystander')).rows).toEqual([]);
    expect(await readSession('victim')).toMatchObject({ disagreeing_response_count: 1, cost_estimate_usd: 0.00753 });
    expect(await readSession('bystander')).toMatchObject({ disagreeing_response_count: 0 });
    await expectVerified();

    await remove(forged);
    expect((await api.fetch(`/v1/transcripts/${forged}`)).status).toBe(404);
    expect((await api.fetch('/v1/sessions/forger')).status).toBe(404);
    const after = await read<ModelsReport>('/v1/analytics/models');
    expect(after).toEqual(before);
    expect(await readDisagreements()).toMatchObject({ rows: [], totals: { responses: 0 } });
    expect((await api.listStore()).filter((name) => name.includes(forged))).toEqual([]);
    await expectVerified();
  });

  it('exclude those that a placeholder, a fork or another line of the response explains', async () => {
    await upload(ada, toAnswer('original', 'msg_honest', { second: 1, output: 3, stopReason: null }));
    await upload(mallory, toAnswer('fork', 'msg_honest', { second: 100, output: 5000 }));
    await upload(ada, toAnswer('resumed', 'msg_honest', { second: 1, output: 5000 }));
    await api.work();
    expect((await readDisagreements()).totals.responses).toBe(0);
  });

  it.each([
    ['two final copies with different figures', { output: 501 }, ['figures']],
    ['a placeholder with different input', { output: 3, input: 1_000_000, stopReason: null }, ['figures']],
    ['a different model alone', { model: 'claude-opus-4-1' }, ['model']],
    ['a different time alone', { second: 1000 }, ['time']],
  ])('include those with %s', async (name, forgery, disagreements) => {
    const id = `msg_${name.replaceAll(' ', '_')}`.slice(0, 20);
    await upload(ada, toAnswer(`honest ${name}`, id));
    const forged = await upload(mallory, toAnswer(`forged ${name}`, id, forgery));
    await api.work();
    const { rows } = await readDisagreements();
    expect(rows.map((row) => row.disagreements)).toEqual([disagreements, disagreements]);
    await remove(forged);
  });
});

describe('a session', () => {
  const toDiverged = (sessionId: string, lines: number) => toTranscript(sessionId, lines, { gitBranch: 'forged' });

  it('is not taken over by a diverged version of another uploader', async () => {
    const own = await upload(ada, toTranscript('owned', 4));
    await api.work();
    const before = await readSession('owned');
    const forged = await upload(mallory, toDiverged('owned', 40));
    await api.work();
    const after = await readSession('owned');
    expect(after).toMatchObject({
      ...{ primary_transcript_id: own, uploader_key_id: ada.id, other_uploader_count: 1 },
      ...{ git_branch: null, total_messages: before.total_messages, tokens_out: before.tokens_out },
    });
    expect(after.transcripts.map(({ id, is_diverged }) => [id, is_diverged])).toEqual([
      [own, false],
      [forged, true],
    ]);
    await expectVerified();
    await remove(forged);
    expect(await readSession('owned')).toMatchObject({ other_uploader_count: 0, transcript_count: 1 });
  });

  it('grows with any version that contains all of its bytes, and shrinks again when that one is deleted', async () => {
    const own = await upload(ada, toTranscript('growing', 4));
    await api.work();
    const before = await readSession('growing');
    const longer = await upload(mallory, toTranscript('growing', 10));
    await api.work();
    expect(await readSession('growing')).toMatchObject({
      ...{ primary_transcript_id: longer, uploader_key_id: ada.id, other_uploader_count: 1 },
      extended_by: [{ uploader_key_id: mallory.id, machine: null, person: null }],
      ...{ total_messages: 10, uploader_key_ids: [ada.id, mallory.id] },
    });
    // The owner's uploads rank before what others have added.
    const owned = await upload(ada, toTranscript('growing', 4) + toLine('growing', 8));
    await api.work();
    expect(await readSession('growing')).toMatchObject({ primary_transcript_id: owned, other_uploader_count: 1 });
    await remove(owned);
    await remove(longer);
    await api.work();
    const { created_at: _created, updated_at: _updated, transcripts: _transcripts, ...figures } = before;
    expect(await readSession('growing')).toMatchObject(figures);
    expect(await read<Transcript>(`/v1/transcripts/${own}`)).toMatchObject({ status: 'ingested', superseded_by: null });
    await expectVerified();
  });

  it('names everyone who extended it, once and in order, and not those who had only a part', async () => {
    const create = (person: string) =>
      createApiKey(api.database.database, { workspaceId: HOME_WORKSPACE, name: person, scopes: ['ingest'], person });
    const [ofIda, ofBea, ofCyd, ofDan] = [
      await create('Ida'),
      await create('Bea'),
      await create('Cyd'),
      await create('Dan'),
    ];
    for (const [key, lines] of [
      [ofIda, 4],
      [ofDan, 2],
      [ofBea, 6],
      [ofBea, 8],
      [ofCyd, 10],
    ] as const) {
      await upload(key, toTranscript('passed-on', lines));
      await api.work();
    }
    expect(await readSession('passed-on')).toMatchObject({
      ...{ person: 'Ida', total_messages: 10 },
      extended_by: [
        { person: 'Bea', uploader_key_id: ofBea.id },
        { person: 'Cyd', uploader_key_id: ofCyd.id },
      ],
    });
    await upload(ofIda, toTranscript('passed-on', 12));
    await api.work();
    expect(await readSession('passed-on')).toMatchObject({ person: 'Ida', total_messages: 12, extended_by: [] });
  });

  it('stays with its person in reports when another person appends, until the first version is deleted', async () => {
    const create = (person: string) =>
      createApiKey(api.database.database, { workspaceId: HOME_WORKSPACE, name: person, scopes: ['ingest'], person });
    const [ofAda, ofBob] = [await create('Ada'), await create('Bob')];
    const own = await upload(ofAda, toTranscript('appended', 4));
    await api.work();
    await upload(ofBob, toTranscript('appended', 6));
    await api.work();
    expect(await readSession('appended')).toMatchObject({
      ...{ person: 'Ada', uploader_key_id: ofAda.id, total_messages: 6, other_uploader_count: 1 },
      extended_by: [{ person: 'Bob', uploader_key_id: ofBob.id }],
    });
    const readPersons = async () => {
      const { rows } = await read<{ rows: { person: string | null; cost_usd: number }[] }>(
        '/v1/analytics/usage?group_by=person',
      );
      return rows.flatMap(({ person }) => (person === 'Ada' || person === 'Bob' ? [person] : []));
    };
    expect(await readPersons()).toEqual(['Ada']);
    await expectVerified();
    await remove(own);
    await api.work();
    expect(await readSession('appended')).toMatchObject({ person: 'Bob', other_uploader_count: 0, extended_by: [] });
    expect(await readPersons()).toEqual(['Bob']);
    await expectVerified();
  });

  it('squatted by another uploader returns to its owner when the forged transcript is deleted', async () => {
    const forged = await upload(mallory, toDiverged('squatted', 2));
    const own = await upload(ada, toTranscript('squatted', 8));
    await api.work();
    expect(await readSession('squatted')).toMatchObject({ primary_transcript_id: forged, other_uploader_count: 1 });
    await remove(forged);
    expect(await readSession('squatted')).toMatchObject({ primary_transcript_id: own, uploader_key_id: ada.id });
    await expectVerified();
  });

  it('reports sub-agents that another uploader claims as its own', async () => {
    const parent = '11111111-2222-4333-8444-555555555555';
    await upload(ada, toTranscript(parent, 4), { path: `/p/${parent}.jsonl` });
    const toPath = (agent: string) => `/p/${parent}/subagents/agent-${agent}.jsonl`;
    await upload(ada, toTranscript(parent, 2, { agentId: 'a1' }), { path: toPath('a1') });
    await upload(mallory, toTranscript(parent, 6, { agentId: 'b2' }), { path: toPath('b2') });
    await api.work();
    expect(await readSession(parent)).toMatchObject({ total_messages: 4, other_uploader_subagent_count: 1 });
    const { sessions } = await read<SessionList>(`/v1/sessions/${parent}/subagents`);
    expect(new Map(sessions.map(({ agent_id, uploader_key_id }) => [agent_id, uploader_key_id]))).toEqual(
      new Map([
        ['a1', ada.id],
        ['b2', mallory.id],
      ]),
    );
  });
});

it('never deletes a transcript of another workspace, nor one twice', async () => {
  const id = await upload(ada, toTranscript('deleted', 2));
  const ask = (key: string) =>
    api.fetch(`/v1/transcripts/${id}`, { method: 'DELETE', headers: { authorization: `Bearer ${key}` } });
  expect((await ask(api.keys.other)).status).toBe(404);
  expect((await ask(ada.key)).status).toBe(403);
  expect((await ask(api.keys.admin)).status).toBe(204);
  expect((await ask(api.keys.admin)).status).toBe(404);
  await api.work();
});
