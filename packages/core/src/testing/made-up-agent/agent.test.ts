import { readFileSync } from 'node:fs';
import { afterAll, expect, it, vi } from 'vitest';

// Other tests of this worker have loaded the list without the agent, and must keep finding it without it.
const LIST = '../../agents/all-agents.ts';
vi.resetModules();
vi.doMock(LIST, async (importOriginal) => {
  const { AGENTS } = await importOriginal<typeof import('../../agents/all-agents.ts')>();
  return { AGENTS: [...AGENTS, (await import('./agent.ts')).parley] };
});
const { identifyTranscript } = await import('../../agents/identify-transcript.ts');
const { parseTranscript } = await import('../../parse/parse-transcript.ts');
afterAll(() => {
  vi.doUnmock(LIST);
  vi.resetModules();
});

const CODE = readFileSync(new URL('./agent.ts', import.meta.url), 'utf8');
const PAGE = readFileSync(new URL('../../../../../docs/adding-an-agent.md', import.meta.url), 'utf8');
const blocksOf = (language: string) =>
  [...PAGE.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, 'gms'))].map(([, code = '']) => code);

it('is one file of less than 150 lines', () => {
  expect(CODE.split('\n').length).toBeLessThan(150);
});

it('is the code that docs/adding-an-agent.md shows', () => {
  const shown = blocksOf('ts');
  expect(shown.length).toBeGreaterThan(4);
  const withoutIndents = (code: string) => code.replaceAll(/^ +/gm, '');
  for (const code of shown) expect(withoutIndents(CODE)).toContain(withoutIndents(code));
});

it('reads the transcript that docs/adding-an-agent.md shows', async () => {
  const [talk = ''] = blocksOf('json');
  const head = Buffer.from(talk);
  expect(identifyTranscript({ head })).toMatchObject({ agent: 'parley', format: 'parley-log', sessionId: 'talk-one' });
  const parsed = await parseTranscript('talk-one', talk, { format: 'parley-log' });
  expect([...parsed.errors, ...parsed.warnings]).toEqual([]);
  expect(parsed.stats).toMatchObject({
    total_messages: 3,
    prompt_count: 1,
    turn_count: 1,
    initial_prompt: 'Look for the heron',
  });
  expect(parsed.apiResponses).toMatchObject([{ tokens_in: 40, tokens_out: 20, cache_read: 60, model: 'parley-large' }]);
  expect(parsed.toolCalls).toMatchObject([
    { tool_kind: 'read', file_path: 'a.txt', duration_ms: 1000, is_error: false },
  ]);
});

it('reports what it cannot read as issues', async () => {
  const lines = [
    { parley: 'log', talk: 't' },
    { say: 'model', ref: 'r', text: 'x'.repeat(100), spent: { in: -1, out: 2 ** 40 } },
    { huh: 1 },
  ];
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
  const parsed = await parseTranscript('t', text, { format: 'parley-log', maxInlineContentBytes: 10 });
  expect(parsed.warnings.map(({ code }) => code)).toEqual(['invalid_usage', 'invalid_usage']);
  expect(parsed.notices.map(({ code }) => code)).toEqual(['unknown_line_type']);
  expect(parsed.contentBlocks).toMatchObject([{ content_text: 'x'.repeat(10), metadata: { truncated: true } }]);
});
