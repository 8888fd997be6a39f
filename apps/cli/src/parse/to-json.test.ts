import { parseTranscript } from '@recount/core';
import { describe, expect, it } from 'vitest';
import { toJson, toNdjson } from './to-json.ts';

const toLine = (index: number, fields: Record<string, unknown>): string =>
  `${JSON.stringify({ sessionId: 's', uuid: `u${index}`, timestamp: '2026-03-02T10:00:00.000Z', ...fields })}\n`;
const answer = (outputTokens: number, text: string) => ({
  type: 'assistant',
  message: { id: 'm', role: 'assistant', content: [{ type: 'text', text }], usage: { output_tokens: outputTokens } },
});
const transcript = [
  toLine(0, { type: 'user', message: { content: 'a "prompt" with\nlines and ü' } }),
  toLine(1, answer(1, 'first')),
  '{"broken\n',
  ...Array.from({ length: 1500 }, (_, index) => toLine(index + 2, { type: 'user', message: { content: `${index}` } })),
  toLine(9999, answer(7, 'last')),
].join('');

describe('toJson', () => {
  it('is the whole parse result', async () => {
    const result = await parseTranscript('s', transcript);
    expect(JSON.parse([...toJson(result)].join(''))).toEqual(JSON.parse(JSON.stringify(result)));
    expect(result.errors).toHaveLength(1);
  });

  it('is valid for an empty transcript', async () => {
    const result = await parseTranscript('s', '');
    expect(JSON.parse([...toJson(result)].join(''))).toEqual(JSON.parse(JSON.stringify(result)));
  });
});

describe('toNdjson', () => {
  it('gives the same rows, one per line', async () => {
    let text = '';
    for await (const part of toNdjson('s', transcript, {})) text += part;
    const lines = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { kind: string; ordinal: number });
    const ofKind = (kind: string) => lines.filter((line) => line.kind === kind).map(({ kind: _kind, ...row }) => row);
    const result = JSON.parse(JSON.stringify(await parseTranscript('s', transcript)));
    const messages = ofKind('message');
    expect(messages).toEqual(result.messages);
    expect(ofKind('content_block')).toEqual(result.contentBlocks);
    expect(ofKind('api_response')).toEqual(result.apiResponses);
    expect(ofKind('tool_call')).toEqual(result.toolCalls);
    expect(ofKind('event')).toEqual(
      result.events.map(({ kind, ...event }: { kind: string }) => ({ event_kind: kind, ...event })),
    );
    expect(result.events.length).toBeGreaterThan(0);
    expect(ofKind('issue')).toMatchObject(result.errors);
    expect(ofKind('stats')).toEqual([result.stats]);
    expect(ofKind('metadata')).toEqual([result.metadata]);
    const { contentBlocks, apiResponses, toolCalls, events } = result;
    const rows = [result.messages, contentBlocks, apiResponses, toolCalls, events].flat();
    expect(lines).toHaveLength(rows.length + 3);
  });
});
