import { expect, it } from 'vitest';
import { classifyFailure } from './check-nodes.ts';

it.each([
  ['index "sessions_pk_102028" lacks a main relation fork', 'damaged'],
  ['item order invariant violated for index "sessions_pk_102028"', 'damaged'],
  ['could not open relation with OID 4711', 'dropped'],
  ['function public.bt_index_check(regclass, boolean) does not exist', 'unusable'],
  ['permission denied for function bt_index_check', 'unusable'],
  ['server closed the connection unexpectedly', 'lost'],
  ['connection to the remote node recount@127.0.0.1:9701 failed with the following error: …', 'lost'],
])('reads the message of a node that fails: %s', (message, kind) => {
  expect(classifyFailure(message)).toBe(kind);
});
