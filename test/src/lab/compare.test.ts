import { describe, expect, it } from 'vitest';
import { compare, compareSums, type Expected, listCountable, sumByModel } from './compare.ts';
import type { Found, FoundResponse, FoundSession } from './found.ts';
import type { Exchange } from './server/exchange.ts';
import { createWritten } from './written.ts';

const toExchange = (number: number, more: Partial<Exchange> = {}): Exchange => ({
  number,
  wire: 'anthropic',
  outcome: 'answered',
  marker: 'LAB-test-1',
  isSummary: false,
  model: 'model-1',
  responseId: `msg_${number}`,
  text: `Text ${number}.`,
  calls: [],
  tokens: {
    input: 10 + number,
    cacheRead: 20 + number,
    cacheWrite: 30 + number,
    cacheWrite1h: 5,
    output: 40 + number,
    reasoning: 0,
  },
  offeredTools: ['shell'],
  serviceTier: undefined,
  speed: undefined,
  ...more,
});

const toResponse = ({ tokens, model }: Exchange, more: Partial<FoundResponse> = {}): FoundResponse => ({
  ...{ sessionId: 's', ...tokens, model, serviceTier: null, speed: null },
  ...more,
});

const one = toExchange(1, { calls: [{ id: 'call_1', name: 'shell', input: { command: 'echo out' } }] });
const two = toExchange(2);
const session: FoundSession = {
  ...{ id: 's', agent: 'made-up', prompts: ['Do it.'], answers: ['Text 1.', 'Text 2.'], promptCount: 1, issues: [] },
  calls: [{ id: 'call_1', name: 'shell', result: 'out\n' }],
};
const written = createWritten(new Map([['/home/x.jsonl', '51 41 42 43 Do it. Text 1. Text 2. call_1 out']]));
const expected: Expected = {
  written,
  agent: 'made-up',
  exchanges: [one, two],
  prompts: ['Do it.'],
  outputs: ['out'],
  isKilled: false,
};
const right: Found = { sessions: [session], responses: [toResponse(one), toResponse(two)] };

const textsOf = (found: Found, changed: Partial<Expected> = {}) =>
  compare('parse', { ...expected, ...changed }, found).differences.map(({ text }) => text);
const withResponses = (...responses: FoundResponse[]): Found => ({ ...right, responses });
const withSession = (more: Partial<FoundSession>): Found => ({ ...right, sessions: [{ ...session, ...more }] });

describe('responses', () => {
  it('are right if each is there once, with all its tokens', () => {
    expect(compare('parse', expected, right)).toEqual({ differences: [], counted: [one, two], begun: [] });
  });

  it('are wrong if one is missing, counts twice, was never given, or has other tokens', () => {
    expect(textsOf(withResponses(toResponse(one)))).toEqual([expect.stringMatching(/^answer 2 is missing: 12 in/)]);
    expect(textsOf(withResponses(toResponse(one), toResponse(two), toResponse(one)))).toEqual([
      expect.stringMatching(/^answer 1 counts twice/),
    ]);
    const made = { ...toResponse(one), input: 1, cacheRead: 1, cacheWrite: 1, output: 1 };
    expect(textsOf(withResponses(toResponse(one), toResponse(two), made))).toEqual([
      expect.stringMatching(/^a response that the server never gave/),
    ]);
    expect(textsOf(withResponses(toResponse(one), toResponse(two, { cacheRead: 0 })))).toEqual([
      expect.stringMatching(/^answer 2: 12 in, 22 cache read, .*, found 12 in, 0 cache read/),
    ]);
  });

  it('are wrong if they name another model, tier or part', () => {
    expect(textsOf(withResponses(toResponse(one, { model: null }), toResponse(two)))).toHaveLength(1);
    expect(textsOf(withResponses(toResponse(one, { cacheWrite1h: 4 }), toResponse(two)))).toHaveLength(1);
    expect(textsOf(withResponses(toResponse(one, { cacheWrite1h: 0 }), toResponse(two)))).toEqual([]);
    const fast = toExchange(2, { speed: 'fast' });
    expect(textsOf(right, { exchanges: [one, fast] })).toEqual(['speed of answer 2: fast, found null']);
  });

  it('need not be there if the program never saw their usage, or asked for them itself', () => {
    const hung = toExchange(3, { outcome: 'hung' });
    const own = toExchange(4, { marker: undefined });
    const refused = toExchange(5, { outcome: 'refused' });
    const changed = { exchanges: [one, two, hung, own, refused] };
    expect(textsOf(right, changed)).toEqual([]);
    const begun = toResponse(hung, { output: 1 });
    const withBegun = compare('parse', { ...expected, ...changed }, withResponses(...right.responses, begun));
    expect(withBegun).toMatchObject({ differences: [], begun: [begun] });
    expect(sumByModel([], [begun]).get('model-1')).toMatchObject({ input: 13, output: 1 });
    const found = withResponses(...right.responses, toResponse(own));
    expect(compare('parse', { ...expected, ...changed }, found).counted).toEqual([one, two, own]);
    expect(textsOf(withResponses(...right.responses, toResponse(refused)), changed)).toHaveLength(1);
  });
});

