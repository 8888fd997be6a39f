import { describe, expect, it } from 'vitest';
import type { Usage } from '../records/usage.ts';
import { type ComparedCopy, compareCopies } from './compare-copies.ts';

const MINUTE_MS = 60_000;
const USAGE: Usage = {
  inputTokens: 10,
  outputTokens: 500,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  cacheWrite5mTokens: 0,
  cacheWrite1hTokens: 0,
  webSearchRequests: 0,
  webFetchRequests: 0,
  thinkingTokens: 0,
  serviceTier: null,
  speed: null,
  inferenceGeo: null,
};

const toCopy = (fields: Partial<ComparedCopy> = {}, usage: Partial<Usage> = {}): ComparedCopy => ({
  model: 'gpt-5',
  timestampMs: 1e12,
  isUnfinalised: false,
  isStream: false,
  costUsd: 1,
  ...fields,
  usage: { ...USAGE, ...usage },
});

const LONG = toCopy({}, { outputTokens: 200_001 });

describe('compareCopies', () => {
  it.each<[string, ComparedCopy[]]>([
    ['are the same', [toCopy(), toCopy()]],
    ['name no model', [toCopy(), toCopy({ model: 'unknown' })]],
    [
      'are a quarter of an hour apart',
      [toCopy(), toCopy({ timestampMs: 1e12 + 15 * MINUTE_MS }), toCopy({ timestampMs: null })],
    ],
    ['arrived in a stream later', [toCopy(), toCopy({ isStream: true, timestampMs: 1e12 + 60 * MINUTE_MS })]],
    ['have a placeholder', [toCopy(), toCopy({ isUnfinalised: true }, { outputTokens: 8, serviceTier: 'batch' })]],
    ['have a placeholder in a stream', [toCopy(), toCopy({ isStream: true }, { outputTokens: 128 })]],
    ['have a placeholder with all of the output', [toCopy(), toCopy({ isUnfinalised: true })]],
    ['say the same with more output than one completes', [LONG, LONG]],
    [
      'have a placeholder of the longest output',
      [toCopy({}, { outputTokens: 200_000 }), toCopy({ isUnfinalised: true }, { outputTokens: 1 })],
    ],
    ['lack searches', [toCopy({}, { webSearchRequests: 20 }), toCopy()]],
  ])('finds no disagreement if copies %s', (_, copies) => {
    expect(compareCopies(copies)).toBeUndefined();
    expect(compareCopies(copies.toReversed())).toBeUndefined();
  });

  it.each<[string, ComparedCopy[]]>([
    ['the model', [toCopy(), toCopy({ model: 'gpt-5-mini' })]],
    ['whether there is a model', [toCopy(), toCopy({ model: null })]],
    ['the time', [toCopy(), toCopy({ timestampMs: 1e12 + 15 * MINUTE_MS + 1 })]],
    [
      'the time that two of three name',
      [toCopy(), toCopy({ timestampMs: null }), toCopy({ timestampMs: 1e12 + 15 * MINUTE_MS + 1 })],
    ],
    ['the input', [toCopy(), toCopy({ isUnfinalised: true }, { inputTokens: 11, outputTokens: 8 })]],
    ['the terms', [toCopy(), toCopy({}, { speed: 'fast' })]],
    ['the searches', [toCopy({}, { webSearchRequests: 21 }), toCopy()]],
    ['the output', [toCopy(), toCopy({}, { outputTokens: 501 })]],
    ['a short output', [toCopy(), toCopy({}, { outputTokens: 128 })]],
    ['the output of a stream', [toCopy(), toCopy({ isStream: true }, { outputTokens: 129 })]],
    [
      'placeholders',
      [toCopy({ isUnfinalised: true }, { outputTokens: 130 }), toCopy({ isUnfinalised: true }, { outputTokens: 1 })],
    ],
    ['a placeholder above the output', [toCopy(), toCopy({ isUnfinalised: true }, { outputTokens: 501 })]],
    [
      'one of several placeholders above the output',
      [
        toCopy(),
        toCopy({ isUnfinalised: true }, { outputTokens: 400 }),
        toCopy({ isUnfinalised: true }, { outputTokens: 501 }),
      ],
    ],
    ['an output that no placeholder stands for', [LONG, toCopy({ isUnfinalised: true }, { outputTokens: 1 })]],
  ])('finds a disagreement about %s', (_, copies) => {
    expect(compareCopies(copies)).toMatchObject({ lowestCostUsd: 1, highestCostUsd: 1 });
    expect(compareCopies(copies.toReversed())).toMatchObject({ lowestCostUsd: 1, highestCostUsd: 1 });
  });

  it('names all facts that copies disagree about', () => {
    const others = { model: 'gpt-5-mini', timestampMs: 1e12 + 16 * MINUTE_MS };
    expect(compareCopies([toCopy(), toCopy(others)])?.facts).toEqual(['model', 'time']);
    expect(compareCopies([toCopy(), toCopy(others, { outputTokens: 501 })])?.facts).toEqual([
      'model',
      'time',
      'figures',
    ]);
  });

  it('takes the lowest cost of final copies, and the highest of all', () => {
    const placeholder = toCopy({ isUnfinalised: true, costUsd: 0.1, model: 'gpt-5-mini' }, { outputTokens: 8 });
    const copies = [placeholder, toCopy({ costUsd: 3 }), toCopy({ costUsd: 2 })];
    expect(compareCopies(copies)).toMatchObject({ lowestCostUsd: 2, highestCostUsd: 3 });
    expect(compareCopies([placeholder, toCopy({ costUsd: null })])).toMatchObject({
      lowestCostUsd: 0.1,
      highestCostUsd: 0.1,
    });
    expect(compareCopies([toCopy({ costUsd: null }), toCopy({ costUsd: null, model: 'x' })])).toMatchObject({
      lowestCostUsd: null,
      highestCostUsd: null,
    });
  });
});
