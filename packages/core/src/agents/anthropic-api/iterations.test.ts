import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { readIterations, readPausedResponses } from './iterations.ts';
import { toUsage } from './usage.ts';

type Counts = [input: number, output: number, read?: number, write?: number];

const toFields = ([input, output, read = 0, write = 0]: Counts): JsonObject => ({
  input_tokens: input,
  output_tokens: output,
  cache_read_input_tokens: read,
  cache_creation_input_tokens: write,
});
const iteration = (type: string, model: string | null, ...counts: Counts): JsonObject => ({
  type,
  model,
  ...toFields(counts),
});

function read(top: Counts, iterations: JsonValue[], more: JsonObject = {}) {
  const reports: string[] = [];
  const source = { ...toFields(top), ...more, iterations };
  const { requests, billedRequests } = readIterations(
    source,
    toUsage(source, (field) => reports.push(field)),
    {
      onInvalid: (field) => reports.push(field),
      onUnknown: (type) => reports.push(`unknown ${type}`),
      onMismatch: (figures) => reports.push(figures),
    },
  );
  const billed = billedRequests.map(({ source, position, model, usage }) => [
    `${source}-${position}`,
    model,
    usage.inputTokens,
    usage.outputTokens,
  ]);
  return { requests, billed, billedRequests, reports };
}

describe('readIterations', () => {
  it('finds nothing beside the usage of a single request', () => {
    for (const iterations of [[], [iteration('message', null, 10, 5)]]) {
      expect(read([10, 5], iterations)).toMatchObject({ requests: undefined, billed: [], reports: [] });
    }
  });

  it('bills attempts that have output at their own models, whatever their type', () => {
    const { requests, billed, reports } = read(
      [400, 600],
      [
        iteration('message', 'a', 400, 0),
        iteration('message', 'b', 400, 30),
        iteration('fallback_message', 'c', 400, 1000),
        iteration('fallback_message', 'd', 400, 600),
      ],
    );
    expect(billed).toEqual([
      ['fallback-1', 'b', 400, 30],
      ['fallback-2', 'c', 400, 1000],
    ]);
    expect({ requests, reports }).toEqual({ requests: undefined, reports: [] });
  });

  it('takes two fallbacks to one model as two attempts', () => {
    const twice = [iteration('fallback_message', 'b', 7, 3), iteration('fallback_message', 'b', 7, 9)];
    expect(read([7, 9], twice).billed).toEqual([['fallback-1', 'b', 7, 3]]);
  });

  it('bills nothing apart if the first attempt declined without output', () => {
    const iterations = [iteration('message', 'a', 400, 0), iteration('fallback_message', 'b', 400, 600)];
    expect(read([400, 600], iterations)).toMatchObject({ requests: undefined, billed: [], reports: [] });
  });

  it('keeps the requests of a loop over server tools, of the answer and of an earlier attempt', () => {
    const { requests, billedRequests, reports } = read(
      [310, 30, 5, 2],
      [
        iteration('message', 'a', 100, 1),
        iteration('message', 'a', 200, 2),
        iteration('message', 'b', 150, 10, 5),
        iteration('fallback_message', 'b', 160, 20, 0, 2),
      ],
    );
    expect(requests).toEqual([
      [150, 10, 5, 0, 0, 0],
      [160, 20, 0, 2, 0, 0],
    ]);
    expect(billedRequests).toMatchObject([
      {
        model: 'a',
        usage: {
          inputTokens: 300,
          outputTokens: 3,
          requests: [
            [100, 1, 0, 0, 0, 0],
            [200, 2, 0, 0, 0, 0],
          ],
        },
      },
    ]);
    expect(reports).toEqual([]);
  });

  it('takes the lifetime of cache writes from the response if all have one', () => {
    const loop = [iteration('message', null, 1, 1, 0, 10), iteration('message', null, 1, 1, 0, 20)];
    const lifetimes = (fields: JsonObject) => read([2, 2, 0, 30], loop, { cache_creation: fields }).requests;
    expect(lifetimes({ ephemeral_1h_input_tokens: 30 })).toEqual([
      [1, 1, 0, 10, 0, 10],
      [1, 1, 0, 20, 0, 20],
    ]);
    expect(lifetimes({ ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 20 })).toBeUndefined();
  });

  it('adds compactions and advisors, which the top level lacks, under the terms of the response', () => {
    const { billed, billedRequests, reports } = read(
      [10, 5],
      [
        iteration('compaction', null, 180_000, 3500),
        iteration('message', null, 10, 5),
        iteration('advisor_message', 'a', 7, 2),
      ],
      { speed: 'fast', inference_geo: 'us' },
    );
    expect(billed).toEqual([
      ['advisor-1', 'a', 7, 2],
      ['compaction-1', null, 180_000, 3500],
    ]);
    expect(billedRequests.map(({ usage }) => [usage.speed, usage.inferenceGeo])).toEqual([
      [null, null],
      ['fast', 'us'],
    ]);
    expect(reports).toEqual([]);
  });

  it('counts an unknown type apart, without a price, unless the figures add up only with it', () => {
    const unknown = { ...iteration('judge', 'a', 20, 8), text: 'x' };
    const reports = ['unknown judge'];
    expect(read([10, 5], [iteration('message', null, 10, 5), unknown])).toMatchObject({
      billed: [['unknown-1', 'a', 20, 8]],
      reports,
    });
    expect(read([30, 13], [iteration('message', null, 10, 5), unknown])).toMatchObject({ billed: [], reports });
    expect(read([20, 8], [unknown])).toMatchObject({ billed: [], reports });
    expect(read([10, 5], [iteration('', null, 0, 0)])).toMatchObject({ billed: [], reports: ['unknown none'] });
  });

  it('reports figures that no rule explains, and leaves the response as it is', () => {
    const { requests, reports } = read(
      [310, 30],
      [iteration('message', null, 150, 10), iteration('message', null, 90, 20)],
    );
    expect(requests).toBeUndefined();
    expect(reports).toEqual(['310 / 30 / 0 / 0, its iterations 240 / 30 / 0 / 0']);
  });

  it('compares no class that the top level does not state', () => {
    const source = { output_tokens: 30, iterations: [iteration('message', null, 150, 30)] };
    const onMismatch = () => expect.fail();
    readIterations(
      source,
      toUsage(source, () => undefined),
      { onInvalid: onMismatch, onUnknown: onMismatch, onMismatch },
    );
  });

  it('bounds the number of iterations, and accepts anything', () => {
    expect(read([0, 0], Array<JsonValue>(129).fill(iteration('advisor_message', 'a', 1, 1))).reports).toEqual([
      'unknown more than 128',
    ]);
    expect(read([0, 0], ['x', null, 5, [], { type: 5 }, { type: 'toString' }]).billed).toEqual([]);
  });
});

describe('readPausedResponses', () => {
  it('reads the usage of each part', () => {
    const parts = [{ limit: 'x', usage: toFields([10, 4]) }, 'x', { usage: toFields([20, 6]) }];
    const read = readPausedResponses(parts, () => undefined);
    expect(read.map(({ source, position, usage }) => [source, position, usage.outputTokens])).toEqual([
      ['paused', 1, 4],
      ['paused', 3, 6],
    ]);
    expect(readPausedResponses('x', () => undefined)).toEqual([]);
  });
});
