import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../rows.ts';
import { createSessionFacts } from './session-facts.ts';

function metadataOf(...lines: JsonObject[]) {
  const facts = createSessionFacts();
  for (const line of lines) facts.observe(line, String(line.type));
  return facts.toMetadata();
}

describe('createSessionFacts', () => {
  it('knows nothing without lines', () => {
    const facts = createSessionFacts();
    expect(facts.toMetadata()).toEqual({
      sessionId: null,
      cwd: null,
      version: null,
      gitBranch: null,
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
    expect([facts.firstTimestampMs, facts.lastTimestampMs]).toEqual([undefined, undefined]);
  });

  it('takes each field from the first line that has it', () => {
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

  it('takes the earliest and latest timestamp of all lines, in whatever order and of whatever type', () => {
    const facts = createSessionFacts();
    const times = ['2025-06-01T00:00:02Z', 'never', '2025-06-01T02:00:00+02:00', '2025-06-01T00:00:05Z', null, 7];
    for (const timestamp of times) facts.observe({ timestamp }, 'progress');
    expect(facts.toMetadata()).toMatchObject({
      firstTimestamp: '2025-06-01T00:00:00.000Z',
      lastTimestamp: '2025-06-01T00:00:05.000Z',
    });
    expect((facts.lastTimestampMs ?? 0) - (facts.firstTimestampMs ?? 0)).toBe(5000);
  });

  it('prefers the title that the user gave to the generated one, and that to a summary', () => {
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

  it('takes the last of what is written again as it changes', () => {
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

  it('collects pull requests once each', () => {
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

  it('bounds pull requests, and still renews those that it has', () => {
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

  it('counts lines by type, names that mean something to JavaScript included', () => {
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

  it('bounds the types it tells apart, and loses no line', () => {
    const lines = Array.from({ length: 500 }, (_, index) => ({ type: `type-${index % 250}` }));
    const { lineTypes } = metadataOf(...lines);
    expect(Object.keys(lineTypes)).toHaveLength(129);
    expect(lineTypes.other).toBe(2 * (250 - 128));
    expect(Object.values(lineTypes).reduce((sum, count) => sum + count)).toBe(500);
  });

  it('lists models in order of appearance, without the synthetic one', () => {
    const facts = createSessionFacts();
    for (const model of ['b', '<synthetic>', 'a', 'b']) facts.observeModel(model);
    expect(facts.toMetadata().models).toEqual(['b', 'a']);
  });

  it('cuts long values', () => {
    const metadata = metadataOf({ type: 'custom-title', customTitle: 'x'.repeat(9999), cwd: '/'.repeat(9999) });
    expect([metadata.title?.length, metadata.cwd?.length]).toEqual([512, 512]);
  });
});