it('cannot read what the program wrote nowhere', () => {
  const nothing: Found = { sessions: [{ ...session, answers: [], prompts: [], calls: [] }], responses: [] };
  expect(textsOf(nothing)).toHaveLength(7);
  expect(textsOf(nothing, { written: createWritten(new Map()) })).toEqual([]);
});

it('texts are wrong if they are missing, there twice, or within others', () => {
  expect(textsOf(withSession({ answers: ['Text 1.'] }))).toEqual([
    'text of answer 2 is in no session: "Text 2."; it is in /home/x.jsonl',
  ]);
  expect(textsOf(withSession({ answers: ['Text 1.', 'Text 2.', 'Text 2.'] }))).toHaveLength(1);
  expect(textsOf(withSession({ prompts: ['<x>Do it.</x>'] }))).toEqual([
    'prompt is in no session: "Do it.", but within "<x>Do it.</x>"; it is in /home/x.jsonl',
  ]);
  expect(textsOf(withSession({ promptCount: 2 }))).toEqual(['session s has 1 prompts, counted 2']);
  expect(textsOf(withSession({ agent: 'another' }))).toContain("session s is read as another's");
});

it('copies of texts and calls in a fork are right', () => {
  expect(textsOf({ ...right, sessions: [session, { ...session, id: 'fork' }] })).toEqual([]);
});

it('calls are wrong if they are missing, there twice, have another name, or no result', () => {
  const call = { id: 'call_1', name: 'shell', result: 'out' };
  expect(textsOf(withSession({ calls: [] }))).toHaveLength(2);
  expect(textsOf(withSession({ calls: [call, call] }))).toHaveLength(1);
  expect(textsOf(withSession({ calls: [{ ...call, name: 'bash' }] }))).toHaveLength(1);
  expect(textsOf(withSession({ calls: [{ ...call, result: null }] }))).toHaveLength(2);
  expect(textsOf(withSession({ calls: [{ ...call, result: 'no' }] }))).toEqual([
    'no result of a tool contains "out"; it is in /home/x.jsonl',
  ]);
});

it('errors and warnings are reported once; notices and the last line of a killed program are not', () => {
  const issue = { code: 'invalid_json', severity: 'error', message: 'Invalid JSON' };
  const notice = { code: 'unknown_line_type', severity: 'notice', message: 'x' };
  expect(textsOf(withSession({ issues: [issue, issue, notice] }))).toEqual([
    'error invalid_json: Invalid JSON (2 times)',
  ]);
  expect(textsOf(withSession({ issues: [issue] }), { isKilled: true })).toEqual([]);
});

it('sums are compared by model', () => {
  const own = toExchange(3, { marker: undefined });
  expect(listCountable([one, two, own], [], written)).toEqual([one, two]);
  expect(listCountable([one, two, own], [own], written)).toEqual([one, two, own]);
  const sums = sumByModel([one, two]);
  expect(sums.get('model-1')).toMatchObject({ input: 23, cacheRead: 43, cacheWrite: 63, output: 83 });
  expect(compareSums('usage', sums, sums)).toEqual([]);
  expect(compareSums('usage', sums, new Map())).toEqual([
    { way: 'usage', text: expect.stringMatching(/^model-1: 23 in, .*, found 0 in/) },
  ]);
});
