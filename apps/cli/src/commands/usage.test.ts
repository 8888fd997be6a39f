import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { runCommandLine } from '../run-command-line.ts';
import { createFakeContext } from '../testing/fake-context.ts';

const SAMPLES = fileURLToPath(new URL('../../../../samples/claude-projects', import.meta.url));

it.each([
  [
    ['--by', 'month,model'],
    ['month', 'model'],
  ],
  [['--group-by', 'agent'], ['agent']],
  [[], ['day']],
])('recount usage has a row for each of the keys that are given by %j', async (options, groupBy) => {
  const context = createFakeContext();
  expect(await runCommandLine(context, ['usage', '--json', '--no-cache', ...options, SAMPLES])).toBe(0);
  const { filters, rows } = JSON.parse(context.out()) as { filters: { group_by: string[] }; rows: object[] };
  expect(filters.group_by).toEqual(groupBy);
  expect(Object.keys(rows[0] ?? {})).toEqual(expect.arrayContaining(groupBy));
});
