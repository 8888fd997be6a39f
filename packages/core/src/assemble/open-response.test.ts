import { describe, expect, it } from 'vitest';
import { isUniqueId } from '../records/fields.ts';
import { NO_USAGE } from '../records/usage.ts';
import {
  createOpenResponse,
  joinProgress,
  type OpenResponse,
  toBilledRequestKey,
  toResponseKey,
} from './open-response.ts';

const key = (fields: { responseId?: string; requestId?: string; uuid?: string }, sessionId = 's', lineNumber = 7) =>
  toResponseKey({ responseId: null, requestId: null, uuid: null, ...fields }, sessionId, lineNumber);

describe('toResponseKey', () => {
  const unique = 'msg_01EwzvVEp8xhADrb1AKmgfNP';

  it('is only the message id if that is unique, whatever else a copy of the record has', () => {
    expect(key({ responseId: unique })).toBe(unique);
    expect(key({ responseId: unique, requestId: 'r', uuid: 'u' }, 'other', 1)).toBe(unique);
  });

  it('combines an id that may clash with the request, or else with the line', () => {
    expect(key({ responseId: 'msg_1', requestId: 'r', uuid: 'u' })).toBe('msg_1/r');
    expect(key({ responseId: 'msg_1', uuid: 'u' })).toBe('msg_1/u');
    expect(key({ responseId: 'msg_1' })).toBe('msg_1/line:s:7');
  });

  it('falls back to the uuid, then to the place', () => {
    expect(key({ requestId: 'r', uuid: 'u' })).toBe('uuid:u');
    expect(key({ requestId: 'r' })).toBe('line:s:7');
  });

  it('derives the keys of requests billed apart from their response', () => {
    expect(toBilledRequestKey('k', { source: 'advisor', position: 2 })).toBe('k#advisor-2');
  });
});

describe('isUniqueId', () => {
  it('is true for ids of at least 20 characters', () => {
    expect(isUniqueId('cdf86093-cd0a-4d80-934d-40a735cb3b57')).toBe(true);
    expect(isUniqueId('x'.repeat(20))).toBe(true);
    expect(isUniqueId('x'.repeat(19))).toBe(false);
  });
});

describe('joinProgress', () => {
  const toResponse = (source: 'message' | 'progress', known: Partial<OpenResponse>, facts = {}): OpenResponse => ({
    ...createOpenResponse({
      ...{ key: 'k', source, sessionId: 's', messageRowId: null, turnLine: 0, isSubagent: false, gitBranch: null },
      ...{ agentVersion: null, isMarkedCopy: false, isSynthetic: false },
      facts: {
        ...{ provider_message_id: 'k', request_id: null, model: null, timestamp: null, agent_id: null },
        ...{ stop_reason: null, line_number: 1, ...facts },
      },
    }),
    ...known,
  });
  const toUsage = (outputTokens: number, inputTokens: number) => ({ ...NO_USAGE, outputTokens, inputTokens });
  const billedRequests = [{ source: 'advisor' as const, position: 1, model: 'a', usage: toUsage(1, 1) }];

  it('takes the progress line alone if the message has no usage', () => {
    const progress = toResponse('progress', { usage: toUsage(1, 5) });
    expect(joinProgress(toResponse('message', { contentBytes: 9 }), progress)).toBe(progress);
  });

  it('takes the figures of the one with more output, and of the message if both are equal', () => {
    const message = toResponse('message', { usage: toUsage(7, 1) });
    const join = (outputTokens: number) =>
      joinProgress(message, toResponse('progress', { usage: toUsage(outputTokens, 2), billedRequests }));
    expect(join(6)).toMatchObject({ source: 'message', usage: toUsage(7, 1), billedRequests: [] });
    expect(join(7)).toMatchObject({ source: 'message', usage: toUsage(7, 1), billedRequests: [] });
    expect(join(8)).toMatchObject({ source: 'message', usage: toUsage(8, 2), billedRequests });
    expect(joinProgress(message, toResponse('progress', {}))).toMatchObject({ usage: toUsage(7, 1) });
  });

  it('takes what the message lacks from the progress line', () => {
    const progress = toResponse(
      'progress',
      { usage: toUsage(1, 1), contentBytes: 9, isSynthetic: true },
      { model: 'p', stop_reason: 'end' },
    );
    const usage = toUsage(7, 1);
    expect(joinProgress(toResponse('message', { usage, contentBytes: 4 }), progress)).toMatchObject({
      ...{ facts: { model: 'p', stop_reason: 'end' }, isSynthetic: true, contentBytes: 9 },
    });
    const message = toResponse('message', { usage, contentBytes: 10 }, { model: 'm', stop_reason: 'tool_use' });
    expect(joinProgress(message, progress)).toMatchObject({
      ...{ facts: { model: 'm', stop_reason: 'tool_use' }, isSynthetic: false, contentBytes: 10 },
    });
  });
});
