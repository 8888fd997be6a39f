import { describe, expect, it } from 'vitest';
import { newBlock, newMessage, newToolResult, newToolUse, newUsage, newUsageRecord } from '../records/new-records.ts';
import type { MessageRecord, UsageRecord } from '../records/records.ts';
import type { ApiResponse, ToolCall, TranscriptMessage } from '../records/rows.ts';
import { MessageAssembler } from './message-assembler.ts';
import { flatDefaultPrices } from './price-table.ts';
import { TranscriptTotals } from './transcript-totals.ts';
import { createUlidSequence } from './ulid-sequence.ts';

const NAME = 'a-name-of-20-characters';

function assemble(records: readonly (MessageRecord | UsageRecord)[], maxOpenMessages = 100) {
  const messages: TranscriptMessage[] = [];
  const responses: ApiResponse[] = [];
  const calls: ToolCall[] = [];
  const assembler = new MessageAssembler(
    {
      sessionId: 's',
      nextId: createUlidSequence('s'),
      prices: flatDefaultPrices,
      usageFrom: 'final',
      maxOpenMessages,
      maxOpenToolCalls: 100,
      maxMessagesInCheckpoint: 100,
      onLate: () => undefined,
      onKeyForgotten: () => undefined,
      onImplausible: () => undefined,
    },
    new TranscriptTotals(),
    {
      addMessage: (message) => messages.push(message),
      addBlock: () => undefined,
      addApiResponse: (response) => responses.push(response),
      addToolCall: (call) => calls.push(call),
    },
  );
  for (const [index, record] of records.entries()) {
    const place = { lineNumber: index + 1, byteOffset: index, byteLength: 1 };
    if (record.kind === 'message') assembler.addMessage(record, place);
    else assembler.addUsage(record, place);
  }
  while (assembler.closeOldest());
  return { messages, responses, calls };
}

const toolUse = newToolUse({ tool_name: 'shell', tool_kind: 'shell' });
const call = newBlock('tool_use', { tool_use_id: 'call-of-20-characters', toolUse });
const toolResult = newToolResult({ timestampMs: 2000, isError: false });
const result = newBlock('tool_result', { tool_result_id: 'call-of-20-characters', toolResult });
const text = (group: string) => newMessage('assistant', { group, blocks: [newBlock('text')], timestampMs: 1000 });
const used = (known: Partial<UsageRecord>) =>
  newUsageRecord({ usage: newUsage({ inputTokens: 10, outputTokens: 5 }), responseId: NAME, ...known });

describe('a response that is named after its messages', () => {
  it('is one message with the usage and the name, which its calls have too', () => {
    const { messages, responses, calls } = assemble([
      text('1'),
      newMessage('assistant', { group: '1', blocks: [call], timestampMs: 1000 }),
      newMessage('user', { blocks: [result] }),
      used({ group: '1', model: 'm' }),
    ]);
    expect(messages).toMatchObject([{ tokens_in: 10, tokens_out: 5, model: 'm', metadata: { line_count: 2 } }, {}]);
    expect(responses).toMatchObject([{ response_key: NAME, source: 'message', message_id: messages[0]?.id }]);
    expect(calls).toMatchObject([{ response_key: NAME, model: 'm', duration_ms: 1000 }]);
  });

  it('counts once if it is repeated, with its messages or without', () => {
    for (const again of [used({}), used({ group: '1' }), used({ group: '2' })]) {
      const { responses } = assemble([text('1'), used({ group: '1' }), text('2'), again]);
      expect(responses).toMatchObject([{ response_key: NAME, tokens_out: 5 }]);
    }
    const { responses } = assemble([used({}), text('1'), used({ group: '1' })]);
    expect(responses).toMatchObject([{ response_key: NAME, source: 'message' }]);
  });

  it('has no usage if none arrives, and its calls no response', () => {
    const { messages, responses, calls } = assemble([
      newMessage('assistant', { group: '1', blocks: [call] }),
      newMessage('user', { blocks: [result] }),
    ]);
    expect(messages[0]).toMatchObject({ tokens_in: null });
    expect(responses).toEqual([]);
    expect(calls).toMatchObject([{ response_key: null, is_error: false }]);
  });

  it('counts without its messages if they have left the window', () => {
    const { messages, responses } = assemble([text('1'), text('2'), text('3'), used({ group: '1' })], 2);
    expect(messages[0]).toMatchObject({ tokens_in: null });
    expect(responses).toMatchObject([{ response_key: NAME, source: 'progress', message_id: null }]);
  });
});
