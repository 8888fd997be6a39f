import { describe, expect, it } from 'vitest';
import { isUniqueId, toAdvisorKey, toResponseKey } from './open-response.ts';

const key = (fields: { responseId?: string; requestId?: string; uuid?: string }, sessionId = 's', lineNumber = 7) =>
  toResponseKey({ responseId: null, requestId: null, uuid: null, ...fields }, sessionId, lineNumber);

describe('toResponseKey', () => {
  const unique = 'msg_01EwzvVEp8xhADrb1AKmgfNP';

  it('is a unique message id alone, whatever else a copy of the record has', () => {
    expect(key({ responseId: unique })).toBe(unique);
    expect(key({ responseId: unique, requestId: 'r', uuid: 'u' }, 'other', 1)).toBe(unique);
  });

  it('joins an id that may clash to the request, else to the line', () => {
    expect(key({ responseId: 'msg_1', requestId: 'r', uuid: 'u' })).toBe('msg_1/r');
    expect(key({ responseId: 'msg_1', uuid: 'u' })).toBe('msg_1/u');
    expect(key({ responseId: 'msg_1' })).toBe('msg_1/line:s:7');
  });

  it('falls back to the uuid, and to the place', () => {
    expect(key({ requestId: 'r', uuid: 'u' })).toBe('uuid:u');
    expect(key({ requestId: 'r' })).toBe('line:s:7');
  });

  it('names advisors after their response', () => {
    expect(toAdvisorKey('k', 2)).toBe('k#advisor-2');
  });
});

describe('isUniqueId', () => {
  it('takes ids of at least 20 characters', () => {
    expect(isUniqueId('cdf86093-cd0a-4d80-934d-40a735cb3b57')).toBe(true);
    expect(isUniqueId('x'.repeat(20))).toBe(true);
    expect(isUniqueId('x'.repeat(19))).toBe(false);
  });
});
