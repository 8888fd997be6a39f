import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../lines/json.ts';
import { parseTranscript } from '../parse/parse-transcript.ts';
import { toJsonl } from '../testing/transcript-lines.ts';
import { changeAt, findUsages, readRecordedLines } from '../testing/usages.ts';

const at = '2026-05-01T08:00:00Z';

it.each<[string, string, JsonObject[]]>([
  [
    'kimi-wire',
    'usage',
    [{ type: 'usage.record', time: 1777622400000, usageScope: 'turn', model: 'kimi-k3', usage: 'x' }],
  ],
  [
    'gemini-session',
    'tokens',
    [
      { sessionId: 's', projectHash: 'p', startTime: at, lastUpdated: at },
      { id: 'm-1', type: 'gemini', timestamp: at, model: 'gemini-2.5-pro', content: 'Reeds', tokens: [1, 2] },
    ],
  ],
  [
    'qwen-session',
    'usageMetadata',
    [
      {
        type: 'assistant',
        sessionId: 's',
        uuid: 'u-1',
        timestamp: at,
        model: 'qwen3-coder',
        message: { role: 'model', parts: [{ text: 'Reeds' }] },
        usageMetadata: 'x',
      },
    ],
  ],
  ['copilot-cli', 'usage', [{ type: 'session.usage_record', id: 'e-1', timestamp: at, data: { usage: [1] } }]],
  [
    'copilot-cli',
    'usage',
    [
      {
        ...{ type: 'session.shutdown', id: 'e-1', timestamp: at },
        data: { modelMetrics: { 'gpt-5': { usage: 'x', requests: { count: 1 } } } },
      },
    ],
  ],
  ['gemini-stream-json', 'stats', [{ type: 'result', timestamp: at, status: 'success', stats: [1] }]],
  [
    'codex-exec',
    'usage',
    [
      { type: 'thread.started', thread_id: 't' },
      { type: 'turn.completed', usage: [1] },
    ],
  ],
  [
    'pi-session',
    'usage',
    [
      { type: 'session', id: 's', timestamp: at, cwd: '/srv' },
      {
        type: 'message',
        id: 'e-1',
        timestamp: at,
        message: { role: 'assistant', content: [{ type: 'text', text: 'Reeds' }], usage: [1], model: 'm' },
      },
    ],
  ],
])('usage of a wrong shape is an issue in %s', async (format, field, lines) => {
  const { warnings } = await parseTranscript('s', toJsonl(...lines), { format });
  expect(warnings.map(({ code, error }) => `${code}: ${error}`)).toEqual([
    `invalid_usage: Usage field ${field} is no plausible figure`,
  ]);
});

it.each(['x', [1], -1, { a: null }])(
  'reports %j as the cost of a session of Crush, which has no other figure',
  async (cost) => {
    const header = { recount: 'session', version: 1, agent: 'crush', session: 's' };
    const row = { id: 's', title: 'Herons', cost, created_at: 1777622400 };
    const lines = toJsonl(header, { table: 'sessions', rowid: 1, row });
    const { warnings, metadata } = await parseTranscript('s', lines, { format: 'crush-session' });
    expect(warnings.map(({ error }) => error)).toEqual(['Usage field cost is no plausible figure']);
    expect(metadata.reportedTotals).toBeNull();
  },
);

it('reports metrics of a wrong shape in a session of Cline', async () => {
  const content = [{ type: 'text', text: 'Reeds' }];
  const message = { role: 'assistant', id: 'm', ts: 1777622400000, modelInfo: { id: 'm' }, content, metrics: 'x' };
  const { warnings } = await parseTranscript('s', JSON.stringify({ sessionId: 's', messages: [message] }), {
    format: 'cline-session',
  });
  expect(warnings).toMatchObject([{ code: 'invalid_usage', error: 'Usage field metrics is no plausible figure' }]);
});

it('reports a request that is not JSON in a task of Cline', async () => {
  const task = [{ ts: 1777622400000, type: 'say', say: 'api_req_started', text: '{"tokensIn": 5' }];
  const { warnings, apiResponses } = await parseTranscript('s', JSON.stringify(task), { format: 'cline-task' });
  expect(warnings).toMatchObject([{ code: 'invalid_usage', error: 'A request is not a JSON object' }]);
  expect(apiResponses).toEqual([]);
});

