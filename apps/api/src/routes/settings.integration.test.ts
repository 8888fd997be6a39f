import { retainWorkspace } from '@recount/ingest';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectProblem } from '../testing/expect-problem.ts';
import { createTestApi, HOME_WORKSPACE, type TestApi } from '../testing/test-api.ts';

let api: TestApi;

beforeAll(async () => {
  api = await createTestApi();
});
afterAll(() => api.close());

const POLICY = { text_readers: 'readers', names_from_people: null };
const DEFAULTS = { redaction: 'off', rows_max_age_days: null, raw_max_age_days: null, ...POLICY };

const put = (body: string, key = api.keys.admin): Promise<Response> =>
  api.fetch('/v1/settings', {
    method: 'PUT',
    body,
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
  });
const read = async (key = api.keys.read): Promise<unknown> =>
  await (await api.fetch('/v1/settings', { headers: { authorization: `Bearer ${key}` } })).json();

describe('/v1/settings', () => {
  it('changes the given settings and leaves the others, in the key’s workspace alone', async () => {
    expect(await read()).toEqual(DEFAULTS);
    expect(await (await put('{"redaction":"rows","rows_max_age_days":90}')).json()).toEqual({
      redaction: 'rows',
      rows_max_age_days: 90,
      raw_max_age_days: null,
      ...POLICY,
    });
    const policy = { text_readers: 'auditors', names_from_people: 5 };
    await put(JSON.stringify({ rows_max_age_days: null, raw_max_age_days: 7, ...policy }));
    expect(await read()).toEqual({ redaction: 'rows', rows_max_age_days: null, raw_max_age_days: 7, ...policy });
    expect(await read(api.keys.other)).toEqual(DEFAULTS);
    await put('{"redaction":"off","raw_max_age_days":null,"text_readers":"readers","names_from_people":null}');
    expect(await read()).toEqual(DEFAULTS);
  });

  it.each([
    ['{"redaction":"on"}'],
    ['{"rows_max_age_days":0}'],
    ['{"rows_max_age_days":1.5}'],
    ['{"raw_max_age_days":"7"}'],
    ['{"names_from_people":0}'],
    ['{"text_readers":"nobody"}'],
    ['{"rawMaxAgeDays":7}'],
    ['[]'],
    ['no JSON'],
    // A value that would be accepted if it were shorter.
    [`{"redaction":"rows"}${' '.repeat(16 * 1024)}`],
  ])('refuses a body such as %.40s', async (body) => {
    await expectProblem(await put(body), 400, 'invalid-request');
    expect(await read()).toEqual(DEFAULTS);
  });

  it('allows only admins to change them', async () => {
    await expectProblem(await put('{"redaction":"rows"}', api.keys.read), 403, 'missing-scope');
  });
});

describe('what retention deleted', () => {
  it('is answered with 410, and everything else as before', async () => {
    const line = { type: 'user', sessionId: 'old', timestamp: '2020-01-01T00:00:00Z', message: { content: 'hello' } };
    const uploaded = (await (await api.upload(`${JSON.stringify(line)}\n`)).json()) as { transcript_id: string };
    await api.work();
    const { transcript_id: id } = uploaded;
    const deps = { database: api.database, rawStore: api.rawStore };
    const settings = { rowsMaxAgeDays: 30, rawMaxAgeDays: 30 };
    await retainWorkspace(deps, { workspaceId: HOME_WORKSPACE, settings, nowMs: Date.now() });
    for (const path of [`/v1/transcripts/${id}/raw`, `/v1/transcripts/${id}/lines/0`, '/v1/sessions/old/messages']) {
      await expectProblem(await api.fetch(path), 410, 'expired');
    }
    const reparse = await api.fetch(`/v1/transcripts/${id}/reparse`, { method: 'POST' });
    await expectProblem(reparse, 410, 'expired');
    expect(await (await api.fetch('/v1/sessions/old')).json()).toMatchObject({
      initial_prompt: null,
      total_messages: 1,
      transcripts: [{ id, rows_deleted_at: expect.any(String), raw_deleted_at: expect.any(String), secret_counts: {} }],
    });
  });
});
