import { expect, it } from 'vitest';
import type { JsonObject } from '../../lines/json.ts';
import { parseTranscript } from '../../parse/parse-transcript.ts';
import { toJsonl } from '../../testing/transcript-lines.ts';

const started = (id = 'thread-1'): JsonObject => ({ type: 'thread.started', thread_id: id });
const ended = (input: number, output: number, fields: JsonObject = {}): JsonObject => ({
  type: 'turn.completed',
  usage: { input_tokens: input, output_tokens: output },
  ...fields,
});
const parse = (...lines: JsonObject[]) =>
  parseTranscript('s', Buffer.from(toJsonl(...lines)), { format: 'codex-exec' });

it('names a total of the thread that falls, with both figures', async () => {
  const { warnings } = await parse(started(), ended(100, 10), ended(90, 20));
  expect(warnings.map(({ code, error }) => [code, error])).toEqual([
    ['total_mismatch', 'Input tokens of the thread: 90 stated, 100 counted'],
  ]);
  expect((await parse(started(), ended(100, 10), ended(100, 20), started('thread-2'), ended(1, 1))).warnings).toEqual(
    [],
  );
});

it('tells tokens that were written to the cache apart, and states the tier', async () => {
  const usage = { input_tokens: 100, cached_input_tokens: 60, cache_write_input_tokens: 30, output_tokens: 5 };
  const { apiResponses } = await parse(started(), { type: 'turn.completed', usage, service_tier: 'flex' });
  expect(apiResponses).toMatchObject([{ tokens_in: 10, cache_read: 60, cache_write: 30, service_tier: 'flex' }]);
});

it('names lines and items that it does not know, with the text and the usage in them', async () => {
  const novelty = { type: 'novelty', text: 'Seen', usage: { input_tokens: 5 } };
  const { notices } = await parse(
    started(),
    { ...novelty, type: 'turn.novelty' },
    { type: 'item.completed', item: novelty },
  );
  expect(notices.map(({ error }) => error)).toEqual(
    ['turn.novelty', 'item.completed/novelty'].flatMap((name) => [
      `Unknown line type: ${name}`,
      `Usage that is not counted, in lines of type ${name}`,
      `Text that is not shown, in lines of type ${name}`,
    ]),
  );
});
