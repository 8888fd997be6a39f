import type { LedgerRow } from '@recount/usage';
import { describe, expect, it } from 'vitest';
import { describeEmptyRange, resolveFilter } from './resolve-filter.ts';

const toRow = (project: string, model: string, sessionId: string): LedgerRow =>
  ({ agent: 'claude-code', project, model, sessionId, timestampMs: Date.parse('2026-07-14T12:00:00Z') }) as LedgerRow;

const ledger = {
  rows: [
    toRow('/home/maya/code/billing-service', 'claude-opus-5', '5dd9f6f5-700b'),
    toRow('/home/maya/code/harbor', 'claude-sonnet-5', 'eee65f53-e942'),
  ],
  shared: [],
};

describe('resolveFilter', () => {
  it('accepts the names that tables print', () => {
    expect(
      resolveFilter(ledger, { project: ['billing'], model: ['opus'], session: '5dd9', agent: ['claude'] }),
    ).toEqual({
      project: ['/home/maya/code/billing-service'],
      model: ['claude-opus-5'],
      session: '5dd9f6f5-700b',
      agent: ['claude-code'],
    });
    expect(resolveFilter(ledger, { agent: ['codex'] }).agent).toEqual(['codex']);
    expect(resolveFilter(ledger, { fromMs: 1 })).toEqual({ fromMs: 1 });
  });

  it('means all that a partial name matches, and any of several names', () => {
    const projects = ['/home/maya/code/billing-service', '/home/maya/code/harbor'];
    expect(resolveFilter(ledger, { project: ['code'] }).project).toEqual(projects);
    expect(resolveFilter(ledger, { project: ['harbor', 'billing'] }).project).toEqual(projects.toReversed());
  });

  it.each([
    [{ project: ['biling'] }, 'No project matches "biling"; did you mean /home/maya/code/billing-service?'],
    [{ model: ['opus', 'gpt'] }, 'No model matches "gpt"; there are claude-opus-5, claude-sonnet-5.'],
    [{ session: 'ffff' }, 'No session matches "ffff"'],
  ])('refuses %j', (filter, message) => {
    expect(() => resolveFilter(ledger, filter)).toThrow(message);
  });
});

it('says when there is usage', () => {
  expect(describeEmptyRange(ledger, { fromMs: 1 }, 'UTC')).toContain('The latest session is of 2026-07-14');
  expect(describeEmptyRange({ rows: [] }, { fromMs: 1 }, 'UTC')).toBe('Nothing in this time range, nor in any other.');
  expect(describeEmptyRange(ledger, {}, 'UTC')).toBeUndefined();
});
