import type { MessageType } from '../../rows.ts';

const MESSAGE_TYPES = new Set<string>(['user', 'assistant', 'system', 'summary'] satisfies MessageType[]);

/** Line types of Claude Code 1.0 to 2.1 that are not messages: state, bookkeeping, progress. */
const METADATA_TYPES = new Set([
  'agent-color',
  'agent-name',
  'agent-setting',
  'ai-title',
  'atis-latch',
  'attachment',
  'attribution-snapshot',
  'bridge-session',
  'content-replacement',
  'continued-in',
  'cost-state',
  'custom-title',
  'ended-by-model',
  'file-history-delta',
  'file-history-snapshot',
  'fork-context-ref',
  'frame-link',
  'history-suppression',
  'last-prompt',
  'launched',
  'mode',
  'permission-mode',
  'pr-comment-monitor',
  'pr-link',
  'progress',
  'queue-operation',
  'relocated',
  'result',
  'started',
  'tag',
  'worktree-state',
]);

export type LineKind = MessageType | 'metadata' | 'unknown';

export function toLineKind(type: string): LineKind {
  if (MESSAGE_TYPES.has(type)) return type as MessageType;
  return METADATA_TYPES.has(type) ? 'metadata' : 'unknown';
}
