import { describe, expect, it } from 'vitest';
import { formatReport } from './report.ts';
import { runChaos } from './run-chaos.ts';

describe.each([
  ['s3', 7],
  ['folder', 3],
] as const)('chaos, with raw objects in a store of the kind %s', (store, kills) => {
  it('loses nothing that was acknowledged, doubles nothing, and leaves nothing stuck', async () => {
    const report = await runChaos({ kills, seed: 7, store, corpus: undefined });
    console.log(formatReport(report));
    expect(report.failures).toEqual([]);
    expect(report.acknowledged).toBeGreaterThan(kills);
    expect(Object.values(report.kills).reduce((sum, count) => sum + count)).toBe(kills);
  });
});
