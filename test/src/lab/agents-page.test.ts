import { expect, it } from 'vitest';
import { readVerified, toAgentsPage } from './agents-page.ts';
import { type AgentResult, isRight, readTable } from './table.ts';

const situations = [
  { id: 'one', label: 'first' },
  { id: 'two', label: 'second' },
];
const toCell = (situation: string, verdict: AgentResult['cells'][number]['verdict'], texts: string[] = []) => ({
  ...{ agent: 'a', situation, verdict, unwritten: [] },
  differences: texts.map((text) => ({ way: 'parse', text })),
});
const toResult = (label: string, version: string, ...cells: AgentResult['cells'][number][]): AgentResult => ({
  ...{ agent: label.toLowerCase(), label, version, cells },
});
const notTried = [{ label: 'Closed', what: 'all', reason: 'needs a login' }];
const create = (previous: string | undefined, results: AgentResult[], date = '2026-11-27') =>
  toAgentsPage({ previous, results, situations, notTried, date });

const readRows = (page: string): string[][] => readTable(page.slice(page.indexOf('| agent '))).slice(1);

const wrong = toResult('Aa', '1.0', toCell('one', 'right'), toCell('two', 'wrong', ['too many']));

it('has a row for each agent, the differences, and what was not tried', () => {
  const page = create(undefined, [wrong]);
  expect(readRows(page)).toEqual([['Aa', '1.0', '2026-11-27', '–', 'right', '**wrong**']]);
  expect(page).toContain('- **Aa** 1.0, second: parse: too many\n');
  expect(page).toMatch(/\| Closed +\| all +\| needs a login +\|/);
});

it('keeps the order of rows, and what it says of agents that were not run', () => {
  const other = toResult('Bb', '2.0', toCell('one', 'right'), toCell('two', 'right'));
  const page = create(create(undefined, [wrong]), [other], '2026-12-01');
  expect(readRows(page).map(([label]) => label)).toEqual(['Aa', 'Bb']);
  expect(page).toContain('second: parse: too many');
  const fixed = create(page, [toResult('Aa', '1.1', toCell('one', 'right'), toCell('two', 'right'))], '2026-12-02');
  expect(readRows(fixed).map((row) => row.slice(0, 3))).toEqual([
    ['Aa', '1.1', '2026-12-02'],
    ['Bb', '2.0', '2026-12-01'],
  ]);
  expect(fixed).not.toContain('too many');
});

it('the verified version is the last one that was right', () => {
  const right = toResult('Aa', '0.9', toCell('one', 'right'), toCell('two', 'right'));
  const page = create(undefined, [right]);
  expect(readVerified(page)).toEqual(new Map([['Aa', '0.9']]));
  expect(readVerified(create(page, [wrong]))).toEqual(new Map([['Aa', '0.9']]));
});

it('an agent is right if nothing that was tried is wrong', () => {
  expect(isRight(toResult('A', '1', toCell('one', 'right'), toCell('two', 'not tried')))).toBe(true);
  expect(isRight(toResult('A', '1', toCell('one', 'not tried')))).toBe(false);
  expect(isRight(toResult('A', '1', toCell('one', 'right'), toCell('two', 'failed')))).toBe(false);
  expect(isRight(wrong)).toBe(false);
});
