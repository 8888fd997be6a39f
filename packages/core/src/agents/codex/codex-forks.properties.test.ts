import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../lines/json.ts';
import { parseTranscript } from '../../parse/parse-transcript.ts';
import type { ApiResponse } from '../../records/rows.ts';
import {
  type CodexGeneration,
  createThreadMaker,
  type MadeUpThread,
  type MadeUpTokens,
  type ThreadMaker,
} from '../../testing/codex-threads.ts';
import { toJsonl } from '../../testing/transcript-lines.ts';

/** Small ranges, so that different responses often have the same tokens. */
const anyTokens: fc.Arbitrary<MadeUpTokens> = fc
  .record({
    cached: fc.constantFrom(0, 64),
    fresh: fc.integer({ min: 1, max: 3 }),
    output: fc.integer({ min: 1, max: 2 }),
  })
  .map(({ cached, fresh, output }) => ({ input: cached + fresh, cached, output, reasoning: output - 1 }));

/** A thread continues, or a new one starts with its history. */
const anyStep = fc.record({
  thread: fc.nat(),
  kind: fc.constantFrom('turn', 'turn', 'fork', 'subagent'),
  isRestamped: fc.boolean(),
  responses: fc.array(anyTokens, { minLength: 1, maxLength: 3 }),
});
const anyFleet = fc.record({
  generation: fc.constantFrom<CodexGeneration>('old', 'turns', 'records'),
  steps: fc.array(anyStep, { minLength: 1, maxLength: 10 }),
});
type Fleet = typeof anyFleet extends fc.Arbitrary<infer T> ? T : never;

function makeFleet({ generation, steps }: Fleet): { threads: MadeUpThread[]; maker: ThreadMaker } {
  const maker = createThreadMaker();
  const threads = [maker.begin(generation), maker.begin(generation)];
  for (const [index, { thread: at, kind, isRestamped, responses }] of steps.entries()) {
    let thread = threads[at % threads.length] as MadeUpThread;
    // Before turns had ids, there were no sub-agents.
    const isSubagent = kind === 'subagent' && generation !== 'old';
    if (kind !== 'turn') {
      thread = maker.fork(thread, { isSubagent, isRestamped });
      threads.push(thread);
    }
    maker.addTurn(thread, `Prompt ${index}`, responses);
  }
  return { threads, maker };
}

async function read(lines: readonly JsonObject[]): Promise<ApiResponse[]> {
  const { apiResponses, errors } = await parseTranscript('s', Buffer.from(toJsonl(...lines)), {
    format: 'codex-rollout',
  });
  expect(errors).toEqual([]);
  return apiResponses;
}

const toFigures = (row: ApiResponse) => [
  row.tokens_in + row.cache_read,
  row.cache_read,
  row.tokens_out,
  row.thinking_tokens,
];

/** Usage of all rollouts together, counting each response once, and whether its copies agree. */
function countFleet(rollouts: readonly ApiResponse[][]): number[] {
  const byKey = new Map<string, number[]>();
  for (const response of rollouts.flat()) {
    const figures = toFigures(response);
    expect(byKey.get(response.response_key) ?? figures).toEqual(figures);
    byKey.set(response.response_key, figures);
  }
  return [...byKey.values()].reduce(
    (sum, figures) => sum.map((value, index) => value + (figures[index] ?? 0)),
    [0, 0, 0, 0],
  );
}

function countTruth(threads: readonly MadeUpThread[], { tokens }: ThreadMaker): number[] {
  const numbers = new Set(threads.flatMap(({ responses }) => [...responses]));
  const sum = [0, 0, 0, 0];
  for (const number of numbers) {
    const { input, cached, output, reasoning } = tokens.get(number) as MadeUpTokens;
    for (const [index, value] of [input, cached, output, reasoning].entries()) sum[index] = (sum[index] ?? 0) + value;
  }
  return sum;
}

describe('rollouts that replay the history of others', () => {
  it('count each response once, whichever of them are present', async () => {
    await fc.assert(
      fc.asyncProperty(anyFleet, fc.array(fc.nat(), { maxLength: 5 }), async (fleet, missing) => {
        const { threads, maker } = makeFleet(fleet);
        const rollouts = await Promise.all(threads.map(({ lines }) => read(lines)));
        expect(countFleet(rollouts)).toEqual(countTruth(threads, maker));
        const isThere = (_: unknown, index: number) => !missing.includes(index);
        expect(countFleet(rollouts.filter(isThere))).toEqual(countTruth(threads.filter(isThere), maker));
      }),
    );
  });

  it('mark replayed responses as copies', async () => {
    await fc.assert(
      fc.asyncProperty(anyFleet, async (fleet) => {
        const { threads } = makeFleet(fleet);
        const originals = new Map<string, number>();
        for (const { lines } of threads) {
          for (const { response_key: key, is_marked_copy: isCopy } of await read(lines)) {
            originals.set(key, (originals.get(key) ?? 0) + (isCopy ? 0 : 1));
          }
        }
        expect([...originals.values()].filter((count) => count !== 1)).toEqual([]);
      }),
    );
  });

  it('count the same if their lines are duplicated, or truncated', async () => {
    await fc.assert(
      fc.asyncProperty(anyFleet, fc.nat(), async (fleet, at) => {
        const { threads } = makeFleet(fleet);
        const { lines } = threads[at % threads.length] as MadeUpThread;
        const once = await read(lines);
        expect(countFleet([await read(lines.flatMap((line) => [line, line]))])).toEqual(countFleet([once]));
        // Without turn ids, a repeated history cannot be told from a new one.
        if (fleet.generation !== 'old')
          expect(countFleet([await read([...lines, ...lines])])).toEqual(countFleet([once]));
        const keys = new Set(once.map((row) => row.response_key));
        const beginning = await read(lines.slice(0, at % (lines.length + 1)));
        expect(beginning.filter((row) => !keys.has(row.response_key))).toEqual([]);
      }),
    );
  });

  it('count a response once whether its record comes before or after its count', async () => {
    await fc.assert(
      fc.asyncProperty(anyFleet, async (fleet) => {
        const { threads } = makeFleet({ ...fleet, generation: 'records' });
        for (const { lines } of threads.slice(0, 2)) {
          const records = lines.filter((line) => line.type === 'token_usage_record');
          const late = lines.flatMap((line) => {
            if (line.type === 'token_usage_record') return [];
            const isCount = (line.payload as JsonObject).type === 'token_count';
            return isCount ? [line, ...records.splice(0, 1)] : [line];
          });
          expect(countFleet([await read(late)])).toEqual(countFleet([await read(lines)]));
        }
      }),
    );
  });
});
