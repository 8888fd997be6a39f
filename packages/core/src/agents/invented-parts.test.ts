import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../lines/json.ts';
import { parseTranscript } from '../parse/parse-transcript.ts';
import { FORMATS } from './formats.ts';

/** Content that no reader knows, with a text and a usage in it. */
const BODY = {
  text: 'A heron stands in the reeds',
  usage: { input_tokens: 700, output_tokens: 30 },
  tokens: { input: 700, output: 30 },
};
const AT = '2026-05-01T08:00:00.000Z';
const header = (agent: string): JsonObject => ({ recount: 'session', version: 1, agent, session: 's-1' });
const row = { table: 'heron', rowid: 1, row: { id: 'h-1', ...BODY } };

/** For each format, a transcript with an invented type of lines, rows or members. */
const LINES: Readonly<Record<string, readonly JsonObject[]>> = {
  'claude-code': [{ type: 'heron', sessionId: 's', timestamp: AT, ...BODY }],
  'claude-stream-json': [{ type: 'heron', session_id: 's', uuid: 'u', ...BODY }],
  'codex-rollout': [{ timestamp: AT, type: 'heron', payload: { type: 'seen', ...BODY } }],
  'codex-exec': [{ type: 'heron.seen', ...BODY }],
  'opencode-session': [header('opencode'), row],
  'opencode-json': [{ type: 'heron', timestamp: 1778572800000, sessionID: 'ses_1', part: { type: 'heron', ...BODY } }],
  'kilo-session': [header('kilo'), row],
  'kilo-json': [{ type: 'heron', timestamp: 1778572800000, sessionID: 'ses_1', part: { type: 'heron', ...BODY } }],
  'copilot-session': [header('copilot'), row],
  'copilot-cli': [{ type: 'heron.seen', id: 'e-1', timestamp: AT, data: BODY }],
  'gemini-session': [{ id: 'm-1', type: 'heron', timestamp: AT, ...BODY }],
  'gemini-stream-json': [{ type: 'heron', timestamp: AT, ...BODY }],
  'amp-stream-json': [{ type: 'heron', session_id: 'T-1', ...BODY }],
  'cursor-session': [header('cursor'), row],
  'cursor-stream-json': [{ type: 'heron', session_id: 'u-1', ...BODY }],
  'cursor-transcript': [{ role: 'heron', message: { content: [] }, ...BODY }],
  'pi-session': [{ type: 'heron', id: '1', timestamp: AT, ...BODY }],
  'openclaw-session': [{ type: 'heron', id: '1', timestamp: AT, ...BODY }],
  'openclaw-store': [header('openclaw'), row],
  'omp-session': [{ type: 'heron', id: '1', timestamp: AT, ...BODY }],
  'droid-session': [{ type: 'heron', id: 'd-1', timestamp: AT, ...BODY }],
  'droid-stream-json': [{ type: 'heron', session_id: 'd-1', ...BODY }],
  'qwen-session': [{ uuid: 'u-1', sessionId: 'q-1', timestamp: AT, type: 'heron', ...BODY }],
  'qwen-stream-json': [{ type: 'heron', session_id: 'q-1', uuid: 'u', ...BODY }],
  'kimi-wire': [{ type: 'heron.seen', time: 1777622400000, ...BODY }],
  'goose-session': [header('goose'), row],
  'goose-lines': [{ role: 'heron', created: 1747036800, content: [], ...BODY }],
  'crush-session': [header('crush'), row],
  'openhands-session': [
    header('openhands'),
    {
      file: 's/events/event-00000-a.json',
      value: { kind: 'HeronEvent', id: 'a', timestamp: AT, source: 'agent', ...BODY },
    },
  ],
};
const DOCUMENTS: Readonly<Record<string, JsonObject | JsonObject[]>> = {
  'opencode-export': { info: { id: 'ses_1' }, messages: [], heron: BODY },
  'gemini-document': { sessionId: 'g-1', messages: [{ id: 'm', type: 'heron', timestamp: AT, ...BODY }] },
  'amp-thread': { v: 1, id: 'T-1', messages: [], heron: BODY },
  'droid-settings': { assistantActiveTimeMs: 5, heron: BODY },
  'cline-session': { sessionId: 's', messages: [], heron: BODY },
  'cline-task': [{ ts: 1777622400000, type: 'say', say: 'heron', ...BODY }],
  'roo-task': [{ ts: 1777622400000, type: 'say', say: 'heron', ...BODY }],
  'kilo-code-task': [{ ts: 1777622400000, type: 'say', say: 'heron', ...BODY }],
};

const FORMAT_IDS = FORMATS.map(({ format }) => format.id).filter((id) => id !== 'claude-code-prompts');

describe('a type that no reader knows', () => {
  it.each(FORMAT_IDS)('is named and counted, with its text and its usage, in %s', async (format) => {
    const lines = LINES[format];
    const text = lines?.map((line) => `${JSON.stringify(line)}\n`).join('') ?? JSON.stringify(DOCUMENTS[format]);
    const { notices, stats } = await parseTranscript('s-1', text, { format });
    const said = notices.map(({ error, count }) => `${error} (${count})`).join('\n');
    expect(said).toMatch(/heron/i);
    expect(said).toContain('Usage that is not counted');
    expect(said).toContain('Text that is not shown');
    expect(stats.tokens_in ?? 0).toBe(0);
  });
});
