import type { ParsedContentBlock, ToolCall, TranscriptBatch, TranscriptSummary, UsageSums } from '@recount/core';
import { expect, it } from 'vitest';
import { FindingDeriver } from './findings.ts';

const ORIGIN = {
  ...{ workspaceId: 'w', sessionId: 's', rowSetId: 't', agent: 'claude-code', priceVersion: '1' },
  // Sub-agents have no end that could be missing.
  ...{ isSubagent: true, isStream: false, sentRepository: null },
};

const toCall = (line: number, changes: Partial<ToolCall>): ToolCall =>
  ({
    ...{
      call_key: `r${line}/call-1`,
      line_number: line,
      is_subagent: false,
      message_id: `m${line}`,
      response_key: `r${line}`,
    },
    ...{ timestamp: null, model: 'model', tool_name: 'Bash', tool_kind: 'shell', file_path: null, program: 'make' },
    ...{ input_bytes: line, output_bytes: 3, is_error: true, is_denied: false, ...changes },
  }) as ToolCall;

const toBatch = (batch: Partial<TranscriptBatch>): TranscriptBatch =>
  ({ contentBlocks: [], toolCalls: [], events: [], apiResponses: [], ...batch }) as unknown as TranscriptBatch;

const TEXT = {
  ...{ tool_use_id: null, tool_kind: null, tool_input: null, tool_result_id: 'call-1', result_text: 'abc' },
  ...{ message_id: 'm9', metadata: {} },
} as unknown as ParsedContentBlock;

it('finds errors whose text comes after another call with the same short id has succeeded', () => {
  const deriver = new FindingDeriver(ORIGIN);
  const succeeded = toCall(4, { is_error: false });
  deriver.add(toBatch({ toolCalls: [toCall(1, {}), toCall(2, {}), toCall(3, {}), succeeded] }));
  deriver.add(toBatch({ contentBlocks: [TEXT] }));
  expect(deriver.isExact).toBe(true);
  const found = deriver.toFindings({} as TranscriptSummary, {} as UsageSums);
  expect(found).toMatchObject([{ kind: 'repeated-error', times: 3, line_number: 1 }]);
});
