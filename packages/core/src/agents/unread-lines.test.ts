import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../lines/json.ts';
import { createUnreadLines, findUnreadContent, type UnreadTypes } from './unread-lines.ts';

const TYPES: UnreadTypes = {
  tick: { why: 'shows that the agent is alive' },
  'hook.*': { why: 'runs of hooks', mayHold: ['data.output', 'data.*.message'] },
  'hook.done': { why: 'the end of a hook', mayHold: ['*'] },
};

function readUnread(type: string, value: JsonObject) {
  const reports: string[] = [];
  const unread = createUnreadLines(TYPES, {
    report: (code, severity, error) => reports.push(`${severity} ${code}: ${error}`),
  });
  return { records: unread.read(type, value), reports };
}

describe('a line that is not read', () => {
  it('is silent if its type is on the list and it holds neither text nor usage', () => {
    expect(readUnread('tick', { type: 'tick', at: 1_700_000_000, id: 'a-b-c' })).toEqual({ records: [], reports: [] });
  });

  it('is an unknown record if its type is not on the list', () => {
    const value = { type: 'tock' };
    expect(readUnread('tock', value).records).toEqual([{ kind: 'unknown', type: 'tock', name: 'tock', value }]);
  });

  it('is reported if it holds text or usage that the list does not expect', () => {
    const { records, reports } = readUnread('tick', { note: { text: 'Hm', usage: { input: 3 } } });
    expect(records).toEqual([]);
    expect(reports).toEqual([
      'notice unread_content: Usage that is not counted, in lines of type tick',
      'notice unread_content: Text that is not shown, in lines of type tick',
    ]);
  });

  it('may hold the fields that its type or its family lists', () => {
    const known = { data: { output: 'All hooks have passed', results: [{ message: 'ok' }] } };
    expect(readUnread('hook.run', known).reports).toEqual([]);
    expect(readUnread('hook.run', { data: { results: [{ text: 'x' }] } }).reports).toHaveLength(1);
    expect(readUnread('hook.done', { text: 'x', usage: { input_tokens: 1 } }).reports).toEqual([]);
  });
});

it('does not search the envelope of a line, but fields of the same name further below', () => {
  const reports: string[] = [];
  const context = { report: (...[, , error]: [unknown, unknown, string]) => reports.push(error) };
  const unread = createUnreadLines(TYPES, context, new Set(['cwd']));
  const value = { cwd: '/srv/my own little app' };
  expect(unread.read('tick', value)).toEqual([]);
  expect(unread.read('tock', { ...value, id: 'a' })).toMatchObject([{ value: { id: 'a' } }]);
  expect(reports).toEqual([]);
  unread.read('tick', { data: value });
  expect(reports).toEqual(['Text that is not shown, in lines of type tick']);
});

describe('content that is not read', () => {
  it.each([
    { input_tokens: 1 },
    { outputTokens: 1 },
    { data: { usage: { in: 1 } } },
    { modelUsage: { fable: { calls: 2 } } },
    { steps: [{ tokens: { cache: { read: 9 } } }] },
    { totalCostUsd: 0.1 },
    { cost: 2 },
  ])('is usage: %j', (value) => {
    expect(findUnreadContent(value as JsonObject)).toEqual({ usage: true, text: false });
  });

  it.each([
    { max_tokens: 1000, contextWindowTokens: 200_000, tokens: { limit: 5 }, count: 7, tokenBudget: 1 },
    { input_tokens: 0, usage: { input: 0 } },
    { path: '/home/ada/my file', status: 'not found', text: '', content: ' ', id: 'msg_1' },
  ])('is neither usage nor text: %j', (value) => {
    expect(findUnreadContent(value as JsonObject)).toEqual({ usage: false, text: false });
  });

  it.each([{ text: 'Heron' }, { data: { content: ['a'] } }, { anything: 'A sentence of four words' }])(
    'is text: %j',
    (value) => {
      expect(findUnreadContent(value as JsonObject)).toEqual({ usage: false, text: true });
    },
  );

  it('is searched for in bounded time and depth', () => {
    let deep: JsonObject = { input_tokens: 1 };
    for (let depth = 0; depth < 100_000; depth++) deep = { a: deep };
    expect(findUnreadContent(deep)).toEqual({ usage: false, text: false });
    let arrays: JsonValue = { input_tokens: 1 };
    for (let depth = 0; depth < 100; depth++) arrays = [arrays];
    expect(findUnreadContent(arrays)).toEqual({ usage: false, text: false });
    const wide = { a: new Array<number>(1_000_000).fill(1), input_tokens: 1 };
    expect(findUnreadContent(wide)).toEqual({ usage: false, text: false });
  });
});
