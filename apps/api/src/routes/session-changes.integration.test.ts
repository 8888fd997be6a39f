import { type SessionChanges, sessionChangesSchema } from '@recount/contract';
import { readEdits } from '@recount/db';
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { createTestApi, type TestApi } from '../testing/test-api.ts';
import { toLine } from '../testing/transcript-lines.ts';

const SESSION = 'changing-session';
/** More than are read in one page. */
const SMALL_EDITS = 250;

let api: TestApi;

const read = async (sessionId: string): Promise<SessionChanges> => {
  const response = await api.fetch(`/v1/sessions/${sessionId}/changes`);
  expect(response.status).toBe(200);
  return sessionChangesSchema.parse(await response.json());
};

async function findRowSet(sessionId: string): Promise<{ workspaceId: string; rowSetId: string }> {
  const { rows } = await api.database.pool.query(
    `SELECT workspace_id AS "workspaceId", row_set_id AS "rowSetId" FROM recount.transcripts WHERE session_id = $1`,
    [sessionId],
  );
  return rows[0];
}

beforeAll(async () => {
  api = await createTestApi();
  let index = 0;
  const call = (id: string, name: string, input: object, isError = false): string => {
    const message = { id: `msg_${id}`, role: 'assistant', model: 'claude-sonnet-4-5' };
    const usage = { input_tokens: 3, output_tokens: 1 };
    const result = { type: 'tool_result', tool_use_id: id, content: 'done', is_error: isError };
    return [
      { type: 'assistant', message: { ...message, usage, content: [{ type: 'tool_use', id, name, input }] } },
      { type: 'user', message: { role: 'user', content: [result] } },
    ]
      .map((line) => toLine(SESSION, index++, line))
      .join('');
  };
  const edit = (file_path: string, old_string: string, new_string: string) => ({ file_path, old_string, new_string });
  const lines = [
    call('e1', 'Edit', edit('/p/a.ts', 'one\ntwo\nthree', 'one\n2\nthree\nfour')),
    call('e2', 'MultiEdit', {
      file_path: '/p/a.ts',
      edits: [
        { old_string: 'x', new_string: '' },
        { old_string: '', new_string: 'y\nz' },
      ],
    }),
    call('w1', 'Write', { file_path: '/p/b.md', content: 'a\nb\nc\n' }),
    call('failed', 'Edit', edit('/p/c.ts', 'not', 'there'), true),
    call('cut', 'Write', { file_path: '/p/large.txt', content: 'line\n'.repeat(100_000) }),
    call('long-line', 'Write', { file_path: '/p/large.txt', content: 'line\n'.repeat(1_000_000) }),
    call('read', 'Read', { file_path: '/p/d.ts' }),
    ...Array.from({ length: SMALL_EDITS }, (_, number) => call(`s${number}`, 'Edit', edit('/p/s.ts', 'b', 'c'))),
  ];
  await api.upload(lines.join(''), { session_id: SESSION, path: `/p/${SESSION}.jsonl` });
  await api.upload(toLine('quiet', 0, { type: 'user', message: { role: 'user', content: 'Hello' } }), {
    session_id: 'quiet',
    path: '/p/quiet.jsonl',
  });
  await api.work();
});
afterAll(() => api.close());

it('counts files beyond what memory holds as one without a path, and says so', async () => {
  const FILES = 'files-session';
  const paths = Array.from({ length: 90 }, (_, index) => `/${index}/${'p'.repeat(100_000)}`);
  const lines = paths.map((path, index) => {
    const input = { patch: `*** Begin Patch\n*** Add File: ${path}\n+line\n*** End Patch` };
    const content = [{ type: 'tool_use', id: `p${index}`, name: 'Edit', input }];
    const message = { id: `m${index}`, role: 'assistant', content };
    return toLine(FILES, index, { type: 'assistant', message });
  });
  await api.upload(lines.join(''), { session_id: FILES, path: `/p/${FILES}.jsonl` });
  await api.work();
  const changes = await read(FILES);
  expect(changes).toMatchObject({ edits: 90, lines_added: 90, files: 84, is_cut: true });
  expect(changes.by_file.find(({ file_path: path }) => path === null)).toMatchObject({ lines_added: 6 });
});

it('counts an edit of several files beyond those once, and lists them even if all others have more lines', async () => {
  const PATCH = 'patch-session';
  const toPatch = (paths: readonly string[], text: string): string =>
    ['*** Begin Patch', ...paths.flatMap((path) => [`*** Add File: ${path}`, text]), '*** End Patch'].join('\n');
  const known = Array.from({ length: 210 }, (_, index) => `/${index}/${'p'.repeat(40_000)}`);
  const patches = [
    ...known.map((path) => toPatch([path], '+one\n+two\n+three')),
    toPatch(['/beyond/a', '/beyond/b'], '+line'),
  ];
  const lines = patches.map((patch, index) => {
    const content = [{ type: 'tool_use', id: `q${index}`, name: 'Edit', input: { patch } }];
    const message = { id: `m${index}`, role: 'assistant', content };
    return toLine(PATCH, index, { type: 'assistant', message });
  });
  await api.upload(lines.join(''), { session_id: PATCH, path: `/p/${PATCH}.jsonl` });
  await api.work();
  const { by_file: files, ...changes } = await read(PATCH);
  expect(changes).toMatchObject({ edits: 211, lines_added: 632, files: 210, is_cut: true });
  expect(files).toHaveLength(200);
  const { file_path: path, ...beyond } = files.at(-1) ?? {};
  expect([path === null, beyond]).toEqual([true, { edits: 1, lines_added: 2, lines_removed: 0 }]);
});

