import { describe, expect, it } from 'vitest';
import type { JsonValue } from '../lines/json.ts';
import { AGENTS } from './all-agents.ts';
import { detectFormat } from './formats.ts';

const samples: [string | undefined, JsonValue][] = [
  ['claude-code', { type: 'user', sessionId: 's', uuid: 'u', parentUuid: null, message: {} }],
  ['claude-code', { type: 'user', uuid: 'u', parentUuid: null, message: {} }],
  ['claude-code', { type: 'summary', summary: 's', leafUuid: 'l' }],
  ['claude-code', { type: 'file-history-snapshot', snapshot: {} }],
  ['claude-code', { type: 'something-new', sessionId: 's' }],
  ['claude-stream-json', { type: 'system', subtype: 'init', session_id: 's', tools: [], uuid: 'u' }],
  ['claude-stream-json', { type: 'assistant', session_id: 's', message: {}, parent_tool_use_id: null }],
  ['claude-stream-json', { type: 'stream_event', session_id: 's', event: {} }],
  // Cursor is recognised by its `init` line, which lacks the tools; no other line of Claude's stream names them.
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

/** Lines, or outlines of documents, that only the path tells apart. */
const placed: [string | undefined, JsonValue, string | undefined, 'lines' | 'document'][] = [
  ['pi-session', { type: 'session', id: 's', timestamp: 't', cwd: '/' }, '/h/.pi/agent/sessions/s.jsonl', 'lines'],
  ['openclaw-session', { type: 'session', id: 's', timestamp: 't', cwd: '/' }, '/h/.openclaw/a/s.jsonl', 'lines'],
  ['omp-session', { type: 'session', id: 's', timestamp: 't', cwd: '/' }, '/h/.omp/agent/sessions/s.jsonl', 'lines'],
  ['pi-session', { type: 'session', id: 's', timestamp: 't', cwd: '/' }, '/h/x/.omp', 'lines'],
  ['omp-session', { type: 'title', title: 'Herons' }, undefined, 'lines'],
  ['cursor-transcript', { role: 'user', message: {} }, '/p/agent-transcripts/s.jsonl', 'lines'],
  ['gemini-document', { sessionId: 's', projectHash: 'p' }, undefined, 'document'],
  ['gemini-document', { sessionId: 's', messages: { type: 'user' } }, undefined, 'document'],
  [undefined, { sessionId: 's', messages: { type: 'x' } }, undefined, 'document'],
  [undefined, { messages: { type: 'user' } }, undefined, 'document'],
  ['opencode-export', { info: { id: 'ses_1' } }, undefined, 'document'],
  ['opencode-export', { info: { id: 'ses_1' }, messages: { info: {} } }, undefined, 'document'],
  [undefined, { info: { id: 'ses_1' }, messages: {} }, undefined, 'document'],
  [undefined, { info: { id: 's' } }, undefined, 'document'],
  ['droid-settings', { tokenUsage: {} }, '/h/s.settings.json', 'document'],
  ['droid-settings', { providerLock: 'p' }, '/h/s.settings.json.gz', 'document'],
  [undefined, { tokenUsage: {} }, '/h/s.settings.jsonl', 'document'],
  [undefined, { tokenUsage: {} }, undefined, 'document'],
  [undefined, { model: 'm' }, '/h/s.settings.json', 'document'],
  ['amp-thread', { id: 'T-1' }, undefined, 'document'],
  [undefined, { id: 'U-1', v: 1 }, undefined, 'document'],
  ['cline-task', { ts: 1, type: 'say', say: 'text' }, undefined, 'document'],
  ['cline-task', { ts: 1, type: 'ask', ask: 'tool' }, '/x/saoudrizwan.claude-dev/tasks/1/ui_messages.json', 'document'],
  ['roo-task', { ts: 1, type: 'ask', ask: 'tool' }, '/x/rooveterinaryinc.roo-cline/tasks/1/a.json', 'document'],
  ['kilo-code-task', { ts: 1, type: 'say', say: 'text' }, '/x/kilocode.kilo-code/tasks/1/a.json', 'document'],
  [undefined, { ts: 1, type: 'ask', say: 'text' }, undefined, 'document'],
  [undefined, { ts: 1, type: 'say', ask: 'text' }, undefined, 'document'],
  [undefined, { ts: '1', type: 'say', say: 'text' }, undefined, 'document'],
];

describe('detectFormat', () => {
  it.each(samples)('%s: %j', (format, line) => {
    expect(detectFormat(line)?.format.id).toBe(format);
  });

  it.each(placed)('%s: %j at %s in %s', (format, line, path, layout) => {
    expect(detectFormat(line, path, layout)?.format.id).toBe(format);
  });

  it('considers only the formats of a named agent', () => {
    const header = { type: 'session', id: 's', timestamp: 't', cwd: '/' };
    expect(detectFormat(header, '/h/.omp/s.jsonl', 'lines', 'pi')?.format.id).toBe('pi-session');
    expect(detectFormat(header, '/h/.omp/s.jsonl', 'lines', 'codex')).toBeUndefined();
  });
});

/** The facts in an agent's paths (the session, and for a sub-agent also its parent and its own name). */
const paths: [agent: string, path: string, session?: string, parent?: string, own?: string][] = [
  ['cursor', '/p/agent-transcripts/s-1/s-1.jsonl', 's-1'],
  ['cursor', '/p/agent-transcripts/s-1/subagents/a-1.jsonl', 's-1:a-1', 's-1', 'a-1'],
  ['cursor', '/p/else/s-1.jsonl'],
  ['gemini', '/h/chats/session-1.jsonl'],
  ['gemini', '/h/chats/s-1/a-1.jsonl', 's-1:a-1', 's-1', 'a-1'],
  ['droid', '/h/sessions/s-1.jsonl'],
  ['droid', '/h/sessions/s-1.settings.json', 's-1:settings', 's-1', 'settings'],
  ['kimi', '/h/sessions/x/s-1/wire.jsonl', 's-1'],
  ['kimi', '/h/session_s-1/agents/main/wire.jsonl', 's-1'],
  ['kimi', '/h/a_session_s-1/agents/main/wire.jsonl', 'a_session_s-1'],
  ['kimi', '/h/session_s-1/agents/scout/wire.jsonl', 's-1:scout', 's-1', 'scout'],
  ['kimi', '/h/s-1/other.jsonl'],
  ['kimi', 'wire.jsonl'],
  ['cline', '/x/tasks/s-1/ui_messages.json', 's-1'],
  ['cline', '/x/tasks/s-1/claude_messages.json', 's-1'],
  ['cline', '/x/tasks/s-1/api_history.json'],
  ['cline', 'ui_messages.json'],
  ['omp', '/h/sessions/2026-05-12T01-02-27-657Z_s-1.jsonl'],
  ['omp', '/h/sessions/2026-05-12T01-02-27-657Z_s-1/scout.jsonl', 's-1:scout', 's-1', 'scout'],
];

describe('readPath', () => {
  it.each(paths)('of %s: %s', (agentId, path, sessionId, parentSessionId, own) => {
    const identity = AGENTS.find(({ id }) => id === agentId)?.readPath?.(path);
    const isSubagent = parentSessionId !== undefined;
    expect(identity).toMatchObject({ sessionId, isSubagent, parentSessionId, agentId: own });
  });
});
