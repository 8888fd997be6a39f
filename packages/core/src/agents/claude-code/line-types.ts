import type { MessageType } from '../../records/rows.ts';

const MESSAGE_TYPES = new Set<string>(['user', 'assistant', 'system', 'summary'] satisfies MessageType[]);

/** Undefined for a type whose lines are not messages. */
export function toMessageType(type: string): MessageType | undefined {
  return MESSAGE_TYPES.has(type) ? (type as MessageType) : undefined;
}
