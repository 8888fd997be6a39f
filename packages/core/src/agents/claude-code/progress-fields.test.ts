import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../lines/json.ts';
import { parseTimestampMs } from '../../records/timestamps.ts';
import { toProgressFields } from './progress-fields.ts';

const line = {
  type: 'progress',
  uuid: 'u-line',
  timestamp: '2026-01-21T20:53:26.644Z',
  gitBranch: 'main',
  version: '2.1.14',
  data: {
    type: 'agent_progress',
    agentId: 'a2018e5',
    message: {
      type: 'assistant',
      timestamp: '2026-01-21T20:53:26.621Z',
      uuid: 'u-message',
      requestId: 'req_1',
      message: { id: 'msg_1', model: 'claude-x', stop_reason: null, content: [], usage: { output_tokens: 1 } },
    },
  },
};
const read = (value: JsonObject) =>
  toProgressFields(
    value,
    parseTimestampMs(value.timestamp),
    () => undefined,
    () => undefined,
  );

describe('toProgressFields', () => {
  it("reads the sub-agent's response, not the line that contains it", () => {
    expect(read(line)).toEqual({
      messageId: 'msg_1',
      requestId: 'req_1',
      uuid: 'u-message',
      timestampMs: Date.UTC(2026, 0, 21, 20, 53, 26, 621),
      agentId: 'a2018e5',
      model: 'claude-x',
      stopReason: null,
      content: [],
      usage: { output_tokens: 1 },
      gitBranch: 'main',
      version: '2.1.14',
      isMarkedCopy: false,
      reportedCostUsd: null,
    });
  });

  it('takes the time of the line if the message has none', () => {
    const message = { ...line.data.message, timestamp: 'never' };
    expect(read({ ...line, data: { ...line.data, message } })?.timestampMs).toBe(
      Date.UTC(2026, 0, 21, 20, 53, 26, 644),
    );
  });

  it('is undefined for other progress, for users, and without usage', () => {
    const { data } = line;
    for (const other of [
      null,
      'agent_progress',
      { ...data, type: 'bash_progress' },
      { ...data, message: null },
      { ...data, message: { ...data.message, type: 'user' } },
      { ...data, message: { ...data.message, message: { ...data.message.message, usage: null } } },
    ]) {
      expect(read({ ...line, data: other })).toBeUndefined();
    }
  });
});
