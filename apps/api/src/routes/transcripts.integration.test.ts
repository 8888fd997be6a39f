import {
  type Ingestion,
  type IssueList,
  issueListSchema,
  TRANSCRIPT_STATUSES as STATUSES_OF_CONTRACT,
  type TranscriptList,
  transcriptListSchema,
  transcriptSchema,
  type UploadReceipt,
} from '@recount/contract';
import { TRANSCRIPT_STATUSES } from '@recount/contract/choices';
import { setTranscriptStatus } from '@recount/db';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectProblem } from '../testing/expect-problem.ts';
import { createTestApi, HOME_WORKSPACE, type TestApi } from '../testing/test-api.ts';
import { toLine, toTranscript } from '../testing/transcript-lines.ts';

const UNKNOWN_ID = '01JCZ8Q4M2V7T3N5R9W0XYABCD';

let api: TestApi;

beforeAll(async () => {
  api = await createTestApi();
});
afterAll(() => api.close());

async function upload(text: string): Promise<UploadReceipt> {
  return (await (await api.upload(text)).json()) as UploadReceipt;
}

async function read<T>(path: string): Promise<T> {
  const response = await api.fetch(path);
  expect(response.status).toBe(200);
  return (await response.json()) as T;
}

it('contract and database define the same statuses', () => {
  expect(STATUSES_OF_CONTRACT).toEqual(TRANSCRIPT_STATUSES);
});

describe('GET /v1/transcripts/{id}', () => {
  it('returns its outcome with counts, issues, figures, and no internal fields', async () => {
    const { transcript_id } = await upload(`${toTranscript('counted', 4)}not json\n{"type":"no-such-type"}\n`);
    const queued = await read(`/v1/transcripts/${transcript_id}`);
    expect(queued).toMatchObject({ status: 'queued', total_messages: 0, ingested_at: null });
    await api.work();
    const transcript = transcriptSchema.strict().parse(await read(`/v1/transcripts/${transcript_id}`));
    expect(transcript).toMatchObject({
      id: transcript_id,
      session_id: 'counted',
      status: 'ingested',
      line_count: 6,
      total_messages: 4,
      user_messages: 2,
      tokens_out: 101 + 103,
      error_count: 1,
      issue_counts: { invalid_json: 1, unknown_line_type: 1 },
      project: '/home/ada/app',
      models: ['claude-sonnet-4-5'],
      is_diverged: false,
    });
  });

  it('answers 404 for an unknown id', async () => {
    await expectProblem(await api.fetch(`/v1/transcripts/${UNKNOWN_ID}`), 404, 'not-found');
    const problem = await expectProblem(await api.fetch('/v1/transcripts/no-ulid'), 400, 'invalid-request');
    expect(problem.errors).toEqual([{ location: 'path', field: 'transcript_id', message: 'Not a ULID' }]);
  });
});

describe('GET /v1/transcripts', () => {
  it('lists page by page in upload order, or latest first', async () => {
    for (const name of ['first', 'second', 'third']) await upload(toTranscript(`ordered-${name}`, 2));
    const list = async (order: string): Promise<string[]> => {
      const ids: string[] = [];
      let cursor: string | null = '';
      while (cursor !== null) {
        const query: string = cursor && `&cursor=${cursor}`;
        const page: TranscriptList = await read(`/v1/transcripts?limit=2&order=${order}${query}`);
        ids.push(...page.transcripts.map(({ id }) => id));
        cursor = page.next_cursor;
      }
      return ids;
    };
    const ids = await list('asc');
    expect(ids.length).toBeGreaterThanOrEqual(3);
    expect(ids).toEqual(ids.toSorted());
    expect(await list('desc')).toEqual(ids.toReversed());
  });
});

describe('GET /v1/transcripts/{id}/issues', () => {
  it('lists them page by page in line order', async () => {
    const lines = Array.from({ length: 7 }, (_, index) => toLine('faulty', index) + '{"broken\n'.repeat(index % 2));
    const { transcript_id } = await upload(lines.join(''));
    await api.work();
    const all = await read<IssueList>(`/v1/transcripts/${transcript_id}/issues`);
    expect(issueListSchema.strict().parse(all).next_cursor).toBeNull();
    expect(all.issues).toHaveLength(3);
    const paged: IssueList['issues'] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const query: string = cursor && `&cursor=${cursor}`;
      const page = await read<IssueList>(`/v1/transcripts/${transcript_id}/issues?limit=2${query}`);
      expect(page.issues.length).toBeLessThanOrEqual(2);
      paged.push(...page.issues);
      cursor = page.next_cursor;
    }
    expect(paged).toEqual(all.issues);
    const first = all.issues[0];
    expect(first).toMatchObject({ code: 'invalid_json', severity: 'error', line_number: 3 });
    const line = await api.fetch(`/v1/transcripts/${transcript_id}/lines/${first?.byte_offset}`);
    expect(await line.text()).toBe('{"broken');
  });

  it('refuses a cursor of another list', async () => {
    const { transcript_id } = await upload(toTranscript('cursor', 2));
    const { next_cursor } = await read<TranscriptList>('/v1/transcripts?limit=1');
    const path = `/v1/transcripts/${transcript_id}/issues?cursor=${next_cursor}`;
    await expectProblem(await api.fetch(path), 400, 'invalid-cursor');
  });
});

