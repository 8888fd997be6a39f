import { describe, expect, it } from 'vitest';
import { checkBombs, checkManyMembers, checkTooManyMembers } from './check-archives.ts';

describe.each(['tar', 'zip'] as const)('a %s archive', (kind) => {
  it('is read through with 1,000 members, including links, devices and foreign names', async () => {
    const { outcomes, violations } = await checkManyMembers(kind, 1_000);
    expect(violations).toEqual([]);
    expect(outcomes).toEqual({
      transcript: 300,
      'skipped link': 200,
      'skipped not-a-file': 200,
      'skipped not-a-transcript': 100,
      'skipped nested-archive': 100,
    });
  });

  it('yields the members up to the permitted number, and an error', async () => {
    const { outcomes, violations } = await checkTooManyMembers(kind, 1000);
    expect(violations).toEqual([]);
    expect(outcomes).toMatchObject({ transcript: 300, 'failed limit-exceeded': 1 });
  });
});

describe('bombs', () => {
  it('are refused before most of it is decoded', async () => {
    const checks = await checkBombs(128 * 1024 ** 2);
    expect(checks.flatMap(({ name, violations }) => violations.map((violation) => `${name}: ${violation}`))).toEqual(
      [],
    );
    expect(checks.map(({ name }) => name)).toContain('bomb.tar.zst');
  });
});