/** Formats of JSON lines, each with the file of lines that it has or shares. */
const RECORDED: readonly (readonly [format: string, lines: string])[] = [
  ['codex-rollout', 'codex/codex-rollout'],
  ['codex-exec', 'codex/codex-exec'],
  ['opencode-session', 'opencode/opencode-session'],
  ['opencode-json', 'opencode/opencode-json'],
  ['kilo-session', 'opencode/opencode-session'],
  ['kilo-json', 'opencode/opencode-json'],
  ['copilot-session', 'copilot/copilot-session'],
  ['copilot-cli', 'copilot/copilot-cli'],
  ['gemini-session', 'gemini/gemini-session'],
  ['gemini-stream-json', 'gemini/gemini-stream-json'],
  ['amp-stream-json', 'amp/amp-stream-json'],
  ['cursor-stream-json', 'cursor/cursor-stream-json'],
  ['pi-session', 'pi/pi-session'],
  ['omp-session', 'pi/pi-session'],
  ['openclaw-session', 'pi/pi-session'],
  ['droid-stream-json', 'droid/droid-stream-json'],
  ['qwen-session', 'qwen/qwen-session'],
  ['kimi-wire', 'kimi/kimi-wire'],
  ['goose-session', 'goose/goose-session'],
  ['openhands-session', 'openhands/openhands-session'],
];

async function readFigures(format: string, lines: readonly JsonObject[]) {
  const { apiResponses, errors, warnings, notices } = await parseTranscript('s-1', toJsonl(...lines), { format });
  const tokens = apiResponses.map((row) => [row.tokens_in, row.tokens_out, row.cache_read, row.cache_write].join());
  const issues = [...errors, ...warnings, ...notices].map(({ error, count }) => `${error} (${count})`);
  const terms = apiResponses.flatMap(({ service_tier, speed }) => [service_tier, speed]);
  return { tokens: tokens.sort().join(' '), issues: issues.sort().join('\n'), terms };
}

const changeCounts = (usage: JsonObject, change: (count: number) => JsonObject[string]): JsonObject =>
  Object.fromEntries(
    Object.entries(usage).map(([field, value]) => [
      field,
      typeof value === 'number' && value > 0 ? change(value) : value,
    ]),
  );

const SHAPES: Readonly<Record<string, (usage: JsonObject) => JsonObject[string]>> = {
  'a text': () => 'x',
  'an array': () => [1],
  'a number': () => 1.5,
  'negative counts': (usage) => changeCounts(usage, (count) => -count),
  'fractions of counts': (usage) => changeCounts(usage, (count) => count + 0.5),
  'counts that are texts': (usage) => changeCounts(usage, (count) => `many ${count}`),
  'counts that are nested': (usage) => changeCounts(usage, () => ({ a: null })),
};

/** The usages of the lines that count. Without them, figures are others. */
async function listCounted(format: string, lines: readonly JsonObject[], tokens: string) {
  const counted = [];
  for (const place of findUsages(lines)) {
    const without = await readFigures(
      format,
      changeAt(lines, place, () => null),
    );
    if (without.tokens !== tokens) counted.push(place);
  }
  expect(counted.length).toBeGreaterThan(0);
  return counted;
}

describe.each(RECORDED)('a usage in %s', (format, path) => {
  const lines = readRecordedLines(path);

  it('changes no figure without an issue if its shape is wrong', async () => {
    const known = await readFigures(format, lines);
    for (const place of await listCounted(format, lines, known.tokens)) {
      for (const [shape, change] of Object.entries(SHAPES)) {
        const read = await readFigures(format, changeAt(lines, place, change));
        if (read.issues !== known.issues) continue;
        expect([shape, place, read.tokens]).toEqual([shape, place, known.tokens]);
      }
    }
  });

  it('is flagged if it has a tier or a speed that is invented', async () => {
    const known = await readFigures(format, lines);
    for (const place of await listCounted(format, lines, known.tokens)) {
      for (const field of ['service_tier', 'serviceTier', 'tier', 'speed']) {
        const changed = changeAt(lines, place, (usage) => ({ ...usage, [field]: 'heron' }));
        const { issues, terms } = await readFigures(format, changed);
        const isFlagged = terms.includes('heron') || issues !== known.issues;
        expect([place, field, isFlagged]).toEqual([place, field, true]);
      }
    }
  });
});