describe('GET /v1/transcripts', () => {
  it('lists those with issues that lost data, or those without', async () => {
    const faulty = await upload(`${toTranscript('faulty', 2)}not json\n`);
    const whole = await upload(toTranscript('without-fault', 2));
    await api.work();
    const list = async (hasErrors: boolean): Promise<TranscriptList['transcripts']> =>
      (await read<TranscriptList>(`/v1/transcripts?limit=500&has_errors=${hasErrors}`)).transcripts;
    const withErrors = await list(true);
    const ingestion = await read<Ingestion>('/v1/ingestion');
    expect(withErrors.map(({ id }) => id)).toContain(faulty.transcript_id);
    expect(withErrors).toHaveLength(ingestion.transcripts_with_errors);
    expect(withErrors.reduce((sum, { error_count }) => sum + error_count, 0)).toBe(ingestion.error_count);
    const others = await list(false);
    expect(others.map(({ id }) => id)).toContain(whole.transcript_id);
    expect(others.every(({ error_count }) => error_count === 0)).toBe(true);
  });

  it('lists those that match all filters, page by page', async () => {
    const uploaded: UploadReceipt[] = [];
    for (let index = 0; index < 5; index++) uploaded.push(await upload(toTranscript('listed', 2 + 2 * index)));
    const ids = uploaded.map(({ transcript_id }) => transcript_id);
    const all = await read<TranscriptList>('/v1/transcripts?session_id=listed');
    expect(transcriptListSchema.parse(all).transcripts.map(({ id }) => id)).toEqual(ids);
    const first = await read<TranscriptList>('/v1/transcripts?session_id=listed&limit=3');
    const second = await read<TranscriptList>(`/v1/transcripts?session_id=listed&limit=3&cursor=${first.next_cursor}`);
    expect([...first.transcripts, ...second.transcripts].map(({ id }) => id)).toEqual(ids);
    expect(second.next_cursor).toBeNull();

    await api.work();
    const ingested = await read<TranscriptList>('/v1/transcripts?session_id=listed&status=ingested');
    expect(ingested.transcripts.map(({ id }) => id)).toEqual(ids.slice(-1));
    const both = await read<TranscriptList>('/v1/transcripts?session_id=listed&status=ingested&status=superseded');
    expect(both.transcripts.map(({ id }) => id)).toEqual(ids);
    const byHash = await read<TranscriptList>(`/v1/transcripts?sha256=${uploaded[2]?.sha256}`);
    expect(byHash.transcripts.map(({ id }) => id)).toEqual(ids.slice(2, 3));
    expect(await read(`/v1/transcripts?sha256=${'0'.repeat(64)}`)).toEqual({ transcripts: [], next_cursor: null });
  });

  it.each(['status=gone', 'sha256=x', 'session_id=', 'session_id=%00', 'limit=0', 'cursor=%25', 'nothing=1'])(
    'refuses %s, and names the parameter',
    async (query) => {
      const problem = await expectProblem(await api.fetch(`/v1/transcripts?${query}`), 400, 'invalid-request');
      expect(problem.errors).toEqual([expect.objectContaining({ location: 'query', field: query.split('=')[0] })]);
    },
  );
});

describe('POST /v1/transcripts/{id}/reparse', () => {
  const reparse = (id: string) => api.fetch(`/v1/transcripts/${id}/reparse`, { method: 'POST' });

  it('ingests it again; the rows stay until then', async () => {
    const { transcript_id } = await upload(toTranscript('again', 4));
    await api.work();
    const before = await read('/v1/sessions/again/messages');
    const response = await reparse(transcript_id);
    expect(response.status).toBe(202);
    expect(await response.json()).toEqual({ transcript_id, session_id: 'again', status: 'queued' });
    expect(await read('/v1/sessions/again/messages')).toEqual(before);
    await api.work();
    expect(await read('/v1/sessions/again/messages')).toEqual(before);
    expect(await read(`/v1/transcripts/${transcript_id}`)).toMatchObject({ status: 'ingested', attempt_count: 1 });
  });

  it('retries a failed one', async () => {
    const { transcript_id } = await upload(toTranscript('failed', 4));
    await api.work();
    const change = { status: 'failed', failure_reason: 'it did not work' } as const;
    await setTranscriptStatus(api.database.database, HOME_WORKSPACE, [transcript_id], change);
    expect((await reparse(transcript_id)).status).toBe(202);
    await api.work();
    expect(await read(`/v1/transcripts/${transcript_id}`)).toMatchObject({ status: 'ingested', failure_reason: null });
  });

  it('leaves a queued one alone, and ignores a body', async () => {
    const { transcript_id } = await upload(toTranscript('waiting', 4));
    const init = { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } };
    const response = await api.fetch(`/v1/transcripts/${transcript_id}/reparse`, init);
    expect(response.status).toBe(202);
    expect(await response.json()).toMatchObject({ status: 'queued' });
    await api.work();
  });

  it('answers 404 for an unknown id', async () => expectProblem(await reparse(UNKNOWN_ID), 404, 'not-found'));
});
