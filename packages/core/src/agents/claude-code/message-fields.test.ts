import { describe, expect, it, vi } from 'vitest';
import type { JsonObject, JsonValue } from '../../lines/json.ts';
import type { MessageType } from '../../records/rows.ts';
import { parseTimestampMs } from '../../records/timestamps.ts';
import { toMessageFields } from './message-fields.ts';

const read = (line: JsonObject, type: MessageType = 'user', onIdentifierCut = () => {}) =>
  toMessageFields(line, type, parseTimestampMs(line.timestamp), onIdentifierCut, () => undefined);

const envelope: JsonObject = {
  uuid: 'u2',
  parentUuid: 'u1',
  timestamp: '2025-06-01T00:00:00.000Z',
  isSidechain: true,
  agentId: 'a1',
  requestId: 'req_1',
  gitBranch: 'main',
  version: '2.1.0',
};

describe('toMessageFields', () => {
  it('reads the envelope of any message', () => {
    expect(read({ ...envelope, message: { role: 'user', content: 'hi' } })).toEqual({
      type: 'user',
      messageId: null,
      requestId: 'req_1',
      uuid: 'u2',
      parentUuid: 'u1',
      parentToolUseId: null,
      timestampMs: Date.UTC(2025, 5, 1),
      isSidechain: true,
      agentId: 'a1',
      role: 'user',
      model: null,
      stopReason: null,
      content: 'hi',
      usage: undefined,
      metadata: {},
      gitBranch: 'main',
      version: '2.1.0',
      isMarkedCopy: false,
      reportedCostUsd: null,
      toolUseResult: undefined,
    });
  });

  it('reads id, model, usage and stop reason of assistant lines alone', () => {
    const message = {
      id: 'msg_1',
      model: 'claude-x',
      usage: { input_tokens: 1 },
      stop_reason: 'end_turn',
      stop_sequence: 'STOP',
    };
    expect(read({ message }, 'assistant')).toMatchObject({
      messageId: 'msg_1',
      model: 'claude-x',
      usage: { input_tokens: 1 },
      stopReason: 'end_turn',
      role: 'assistant',
      metadata: { stop_sequence: 'STOP' },
    });
    expect(read({ message }, 'user')).toMatchObject({
      messageId: null,
      model: null,
      usage: undefined,
      stopReason: null,
    });
  });

  it('reads the fields that mark copies, cost and tool results', () => {
    expect(read({ costUSD: 0.1, forkedFrom: { sessionId: 's' }, message: {} }, 'assistant')).toMatchObject({
      reportedCostUsd: 0.1,
      isMarkedCopy: true,
    });
    for (const costUSD of [-1, 1e6, 'much', null]) {
      expect(read({ costUSD, message: {} }, 'assistant').reportedCostUsd).toBeNull();
    }
    expect(read({ costUSD: 1, toolUseResult: { agentId: 'a' }, forkedFrom: 's' })).toMatchObject({
      reportedCostUsd: null,
      isMarkedCopy: false,
      toolUseResult: { agentId: 'a' },
    });
  });

  it('is null, not wrong, for fields of other types', () => {
    const wrong: JsonValue[] = [null, true, [], {}, ''];
    for (const value of wrong) {
      const line = { uuid: value, parentUuid: value, requestId: value, agentId: value, timestamp: value, message: {} };
      expect(
        read({ ...line, isSidechain: 'true', message: { id: value, model: value, usage: 5 } }, 'assistant'),
      ).toEqual({
        type: 'assistant',
        messageId: null,
        requestId: null,
        uuid: null,
        parentUuid: null,
        parentToolUseId: null,
        timestampMs: undefined,
        isSidechain: false,
        agentId: null,
        role: 'assistant',
        model: null,
        stopReason: null,
        content: undefined,
        usage: undefined,
        metadata: {},
        gitBranch: null,
        version: null,
        isMarkedCopy: false,
        reportedCostUsd: null,
        toolUseResult: undefined,
      });
    }
  });

  it('finds the content where each type keeps it', () => {
    expect(read({ message: { content: ['a'] } }).content).toEqual(['a']);
    expect(read({ message: 'text' }).content).toBe('text');
    expect(read({ message: ['a'] }).content).toEqual(['a']);
    expect(read({ content: 'beside' }).content).toBe('beside');
    expect(read({ message: {}, content: 'beside' }).content).toBeUndefined();
    expect(read({ summary: 's', message: { content: 'm' } }, 'summary')).toMatchObject({ content: 's', role: null });
    expect(read({ message: { content: 'm' } }, 'summary').content).toBe('m');
    expect(read({ summary: '', message: { content: 'm' } }, 'summary').content).toBe('m');
    expect(read({ content: 's', message: { content: 'm' } }, 'system')).toMatchObject({ content: 's', role: 'system' });
    expect(read({ message: { content: 'm' } }, 'system').content).toBe('m');
    expect(read({}, 'system').content).toBeUndefined();
  });

  it('reports each identifier that it cuts', () => {
    const onCut = vi.fn();
    const { uuid, messageId } = read({ uuid: 'u'.repeat(513), message: { id: 'm'.repeat(600) } }, 'assistant', onCut);
    expect([uuid?.length, messageId?.length]).toEqual([512, 512]);
    expect(onCut).toHaveBeenCalledTimes(2);
  });
});

