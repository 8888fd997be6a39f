import { describe, expect, it } from 'vitest';
import { formatReport } from './report.ts';
import { runChaos } from './run-chaos.ts';

describe.each([
  ['s3', 5],
  ['folder', 3],
] as const)('chaos, with raw objects in a store of the kind %s', (store, kills) => {
  it('loses nothing that was acknowledged, counts nothing twice, and leaves nothing damaged or stuck', async () => {
    const { RECOUNT_TEST_CITUS_URL: citusUrl } = process.env;
    const cluster = citusUrl ? { citusUrl, restartCommand: undefined } : undefined;
    const report = await runChaos({ kills, seed: 7, store, cluster, corpus: undefined });
    console.log(formatReport(report));
    expect(report.failures.join('\n')).toBe('');
    expect(report.acknowledged).toBeGreaterThan(kills);
    expect(Object.keys(report.attacks)).toContainEqual(expect.stringMatching(/^object /));
    expect(Object.values(report.kills).reduce((sum, count) => sum + count)).toBe(kills);
  });
});
