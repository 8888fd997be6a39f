import type { SessionDetail, UploadReceipt } from '@recount/contract';
import { ROLES } from '@recount/contract/access';
import { createApiKey } from '@recount/db';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestApi, HOME_WORKSPACE, type TestApi } from './testing/test-api.ts';
import { toLine } from './testing/transcript-lines.ts';

const SECRET = 'canary-of-bob';

let api: TestApi;
const keys = new Map<string, string>();
beforeAll(async () => {
  api = await createTestApi();
  for (const person of ['ann', 'bob']) {
    const key = { workspaceId: HOME_WORKSPACE, name: person, person, scopes: ROLES.member };
    keys.set(person, (await createApiKey(api.database.database, key)).key);
  }
});
afterAll(() => api?.close());

const as = (person: string) => ({ headers: { authorization: `Bearer ${keys.get(person)}` } });

async function upload(person: string, session: string, text: string): Promise<string> {
  const response = await api.upload(text, { path: `/${person}/${session}.jsonl` }, as(person));
  expect(response.status).toBe(202);
  await api.work();
  return ((await response.json()) as UploadReceipt).transcript_id;
}

const toPrompt = (session: string, index: number, content: string): string =>
  toLine(session, 2 * index, { message: { role: 'user', content } });
const toEdit = (session: string): string => {
  const content = [{ type: 'tool_use', id: 'call', name: 'Read', input: { file_path: `/${SECRET}.ts` } }];
  const message = { id: `msg-${session}`, role: 'assistant', model: 'claude-sonnet-4-5', content };
  return toLine(session, 1, { type: 'assistant', message });
};

/** The paths where a person reads texts of a session. */
async function readTexts(person: string, session: string, transcriptId: string): Promise<string[]> {
  const paths = [
    ...['', '/messages', '/outline', '/document?format=json', '/changes'].map((end) => `sessions/${session}${end}`),
    ...[`transcripts/${transcriptId}`, `transcripts/${transcriptId}/raw`, 'transcripts', 'sessions'],
    ...[`sessions?prompt=${SECRET}`, 'search?q=canary', 'analytics/files', 'export/sessions?format=csv'],
  ];
  const read: string[] = [];
  for (const path of paths) {
    const text = await (await api.fetch(`/v1/${path}`, as(person))).text();
    // Sessions that are found by a word are told by their ids.
    if (text.includes(SECRET) || (path.includes('prompt=') && text.includes(`"${session}"`))) read.push(path);
  }
  return read;
}

it('are of the sender, though someone else has claimed the id of the session before', async () => {
  const claimed = await upload('ann', 'claimed', toPrompt('claimed', 0, 'mine'));
  const text = toPrompt('claimed', 0, `${SECRET} prompt`) + toEdit('claimed') + toPrompt('claimed', 1, SECRET);
  const diverged = await upload('bob', 'claimed', text);
  expect(await readTexts('ann', 'claimed', diverged)).toEqual([]);
  const own = await (await api.fetch(`/v1/transcripts/${claimed}/raw`, as('ann'))).text();
  expect(own).toContain('mine');
});

it('are of the sender, too, if they continue what someone else had uploaded as the beginning', async () => {
  const first = toPrompt('continued', 0, 'hi');
  await upload('ann', 'continued', first);
  const longer = first + toEdit('continued') + toPrompt('continued', 1, `${SECRET} more`);
  const transcriptId = await upload('bob', 'continued', longer);
  const session = (await (await api.fetch('/v1/sessions/continued')).json()) as SessionDetail;
  expect(session).toMatchObject({ sent_person: 'ann', other_uploader_count: 1 });
  expect(await readTexts('ann', 'continued', transcriptId)).toEqual([]);
  expect(await (await api.fetch('/v1/sessions/continued/messages', as('bob'))).text()).toContain(SECRET);
});
