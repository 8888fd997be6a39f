import type { AddressedReport, AuditList, Dismissal, DismissalList, FindingsReport } from '@recount/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectProblem } from '../testing/expect-problem.ts';
import { createTestApi, type TestApi } from '../testing/test-api.ts';
import { toTranscript } from '../testing/transcript-lines.ts';

let api: TestApi;
beforeAll(async () => {
  api = await createTestApi({}, () => ({ now: () => Date.UTC(2026, 10, 20) }));
  await api.upload(toTranscript('heron', 4));
  await api.work();
});
afterAll(() => api.close());

const send = (method: string, path: string, body?: object): Promise<Response> =>
  api.fetch(path, {
    method,
    ...(body !== undefined && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  });
const read = async <T>(path: string): Promise<T> => (await (await api.fetch(path)).json()) as T;
const dismiss = (body: object) => send('POST', '/v1/findings/dismissals', body);
const list = async () => (await read<DismissalList>('/v1/findings/dismissals')).dismissals;
const actions = async () =>
  (await read<AuditList>('/v1/audit?limit=10')).entries
    .filter(({ action }) => action.startsWith('finding.'))
    .map(({ action, subjects }) => [action, subjects.at(-1)]);

describe('/v1/findings/dismissals', () => {
  it('dismisses findings, says who did it and why, and restores them', async () => {
    const request = { kind: 'unfinished-session', subject_type: 'session', subject: 'her', reason: 'A try' };
    const answer = await dismiss(request);
    expect(answer.status).toBe(201);
    const made = (await answer.json()) as Dismissal;
    expect(made).toMatchObject({ ...request, subject: 'heron', dismissed_by_name: expect.any(String) });
    expect(made.dismissed_by).toMatch(/^key:/);
    const again = await dismiss({ ...request, subject: 'heron', reason: 'Only a try' });
    expect([again.status, await again.json()]).toEqual([200, { ...made, reason: 'Only a try' }]);
    expect(await list()).toEqual([{ ...made, reason: 'Only a try' }]);
    const restored = await send('DELETE', `/v1/findings/dismissals/${made.id}`);
    expect([restored.status, await list()]).toEqual([204, []]);
    await expectProblem(await send('DELETE', `/v1/findings/dismissals/${made.id}`), 404, 'not-found');
    expect(await actions()).toEqual([
      ['finding.restore', 'heron'],
      ['finding.dismiss', 'heron'],
    ]);
  });

  it('refuses what the workspace does not have, and tools of findings without one', async () => {
    const ofSession = { kind: 'cold-cache', subject_type: 'session', subject: 'unknown' };
    await expectProblem(await dismiss(ofSession), 404, 'not-found');
    const ofPerson = { kind: 'cold-cache', subject_type: 'person', subject: 'unknown' };
    await expectProblem(await dismiss(ofPerson), 422, 'unknown-name');
    const ofTool = { kind: 'cold-cache', subject_type: 'tool', subject: 'Bash' };
    await expectProblem(await dismiss(ofTool), 400, 'invalid-request');
    const tooLong = { kind: 'cold-cache', subject_type: 'session', subject: 'heron', reason: 'x'.repeat(301) };
    await expectProblem(await dismiss(tooLong), 400, 'invalid-request');
  });

  it('is forgotten with its session', async () => {
    await api.upload(toTranscript('owl', 4));
    await api.work();
    await dismiss({ kind: 'cold-cache', subject_type: 'session', subject: 'owl' });
    expect((await send('DELETE', '/v1/sessions/owl')).status).toBe(204);
    expect(await list()).toEqual([]);
  });

  it('lists findings without those that are dismissed', async () => {
    const { totals } = await read<FindingsReport>('/v1/analytics/findings?dismissed=only');
    expect(totals).toEqual({ findings: 0, dismissed_findings: 0 });
    await expectProblem(await api.fetch('/v1/analytics/findings?dismissed=some'), 400, 'invalid-request');
  });
});

describe('/v1/findings/addressed/:kind', () => {
  it('marks a kind, which the report then has, and removes the mark', async () => {
    const path = '/v1/findings/addressed/cold-cache';
    const marked = await send('PUT', path, { since: '2026-11-02', note: 'Shorter breaks' });
    expect(await marked.json()).toMatchObject({ kind: 'cold-cache', since: '2026-11-02', note: 'Shorter breaks' });
    expect((await read<AddressedReport>('/v1/analytics/addressed')).rows).toMatchObject([
      { kind: 'cold-cache', since: '2026-11-02', outcome: 'too-early', before: { weeks: 0 }, after: { weeks: 0 } },
    ]);
    expect((await send('DELETE', path)).status).toBe(204);
    await expectProblem(await send('DELETE', path), 404, 'not-found');
    expect((await read<AddressedReport>('/v1/analytics/addressed')).totals).toEqual({ addressed: 0 });
  });

  it('refuses days in the future, and kinds without a share of the cost', async () => {
    // It is 21 November somewhere.
    expect((await send('PUT', '/v1/findings/addressed/cold-cache', { since: '2026-11-21' })).status).toBe(200);
    const later = await send('PUT', '/v1/findings/addressed/cold-cache', { since: '2026-11-22' });
    await expectProblem(later, 400, 'invalid-request');
    const large = await send('PUT', '/v1/findings/addressed/large-result', { since: '2026-11-02' });
    await expectProblem(large, 400, 'invalid-request');
  });
});
