import { expect, it } from 'vitest';
import type { JsonObject } from '../../lines/json.ts';
import { parseTranscript } from '../../parse/parse-transcript.ts';
import { toJsonl } from '../../testing/transcript-lines.ts';
import { identifyTranscript } from '../identify-transcript.ts';

const START = Date.UTC(2026, 4, 12, 8);
const header = { recount: 'session', version: 1, agent: 'claude-code', session: 's1' };
const prompt = (second: number, display: string, pastedContents: JsonObject = {}, sessionId?: string): JsonObject => ({
  ...{ display, pastedContents, timestamp: START + second * 1000, project: '/home/ada/app' },
  ...(sessionId !== undefined && { sessionId }),
});

it('reads the prompts of a session, with pasted text if the line has it, and says that usage is unknown', async () => {
  const bytes = Buffer.from(
    toJsonl(
      header,
      prompt(0, 'Look for the heron', {}, 's1'),
      prompt(
        60,
        'Explain [Pasted text #1 +2 lines] and [Pasted text #2 +900 lines]',
        { 1: { id: 1, type: 'text', content: 'one\ntwo' }, 2: { id: 2, type: 'text', contentHash: 'c0ffee' } },
        's1',
      ),
    ),
  );
  expect(identifyTranscript({ path: 'x.ndjson', head: bytes })).toMatchObject({
    format: 'claude-code-prompts',
    agent: 'claude-code',
    sessionId: 's1',
    isRecognised: true,
  });
  const parsed = await parseTranscript('s1', bytes, { format: 'claude-code-prompts' });
  expect([...parsed.errors, ...parsed.warnings]).toEqual([]);
  expect(parsed.contentBlocks.map(({ content_text: text }) => text)).toEqual([
    'Look for the heron',
    'Explain one\ntwo and [Pasted text #2 +900 lines]',
  ]);
  expect(parsed.events).toMatchObject([{ kind: 'prompt' }, { kind: 'prompt' }]);
  expect(parsed.stats).toMatchObject({
    ...{ tokens_in: null, tokens_out: null, cache_read: null, cache_write: null, cost_estimate_usd: null },
    ...{ prompt_count: 2, turn_count: 0, initial_prompt: 'Look for the heron', duration_ms: 60_000 },
  });
  expect(parsed.metadata).toMatchObject({ sessionId: 's1', cwd: '/home/ada/app' });
});

it('reports lines that are not prompts', async () => {
  const bytes = Buffer.from(toJsonl(header, { typed: 'Look' }));
  const { errors } = await parseTranscript('s1', bytes, { format: 'claude-code-prompts' });
  expect(errors).toMatchObject([{ code: 'missing_type', lineNumber: 2 }]);
});

it.each([
  ['with ids of sessions', 's1'],
  ['without', undefined],
])('does not treat a whole history, %s, as a transcript', (_which, sessionId) => {
  const head = Buffer.from(toJsonl(prompt(0, 'Look', {}, sessionId), prompt(1, 'Again', {}, 's2')));
  const identity = identifyTranscript({ path: '/home/ada/.claude/history.jsonl', head });
  expect(identity).toMatchObject({ format: undefined, isRecognised: false, isPromptHistory: true });
});
