import { describe, expect, it } from 'vitest';
import { checkBombs, checkManyMembers, checkTooManyMembers } from './check-archives.ts';

const TIMEOUT_MS = 60_000;

describe.each(['tar', 'zip'] as const)('a %s archive', (kind) => {
  it('of 100,000 members is read through, links, devices and foreign names and all', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const { outcomes, violations } = await checkManyMembers(kind, 100_000);
    expect(violations).toEqual([]);
    expect(outcomes).toEqual({
      transcript: 30_000,
      'skipped link': 20_000,
      'skipped not-a-file': 20_000,
      'skipped not-a-transcript': 10_000,
      'skipped nested-archive': 10_000,
    });
  });

  it('of more members than allowed gives those before, and an error', { timeout: TIMEOUT_MS }, async () => {
    const { outcomes, violations } = await checkTooManyMembers(kind, 1000);
    expect(violations).toEqual([]);
    expect(outcomes).toMatchObject({ transcript: 300, 'failed limit-exceeded': 1 });
  });
});

describe('bombs', () => {
  it('are refused before they are decoded far', { timeout: TIMEOUT_MS }, async () => {
    const checks = await checkBombs(512 * 1024 ** 2);
    expect(checks.flatMap(({ name, violations }) => violations.map((violation) => `${name}: ${violation}`))).toEqual(
      [],
    );
    expect(checks.map(({ name }) => name)).toContain('bomb.tar.zst');
  });
});
