import type { Issue } from '@recount/core';
import { expect, it } from 'vitest';
import { describeSecrets } from './redaction.ts';

const toIssue = (lineNumber: number): Issue => ({
  ...{ code: 'secret_redacted', severity: 'notice', error: 'Secret removed', lineNumber, byteOffset: 0, count: 1 },
});

it('describes secrets that were removed now beside those that an earlier copy lacked', () => {
  const first = describeSecrets(undefined, { counts: { token: 1 }, issues: [toIssue(1)] });
  expect(describeSecrets({ ...first }, { counts: { token: 2, key: 1 }, issues: [toIssue(2)] })).toEqual({
    secrets: { counts: { token: 3, key: 1 }, issues: [toIssue(1), toIssue(2)] },
  });
});
