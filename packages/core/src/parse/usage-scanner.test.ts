import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ApiResponse } from '../records/rows.ts';
import { parseTranscript } from './parse-transcript.ts';
import { createUsageScanner } from './usage-scanner.ts';

const SESSION = 'session-1';
const toLine = (value: object): string => `${JSON.stringify({ sessionId: SESSION, cwd: '/home/ada/app', ...value })}\n`;

function assistant(id: number, output: number, { stop = null as string | null, search = false } = {}): string {
  return toLine({
    type: 'assistant',
    uuid: `a-${id}-${output}`,
    requestId: `req_${id}`,
    timestamp: `2026-03-02T10:00:${String(id % 60).padStart(2, '0')}.000Z`,
    message: {
      id: `msg_of_the_scanner_test_${id}`,
      model: 'claude-sonnet-4-5',
      role: 'assistant',
      content: search
        ? [{ type: 'tool_use', id: `toolu_${id}`, name: 'WebSearch', input: { query: 'heron' } }]
        : [{ type: 'text', text: 'The "usage" of herons. '.repeat(output % 20) }],
      stop_reason: stop,
      usage: { input_tokens: 10, output_tokens: output, cache_read_input_tokens: 100 },
    },
  });
}

const user = (id: number, text: string): string =>
  toLine({
    type: 'user',
    uuid: `u-${id}`,
    timestamp: '2026-03-02T09:59:00.000Z',
    message: { role: 'user', content: text },
  });

const searchResult = (id: number, searchCount: number): string =>
  toLine({
    type: 'user',
    uuid: `r-${id}`,
    message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: `toolu_${id}`, content: 'found' }] },
    toolUseResult: { query: 'heron', searchCount },
  });

/** A sub-agent's response, as some versions write it into its parent's transcript. */
const progress = (id: number, output: number): string =>
  toLine({
    type: 'progress',
    data: { type: 'agent_progress', agentId: 'a1', message: JSON.parse(assistant(100 + id, output)) },
  });

function scan(bytes: Buffer, chunkBytes: number) {
  const responses: ApiResponse[] = [];
  const onResponse = (response: ApiResponse) => void responses.push(response);
  const scanner = createUsageScanner(SESSION, { format: 'claude-code', onResponse });
  for (let start = 0; start < bytes.length; start += chunkBytes)
    scanner.push(bytes.subarray(start, start + chunkBytes));
  return { ...scanner.finish(), responses };
}

/** Fields that a scan leaves to its caller, or that refer to rows that it does not make. */
const withoutPrice = ({ message_id: _id, turn_line: _turn, ...response }: ApiResponse) =>
  Object.fromEntries(Object.entries(response).filter(([name]) => !name.startsWith('cost_') && name !== 'price_basis'));

describe('createUsageScanner', () => {
  it('recognises a session that was answered and has no usage', () => {
    const answer = toLine({
      ...{
        type: 'assistant',
        uuid: 'a',
        message: { id: 'msg_1', role: 'assistant', content: [{ type: 'text', text: 'It flew' }] },
      },
    });
    const questions = Array.from({ length: 300 }, (_, index) => user(index, 'Where is the heron?')).join('');
    const isWithoutUsage = (text: string) => scan(Buffer.from(text), 100).isWithoutUsage;
    expect(isWithoutUsage(questions)).toBe(false);
    expect(isWithoutUsage(questions + answer)).toBe(true);
    expect(isWithoutUsage(questions + answer + assistant(1, 7))).toBe(false);
  });

  it('finds the responses that a full parse finds', async () => {
    const id = fc.integer({ min: 1, max: 6 });
    const line = fc.oneof(
      fc
        .record({
          id,
          output: fc.integer({ min: 1, max: 400 }),
          stop: fc.constantFrom(null, 'end_turn'),
          search: fc.boolean(),
        })
        .map(({ id: number, output, ...rest }) => assistant(number, output, rest)),
      fc.tuple(id, fc.integer({ min: 1, max: 40 })).map(([number, output]) => progress(number, output)),
      id.map((number) => user(number, 'Write about "usage" and herons')),
      fc
        .tuple(id, fc.nat(9))
        .map(([number, count]) => assistant(number, 9, { search: true }) + searchResult(number, count)),
      fc.constantFrom('{"type":"assis\n', '\n', toLine({ type: 'summary', summary: 'Herons' })),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(line, { maxLength: 40 }),
        fc.integer({ min: 50, max: 5000 }),
        async (lines, chunkBytes) => {
          const bytes = Buffer.from(lines.join(''));
          const { apiResponses, metadata } = await parseTranscript(SESSION, bytes);
          const scanned = scan(bytes, chunkBytes);
          expect(scanned.responses.map(withoutPrice)).toEqual(apiResponses.map(withoutPrice));
          expect(scanned.lineCount).toBe(metadata.lineCount);
        },
      ),
    );
  });

  it('knows where and when the session began, from lines without usage', () => {
    const bytes = Buffer.from(user(1, 'Hello') + assistant(1, 5).replaceAll('/home/ada/app', '/home/ada/other'));
    expect(scan(bytes, 1000)).toMatchObject({ project: '/home/ada/app', firstTimestamp: '2026-03-02T09:59:00.000Z' });
  });

  it('throws for an unreadable format', () => {
    expect(() => createUsageScanner(SESSION, { format: 'nobody', onResponse: () => undefined })).toThrow(TypeError);
  });
});
