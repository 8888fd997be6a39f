import { describe, expect, it } from 'vitest';
import { toLineKind } from './line-types.ts';

describe('toLineKind', () => {
  it('recognises the four message types', () => {
    for (const type of ['user', 'assistant', 'system', 'summary']) expect(toLineKind(type)).toBe(type);
  });

  it.each([
    'attachment',
    'progress',
    'file-history-snapshot',
    'file-history-delta',
    'queue-operation',
    'last-prompt',
    'mode',
    'permission-mode',
    'ai-title',
    'custom-title',
    'agent-name',
    'agent-setting',
    'agent-color',
    'tag',
    'pr-link',
    'pr-comment-monitor',
    'worktree-state',
    'relocated',
    'started',
    'launched',
    'result',
    'cost-state',
    'frame-link',
    'bridge-session',
    'fork-context-ref',
    'content-replacement',
    'history-suppression',
    'atis-latch',
    'attribution-snapshot',
    'continued-in',
    'ended-by-model',
  ])('recognises %s as metadata', (type) => {
    expect(toLineKind(type)).toBe('metadata');
  });

  it('recognises nothing else', () => {
    for (const type of ['__proto__', 'constructor', 'toString', 'User', ' user', 'tool_use', '']) {
      expect(toLineKind(type)).toBe('unknown');
    }
  });
});
