import { expect, it } from 'vitest';
import { findRegrouped } from './find-regrouped.ts';

const day = '2026-11-01';
const line = (lineItem: string | null, model: string | null = null, scope: string | null = null) => ({
  ...{ kind: 'cost' as const, day, lineItem, model, scope, serviceTier: null },
});
const whole = line(null);
const usage = (model: string | null, scope: string | null = null, serviceTier: string | null = null) => ({
  ...line(null, model, scope),
  ...{ kind: 'usage' as const, serviceTier },
});

it.each([
  ['a day as a whole and its lines', [whole], [line('a'), line('b')]],
  ['an item as a whole and by model', [line('requests')], [line('requests', 'm'), line('seats')]],
  ['a line of all projects and by project', [line('a'), line('b')], [line('a', null, 'p1'), line('b', null, 'p2')]],
  ['a day as a whole and by project', [whole], [line(null, null, 'p1'), line(null, null, 'p2')]],
  ['a day by project and by line', [line(null, null, 'p1')], [line('a'), line('b')]],
  ['tokens as a whole and by model', [usage(null)], [usage('m')]],
  ['tokens of all keys and by key', [usage('m')], [usage('m', 'w1 key1')]],
  ['tokens of all tiers and by tier', [usage('m', 'w1')], [usage('m', 'w1', 'standard'), usage('m', 'w1', 'batch')]],
  [
    'tokens by batch and by tier',
    [usage('m', 'p1', 'not batch')],
    [usage('m', 'p1', 'flex'), usage('m', 'p1', 'batch')],
  ],
  ['tokens by workspace and by its keys', [usage('m', 'wrkspc_1')], [usage('m', 'wrkspc_1 apikey_1')]],
  ['tokens of the default workspace and by its keys', [usage('m', 'default')], [usage('m', 'default apikey_1')]],
  [
    'tokens by workspace and by keys, where some have no key',
    [usage('m', 'wrkspc_1'), usage('m', 'wrkspc_2')],
    [usage('m', 'wrkspc_1 apikey_1'), usage('m', 'default')],
  ],
  [
    'tokens by project and by user and project, where some have no user',
    [usage('m', 'proj_1'), usage('m', 'proj_2 user-2')],
    [usage('m', 'proj_2'), usage('m', 'proj_1 user-1')],
  ],
  ['tokens of one workspace by other identities', [usage('m', 'wrkspc_1')], [usage('m', 'wrkspc_1')]],
  ['tokens of an unknown scope', [usage('m', '')], [usage('m', 'wrkspc_1 apikey_1'), usage('m', 'default')]],
  [
    'tokens of the default workspace without a scope',
    [usage('m'), usage('m', 'wrkspc_1')],
    [usage('m', 'default'), usage('m', 'wrkspc_2')],
  ],
  ['tokens by project and by user', [usage('m', 'proj_1')], [usage('m', 'user-1'), usage('m', 'user-2')]],
])('finds %s', (_name, some, others) => {
  expect(findRegrouped(some, others)).toBe(day);
  expect(findRegrouped(others, some)).toBe(day);
});

it.each([
  ['nothing is stored', [whole], []],
  ['the lines are others', [line('a')], [line('b', 'm')]],
  ['both have a line without a name', [whole, line('a')], [whole, line('b')]],
  ['the days are others', [whole], [{ ...line('a'), day: '2026-11-02' }]],
  ['the projects are others', [line('a', null, 'p1')], [line('a', null, 'p2')]],
  ['one is the default workspace', [line('a'), line('a', null, 'w1')], [line('a', null, 'w2'), line('a')]],
  ['one has keys, of another workspace', [usage('m', 'wrkspc_1')], [usage('m', 'wrkspc_2 apikey_1')]],
  ['both have keys', [usage('m', 'wrkspc_1 apikey_1')], [usage('m', 'wrkspc_1 apikey_2')]],
  [
    'some have no key, of another workspace',
    [usage('m', 'wrkspc_1'), usage('m', 'wrkspc_1 apikey_1')],
    [usage('m', 'default'), usage('m', 'wrkspc_2 apikey_2')],
  ],
  [
    'some have no key, of another tier',
    [usage('m', 'wrkspc_1', 'batch'), usage('m', 'wrkspc_1 apikey_1', 'batch')],
    [usage('m', 'wrkspc_1 apikey_1', 'standard'), usage('m', 'wrkspc_1', 'standard')],
  ],
  ['the scope of tokens is unknown, and their tier another', [usage('m', '', 'a')], [usage('m', 'w1', 'b')]],
  ['the scope of an amount is unknown', [line('a', null, '')], [line('a', null, 'w1')]],
  ['the tiers are others', [usage('m', null, 'standard')], [usage('m', null, 'batch')]],
  ['one is all but the batches', [usage('m', 'p1', 'not batch')], [usage('m', 'p1', 'batch')]],
  ['one has tokens and the other amounts', [usage('m')], [whole]],
])('finds none if %s', (_name, some, others) => {
  expect(findRegrouped(some, others)).toBeUndefined();
});
