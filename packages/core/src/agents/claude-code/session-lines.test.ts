import { describe, expect, it } from 'vitest';
import { createSessionFacts } from '../../assemble/session-facts.ts';
import type { JsonObject } from '../../lines/json.ts';
import { createClaudeCodeReader } from './reader.ts';

const place = { lineNumber: 1, byteOffset: 0, byteLength: 0, arrivalMs: undefined };

function factsOf(...lines: JsonObject[]) {
  const facts = createSessionFacts();
  const reader = createClaudeCodeReader({ maxInlineContentBytes: 100, report: () => {} });
  for (const line of lines) {
    const { type = '', timestampMs, records } = reader.read(line, place);
    facts.observeLine(type, timestampMs);
    for (const record of records) {
      if (record.kind === 'session') facts.observe(record);
      if (record.kind === 'message' && record.model !== null && !record.isSynthetic) facts.observeModel(record.model);
    }
  }
  return facts;
}

const metadataOf = (...lines: JsonObject[]) => factsOf(...lines).toMetadata();

describe('what lines say about their session', () => {
  it('are empty without lines', () => {
    const facts = factsOf();
    expect(facts.toMetadata()).toEqual({
      sessionId: null,
      cwd: null,
      version: null,
      gitBranch: null,
      repository: null,
      commitHash: null,
      entrypoint: null,
      agentId: null,
      permissionMode: null,
      agentName: null,
      firstTimestamp: null,
      lastTimestamp: null,
      title: null,
      titleSource: null,
      models: [],
      pullRequests: [],
      reportedTotals: null,
      forkedFromSessionId: null,
      lineTypes: {},
    });
    expect(facts.toDurationMs()).toBe(0);
  });

  it('take each field from the first line that has it', () => {
    const metadata = metadataOf(
      { type: 'summary', cwd: '' },
      { type: 'user', cwd: '/a', sessionId: 's1' },
      { type: 'progress', cwd: '/b', version: '1', gitBranch: 'main', sessionId: 's2' },
      { type: 'user', version: '2', entrypoint: 'cli', agentId: 'a1', forkedFrom: { sessionId: 's0' } },
    );
    expect(metadata).toMatchObject({
      cwd: '/a',
      sessionId: 's1',
      version: '1',
      gitBranch: 'main',
      entrypoint: 'cli',
      agentId: 'a1',
      forkedFromSessionId: 's0',
    });
  });

  it('take the earliest and latest timestamp of all lines, in any order and of any type', () => {
    const times = ['2025-06-01T00:00:02Z', 'never', '2025-06-01T02:00:00+02:00', '2025-06-01T00:00:05Z', null, 7];
    const facts = factsOf(...times.map((timestamp) => ({ type: 'progress', timestamp })));
    expect(facts.toMetadata()).toMatchObject({
      firstTimestamp: '2025-06-01T00:00:00.000Z',
      lastTimestamp: '2025-06-01T00:00:05.000Z',
    });
    expect(facts.toDurationMs()).toBe(5000);
  });

  it('prefer the user’s title to the generated one, and that to a summary', () => {
    const summary = { type: 'summary', summary: ' First ' };
    const generated = { type: 'ai-title', aiTitle: 'Generated' };
    const custom = { type: 'custom-title', customTitle: 'Mine' };
    expect(metadataOf(summary, { type: 'summary', summary: 'Second' })).toMatchObject({
      title: 'First',
      titleSource: 'summary',
    });
    expect(metadataOf(generated, summary)).toMatchObject({ title: 'Generated', titleSource: 'generated' });
    expect(metadataOf(custom, generated, summary)).toMatchObject({ title: 'Mine', titleSource: 'custom' });
    expect(metadataOf({ type: 'custom-title', customTitle: ' ' }, generated)).toMatchObject({ title: 'Generated' });
  });

  it('take the last value of what is rewritten as it changes', () => {
    const metadata = metadataOf(
      { type: 'custom-title', customTitle: 'Old' },
      { type: 'custom-title', customTitle: 'New' },
      { type: 'custom-title', customTitle: 5 },
      { type: 'permission-mode', permissionMode: 'default' },
      { type: 'user', permissionMode: 'plan' },
      { type: 'user', permissionMode: null },
      { type: 'agent-name', agentName: 'one' },
      { type: 'agent-name', agentName: 'two' },
    );
    expect(metadata).toMatchObject({ title: 'New', permissionMode: 'plan', agentName: 'two' });
  });

  it('collect each pull request once', () => {
    const link = (prNumber: unknown, prUrl: string | null) => ({ type: 'pr-link', prNumber, prUrl }) as JsonObject;
    expect(
      metadataOf(
        link(1, 'https://example.org/1'),
        link(2, null),
        { ...link(1, 'https://example.org/1'), prRepository: 'o/r' },
        link('three', 'https://example.org/3'),
      ).pullRequests,
    ).toEqual([
      { number: 1, url: 'https://example.org/1', repository: 'o/r' },
      { number: 2, url: null, repository: null },
      { number: null, url: 'https://example.org/3', repository: null },
    ]);
  });

  it('tell pull requests without an address apart by repository and number', () => {
    const link = (prRepository: string, prNumber: number) => ({ type: 'pr-link', prRepository, prNumber });
    const { pullRequests } = metadataOf(link('o/r', 1), link('o/r', 2), link('o/s', 1), link('o/r', 1));
    expect(pullRequests.map(({ repository, number }) => [repository, number])).toEqual([
      ['o/r', 1],
      ['o/r', 2],
      ['o/s', 1],
    ]);
  });

  it('prefer the total of the session to a run’s total, whichever comes first, and the last of each', () => {
    const ofRun = (total_cost_usd: number) => ({ type: 'result', total_cost_usd });
    const ofSession = (totalCostUSD: number) => ({ type: 'cost-state', totalCostUSD });
    expect(metadataOf(ofRun(1), ofRun(2)).reportedTotals).toMatchObject({ source: 'result', cost_usd: 2 });
    for (const lines of [
      [ofSession(3), ofSession(4), ofRun(5)],
      [ofRun(5), ofSession(3), ofSession(4)],
    ]) {
      expect(metadataOf(...lines).reportedTotals).toMatchObject({ source: 'cost-state', cost_usd: 4 });
    }
  });

  it('ignore a permission mode that does not change', () => {
    const reader = createClaudeCodeReader({ maxInlineContentBytes: 100, report: () => {} });
    const modes = ['plan', 'plan', null, 'default', 'default', 'plan'];
    const records = modes.map((permissionMode) =>
      reader.read({ type: 'permission-mode', permissionMode }, place).records.filter(({ kind }) => kind === 'session'),
    );
    expect(records.map(([record]) => record?.kind === 'session' && record.last?.permissionMode)).toEqual([
      'plan',
      false,
      false,
      'default',
      false,
      'plan',
    ]);
  });

  it('bound pull requests, and still update those already collected', () => {
    const link = (index: number, prRepository: string) => ({ type: 'pr-link', prUrl: `u${index}`, prRepository });
    const { pullRequests } = metadataOf(
      ...Array.from({ length: 300 }, (_, index) => link(index, 'old')),
      link(0, 'new'),
      link(299, 'new'),
    );
    expect(pullRequests).toHaveLength(256);
    expect(pullRequests[0]).toMatchObject({ url: 'u0', repository: 'new' });
    expect(pullRequests.some(({ url }) => url === 'u299')).toBe(false);
  });

  it('count lines by type, names that mean something to JavaScript included', () => {
    const { lineTypes } = metadataOf(
      { type: 'user' },
      { type: '__proto__' },
      { type: 'constructor' },
      { type: 'user' },
    );
    expect(Object.entries(lineTypes)).toEqual([
      ['user', 2],
      ['__proto__', 1],
      ['constructor', 1],
    ]);
  });

  it('bound the distinct types, and count every line', () => {
    const lines = Array.from({ length: 500 }, (_, index) => ({ type: `type-${index % 250}` }));
    const { lineTypes } = metadataOf(...lines);
    expect(Object.keys(lineTypes)).toHaveLength(129);
    expect(lineTypes.other).toBe(2 * (250 - 128));
    expect(Object.values(lineTypes).reduce((sum, count) => sum + count)).toBe(500);
  });

  it('list models in order of appearance, without the synthetic one', () => {
    const lines = ['b', '<synthetic>', 'a', 'b'].map((model) => ({ type: 'assistant', message: { model } }));
    expect(metadataOf(...lines).models).toEqual(['b', 'a']);
  });

  it('bound models, and keep the first', () => {
    const lines = Array.from({ length: 70 }, (_, index) => ({ type: 'assistant', message: { model: `m${index}` } }));
    expect(metadataOf(...lines).models).toEqual(Array.from({ length: 64 }, (_, index) => `m${index}`));
  });

  it('truncate long values', () => {
    const metadata = metadataOf({ type: 'custom-title', customTitle: 'x'.repeat(9999), cwd: '/'.repeat(9999) });
    expect([metadata.title?.length, metadata.cwd?.length]).toEqual([512, 512]);
  });
});
