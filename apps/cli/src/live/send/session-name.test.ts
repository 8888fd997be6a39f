import { expect, it } from 'vitest';
import { toSessionName } from './session-name.ts';

it.each([
  ['the agent’s own session id', 's-1', 's-1'],
  ['the stream’s id if the agent named none', null, 'stream'],
  ['the stream’s id if no URL can name the session', '..', 'stream'],
  ['the stream’s id if the API refuses the session’s', 'a\nb', 'stream'],
])('is %s', (_what, sessionId, name) => {
  expect(toSessionName({ sessionId, streamId: 'stream' })).toBe(name);
});
