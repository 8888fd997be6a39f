import { describe, expect, it } from 'vitest';
import type { JsonValue } from '../rows.ts';
import { detectFormat } from './registry.ts';

const samples: [string | undefined, JsonValue][] = [
  ['claude-code', { type: 'user', sessionId: 's', uuid: 'u', parentUuid: null, message: {} }],
  ['claude-code', { type: 'user', uuid: 'u', parentUuid: null, message: {} }],
  ['claude-code', { type: 'summary', summary: 's', leafUuid: 'l' }],
  ['claude-code', { type: 'file-history-snapshot', snapshot: {} }],
  ['claude-code', { type: 'something-new', sessionId: 's' }],
  ['claude-stream-json', { type: 'system', subtype: 'init', session_id: 's', tools: [], uuid: 'u' }],
  ['claude-stream-json', { type: 'assistant', session_id: 's', message: {}, parent_tool_use_id: null }],
  ['claude-stream-json', { type: 'stream_event', session_id: 's', event: {} }],
  // Cursor is known by its `init` line, which alone lacks the tools; no other line of Claude's stream names them.
  ['claude-stream-json', { type: 'system', subtype: 'compact_boundary', session_id: 's' }],
  ['claude-stream-json', { type: 'system', session_id: 's' }],
  ['claude-stream-json', { type: 'user', subtype: 'init', session_id: 's', message: {} }],
  ['amp-stream-json', { type: 'system', subtype: 'init', session_id: 'T-1', tools: [] }],
  ['cursor-stream-json', { type: 'system', subtype: 'init', session_id: 's', model: 'm' }],
  ['gemini-stream-json', { type: 'init', session_id: 's', model: 'm' }],
  ['codex-rollout', { timestamp: 't', type: 'session_meta', payload: { id: 'x' } }],
  ['codex-exec', { type: 'thread.started', thread_id: 'x' }],
  ['codex-exec', { type: 'item.completed', item: {} }],
  ['copilot-cli', { type: 'session.start', data: {} }],
  ['opencode-json', { type: 'step_start', sessionID: 's', part: {} }],
  [undefined, { type: 'user', message: { content: 'hi' } }],
  [undefined, { type: 'session_meta' }],
  [undefined, { type: 5, session_id: 's' }],
  [undefined, {}],
  [undefined, []],
  [undefined, null],
  [undefined, 'claude'],
];

describe('detectFormat', () => {
  it.each(samples)('%s: %j', (format, line) => {
    expect(detectFormat(line)?.format.id).toBe(format);
  });
});