it('counts no lines of a call that is cut, also if its message has it again', async () => {
  const CUT = 'cut-session';
  const edit = (new_string: string) => ({
    ...{ type: 'tool_use', id: 'c1', name: 'Edit' },
    input: { file_path: '/p/c.ts', old_string: 'a', new_string },
  });
  const lines = [edit('b\n'.repeat(500_000)), edit('b')].map((use, index) =>
    toLine(CUT, index, { type: 'assistant', message: { id: 'c', role: 'assistant', content: [use] } }),
  );
  await api.upload(lines.join(''), { session_id: CUT, path: `/p/${CUT}.jsonl` });
  await api.work({ maxLineBytes: 4 * 1024 * 1024 });
  expect(await read(CUT)).toMatchObject({ edits: 1, lines_added: 0, unknown_edits: 1 });
});

it('counts the files that a patch deletes or only moves beside those that it changes', async () => {
  const DELETION = 'deletion-session';
  const patch = [
    ...['*** Begin Patch', '*** Delete File: /p/old.ts', '*** Update File: /p/a.ts', '@@', '-a', '+b'],
    ...['*** Update File: /p/b.ts', '*** Move to: /p/c.ts', '*** End Patch'],
  ].join('\n');
  const content = [{ type: 'tool_use', id: 'd1', name: 'Edit', input: { patch } }];
  const line = toLine(DELETION, 0, { type: 'assistant', message: { id: 'd', role: 'assistant', content } });
  await api.upload(line, { session_id: DELETION, path: `/p/${DELETION}.jsonl` });
  await api.work();
  const none = { edits: 1, lines_added: 0, lines_removed: 0 };
  expect(await read(DELETION)).toMatchObject({
    ...{ edits: 1, lines_added: 1, lines_removed: 1, files: 3 },
    by_file: [
      { file_path: '/p/a.ts', edits: 1, lines_added: 1, lines_removed: 1 },
      { file_path: '/p/old.ts', ...none },
      { file_path: '/p/b.ts', ...none },
    ],
  });
});

it('reads the edits of one long line together, until their inputs are too long', async () => {
  const WIDE = 'wide-session';
  const content = Array.from({ length: 300 }, (_, index) => {
    const input = { file_path: '/p/w.ts', old_string: 'a', new_string: 'b'.repeat(5000) };
    return { type: 'tool_use', id: `w${index}`, name: 'Edit', input };
  });
  const line = toLine(WIDE, 0, { type: 'assistant', message: { id: 'm', role: 'assistant', content } });
  await api.upload(line, { session_id: WIDE, path: `/p/${WIDE}.jsonl` });
  await api.work({ maxLineBytes: 2 * line.length });
  expect(await read(WIDE)).toMatchObject({ edits: 300, lines_added: 300, lines_removed: 300, unknown_edits: 0 });
  const range = { limit: 300, maxBytes: 100 * 1024 };
  const page = await readEdits(api.database.database, await findRowSet(WIDE), range);
  expect(page).toHaveLength(Math.ceil(range.maxBytes / JSON.stringify(content[0]?.input).length));
});

it('reads no inputs but the edits’ own, whatever their ids have in other messages', async () => {
  const COPIES = 'copies-session';
  const toId = (index: number): string => `toolu_${String(index).padStart(24, '0')}`;
  const edit = (index: number, new_string: string) => ({
    ...{ type: 'tool_use', id: toId(index), name: 'Edit' },
    input: { file_path: '/p/c.ts', old_string: 'a', new_string },
  });
  const lines = Array.from({ length: 20 }, (_, index) => {
    // The first edit comes again in each message, where it does not count, with a long text.
    const content = [edit(index, 'b'), ...(index > 0 ? [edit(0, 'c'.repeat(1000))] : [])];
    return toLine(COPIES, index, { type: 'assistant', message: { id: `m${index}`, role: 'assistant', content } });
  });
  await api.upload(lines.join(''), { session_id: COPIES, path: `/p/${COPIES}.jsonl` });
  await api.work();
  expect(await read(COPIES)).toMatchObject({ edits: 20, lines_added: 20, unknown_edits: 0 });
  const execute = vi.spyOn(api.database.database, 'execute');
  onTestFinished(() => execute.mockRestore());
  const range = { limit: 100, maxBytes: 100 * 1024 };
  expect(await readEdits(api.database.database, await findRowSet(COPIES), range)).toHaveLength(20);
  const answers = await Promise.all(execute.mock.results.map(({ value }) => value));
  expect(answers.flatMap(({ rows }) => rows)).toHaveLength(2 * 20);
});

it('sums the lines of edits that did not fail, and reports those it cannot count', async () => {
  expect(await read(SESSION)).toMatchObject({
    session_id: SESSION,
    edits: 5 + SMALL_EDITS,
    files: 4,
    lines_added: 2 + 2 + 3 + SMALL_EDITS,
    lines_removed: 1 + 1 + SMALL_EDITS,
    whole_file_edits: 1,
    unknown_edits: 2,
    is_cut: false,
    by_file: [
      { file_path: '/p/s.ts', edits: SMALL_EDITS, lines_added: SMALL_EDITS, lines_removed: SMALL_EDITS },
      { file_path: '/p/a.ts', edits: 2, lines_added: 4, lines_removed: 2 },
      { file_path: '/p/b.md', edits: 1, lines_added: 3, lines_removed: 0 },
      { file_path: '/p/large.txt', edits: 2, lines_added: 0, lines_removed: 0 },
    ],
  });
});

it('is all zero for a session without edits', async () => {
  expect(await read('quiet')).toMatchObject({ edits: 0, files: 0, lines_added: 0, lines_removed: 0, by_file: [] });
});
