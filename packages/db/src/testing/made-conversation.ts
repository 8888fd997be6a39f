import fc from 'fast-check';

/** A line of a conversation with Claude Code; equal indexes belong to the same response or call. */
export interface MadeLine {
  kind: 'prompt' | 'answer' | 'note' | 'call' | 'result' | 'progress';
  index: number;
  /** Minutes since 22:30, null if the line has no time. */
  minute: number | null;
  tokens: number;
  cacheRead: number;
  cacheWrite: number;
  isLongCache: boolean;
  isFinal: boolean;
  isSidechain: boolean;
  /** Chooses the tool and input of calls, and the text of results. */
  choice: number;
  outcome: 'done' | 'failed' | 'denied';
}

const MODELS = ['claude-opus-4-5', 'claude-sonnet-4-5', 'a-model-without-a-price', null];

const TOOLS: readonly (readonly [name: string, input: Record<string, unknown>])[] = [
  ['Read', { file_path: '/a.ts' }],
  ['Read', { file_path: '/a.ts', limit: 10 }],
  ['Read', { limit: 20, file_path: '/a.ts' }],
  ['Read', { file_path: '/b.ts' }],
  ['Edit', { file_path: '/a.ts', old_string: 'x', new_string: 'y' }],
  ['Bash', { command: 'npm test' }],
  ['Bash', { command: 'npm lint' }],
  ['mcp__db__query', { sql: { b: 1, a: [1, { d: 2, c: 3 }] } }],
  ['mcp__db__query', { sql: { a: [1, { c: 3, d: 2 }], b: 1 } }],
  ['Task', { subagent_type: 'explorer', prompt: 'look' }],
];
const ERRORS = ['No such file', 'Permission 123', ''];

const madeLine: fc.Arbitrary<MadeLine> = fc.record({
  kind: fc.constantFrom('prompt', 'answer', 'answer', 'note', 'call', 'call', 'call', 'result', 'result', 'progress'),
  index: fc.nat(15),
  minute: fc.option(fc.nat(240), { freq: 15 }),
  tokens: fc.integer({ min: 1, max: 9 }),
  cacheRead: fc.constantFrom(0, 0, 777, 1234, 50_000),
  cacheWrite: fc.constantFrom(0, 13, 999, 70_001),
  isLongCache: fc.boolean(),
  isFinal: fc.boolean(),
  isSidechain: fc.boolean(),
  choice: fc.nat(TOOLS.length - 1),
  outcome: fc.constantFrom('done', 'failed', 'failed', 'denied'),
});

/** A call that is made several times in a row, with its results. */
const madeRun: fc.Arbitrary<MadeLine[]> = fc
  .tuple(madeLine, fc.integer({ min: 2, max: 5 }), fc.nat(1000), fc.boolean())
  .map(([line, count, first, isShort]) =>
    Array.from({ length: count }, (_, index) => {
      const made = { ...line, index: 100 + first * 10 + index, minute: line.minute && line.minute + index };
      const call: MadeLine = { ...made, kind: 'call' };
      return isShort && index === count - 1 ? [call] : [call, { ...made, kind: 'result' } satisfies MadeLine];
    }).flat(),
  );

export const madeLines: fc.Arbitrary<MadeLine[]> = fc
  .array(
    fc.oneof(
      madeLine.map((line) => [line]),
      madeRun,
    ),
    { minLength: 1, maxLength: 30 },
  )
  .map((parts) => parts.flat());

/** Other sessions have other ids. */
const toId = (prefix: string, session: string, index: number) =>
  `${prefix}_${session}_${String(index).padStart(24, '0')}`;

/** The transcript of a session with these lines. */
export function toMadeTranscript(session: string, lines: readonly MadeLine[]): string {
  return lines
    .map((line, number) => {
      const { minute, isSidechain } = line;
      const time = minute === null ? {} : { timestamp: new Date(Date.UTC(2026, 0, 1, 22, 30 + minute)).toISOString() };
      const envelope: Envelope = { sessionId: session, isSidechain, ...time };
      return `${JSON.stringify({ ...envelope, ...toFields(line, envelope), uuid: `${session}-${number}` })}\n`;
    })
    .join('');
}

interface Envelope {
  sessionId: string;
  isSidechain: boolean;
  timestamp?: string;
}

function toFields(line: MadeLine, envelope: Envelope): Record<string, unknown> {
  const { kind, index, choice, outcome } = line;
  const { sessionId } = envelope;
  if (kind === 'prompt') return { type: 'user', message: { role: 'user', content: 'prompt' } };
  if (kind === 'result') {
    const is_error = outcome !== 'done';
    const content = outcome === 'denied' ? "The user doesn't want to proceed with this tool use." : ERRORS[choice % 3];
    const result = { type: 'tool_result', tool_use_id: toId('toolu', sessionId, index), content, is_error };
    return { type: 'user', message: { role: 'user', content: [result] } };
  }
  const message = toMessage(line, sessionId);
  const assistant = { type: 'assistant', requestId: toId('req', sessionId, index), message };
  if (kind !== 'progress') return assistant;
  return { type: 'progress', data: { type: 'agent_progress', message: { ...envelope, ...assistant } } };
}

function toMessage(line: MadeLine, sessionId: string): Record<string, unknown> {
  const { kind, index, tokens, cacheRead, cacheWrite, isLongCache, isFinal, choice } = line;
  const [name, input] = TOOLS[choice] ?? [];
  const usage = {
    input_tokens: tokens,
    output_tokens: tokens,
    cache_read_input_tokens: cacheRead,
    cache_creation_input_tokens: cacheWrite,
    ...(isLongCache && { cache_creation: { ephemeral_1h_input_tokens: cacheWrite, ephemeral_5m_input_tokens: 0 } }),
  };
  return {
    id: toId(kind === 'note' ? 'note' : 'msg', sessionId, index),
    role: 'assistant',
    model: MODELS[index % MODELS.length],
    content: [
      kind === 'call'
        ? { type: 'tool_use', id: toId('toolu', sessionId, index), name, input }
        : { type: 'text', text: 'x' },
    ],
    ...(kind !== 'note' && { usage }),
    stop_reason: isFinal ? 'end_turn' : null,
  };
}
