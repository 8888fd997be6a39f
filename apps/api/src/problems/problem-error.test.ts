import { expect, it } from 'vitest';
import { toLogReason } from './problem-error.ts';

it('describes an error without private details', () => {
  const framework = Object.assign(new Error('/v1/sessions?prompt=secret'), { code: 'FST_ERR_REP_ALREADY_SENT' });
  expect(toLogReason(framework)).toBe('FST_ERR_REP_ALREADY_SENT');
  expect(toLogReason(new Error('Failed query: select … params: secret'))).not.toContain('secret');
  expect(toLogReason(new TypeError('x is not a function'))).toBe('TypeError: x is not a function');
  expect(toLogReason('secret')).not.toContain('secret');
});
