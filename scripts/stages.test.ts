import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { NIGHT_FILES, SLOW_FILES } from './stages.ts';

it('lists only files that exist as those that npm test leaves out', () => {
  const listed = [...Object.keys(SLOW_FILES), ...Object.keys(NIGHT_FILES)];
  expect(listed.filter((file) => !existsSync(join(import.meta.dirname, '..', file)))).toEqual([]);
});
