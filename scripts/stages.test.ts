import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { commandOf, NIGHT_FILES, readStage, SLOW_FILES, selectFiles } from './stages.ts';

const listed = [...Object.keys(SLOW_FILES), ...Object.keys(NIGHT_FILES)];

describe('the lists of tests that npm test leaves out', () => {
  it('name only files that exist', () => {
    expect(listed.filter((file) => !existsSync(join(import.meta.dirname, '..', file)))).toEqual([]);
  });

  it('name each file once, and no unit test', () => {
    expect(new Set(listed).size).toBe(listed.length);
    expect(listed.filter((file) => !/\.(?:integration|e2e)\.test\.ts$/.test(file))).toEqual([]);
  });
});

it('the fast stage and the rest are all but the night', () => {
  const [fast, rest, all] = (['fast', 'rest', 'all'] as const).map((stage) => selectFiles('.test.ts', stage));
  expect(fast?.include).toEqual(all?.include);
  expect(new Set(fast?.exclude)).toEqual(new Set([...(all?.exclude ?? []), ...(rest?.include ?? [])]));
});

it('a stage that there is not is refused', () => {
  expect(readStage({})).toBeUndefined();
  expect(() => readStage({ RECOUNT_TEST_STAGE: 'slow' })).toThrow('unknown stage slow');
});

it('a file is run by the command of its stage', () => {
  expect(listed.map(commandOf)).not.toContain('npm test');
  expect(commandOf('scripts/stages.test.ts')).toBe('npm test');
  expect(Object.keys(NIGHT_FILES).map(commandOf)).toContain('npm run test:night');
});