describe('metadata of a message', () => {
  const metadataOf = (line: JsonObject) => read(line).metadata;

  it('keeps flags that are set', () => {
    const flags = { isMeta: true, isCompactSummary: true, isApiErrorMessage: true, isVisibleInTranscriptOnly: true };
    expect(metadataOf(flags)).toEqual(flags);
    expect(metadataOf({ isMeta: false, isCompactSummary: 'true', isApiErrorMessage: 1 })).toEqual({});
  });

  it('keeps scalars, the origin of the line, and the reason of a failure', () => {
    const kept = {
      subtype: 'compact_boundary',
      level: 'info',
      leafUuid: 'l',
      promptSource: 'typed',
      permissionMode: 'plan',
      durationMs: 12,
      forkedFrom: { sessionId: 's0', messageUuid: 'm0' },
      compactMetadata: { trigger: 'auto', preTokens: 5 },
      error: { status: 529 },
    };
    expect(metadataOf({ ...kept, slug: 'not-kept', cwd: '/not/kept' })).toEqual(kept);
    expect(metadataOf({ error: 'overloaded' })).toEqual({ error: 'overloaded' });
    expect(metadataOf({ forkedFrom: 'x', error: [1], subtype: { a: 1 }, level: null })).toEqual({});
  });

  it('keeps the small fields of toolUseResult and drops what the tool returned', () => {
    const facts = {
      agentId: 'a',
      status: 'completed',
      totalDurationMs: 5,
      totalTokens: 6,
      totalToolUseCount: 7,
      interrupted: false,
      searchCount: 2,
    };
    const rest = { stdout: 'long', structuredPatch: [{}], file: { base64: 'AAAA' }, usage: { input_tokens: 1 } };
    expect(metadataOf({ toolUseResult: { ...facts, ...rest } })).toEqual({ toolUseResult: facts });
    for (const toolUseResult of ['Error: text', null, [], {}, { stdout: 'x' }]) {
      expect(metadataOf({ toolUseResult })).toEqual({});
    }
  });

  it('is bounded', () => {
    const line = {
      subtype: 'x'.repeat(10_000),
      error: `${'y'.repeat(511)}🎉`,
      forkedFrom: Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`${'k'.repeat(600)}${index}`, index])),
      compactMetadata: Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`k${index}`, index])),
      toolUseResult: { status: 'z'.repeat(10_000) },
    };
    const metadata = metadataOf(line);
    expect(metadata).toMatchObject({
      subtype: 'x'.repeat(512),
      error: 'y'.repeat(511),
      toolUseResult: { status: 'z'.repeat(512) },
    });
    expect(Object.keys(metadata.compactMetadata as JsonObject)).toHaveLength(32);
    expect(Object.keys(metadata.forkedFrom as JsonObject)).toEqual(['k'.repeat(512)]);
  });

  it('treats __proto__ like any other name', () => {
    const metadata = metadataOf(
      JSON.parse('{"__proto__":{"isMeta":true},"forkedFrom":{"__proto__":"x"}}') as JsonObject,
    );
    expect(JSON.stringify(metadata)).toBe('{"forkedFrom":{"__proto__":"x"}}');
  });
});
