import type { Turn } from '@recount/contract/conversation';
import { expect, it } from 'vitest';
import { toHitParts } from './use-find.ts';

const toTurn = (steps: unknown[], kind = 'answer'): Turn => ({ kind, message: { id: 'm' }, steps }) as unknown as Turn;

it('names the parts of a turn that contain a text, also within a call’s input and result', () => {
  const text = { kind: 'text', block: { id: 'text', content_text: 'Look at the Websocket' } };
  const other = { kind: 'thinking', block: { id: 'thought', thinking_text: 'nothing' } };
  const call = { kind: 'tool', use: { id: 'call', tool_input: { edits: [{ new: 'a\nwebsocket "b"' }] } } };
  const result = { kind: 'tool', use: { id: 'read' }, result: { id: 'result', result_text: 'WEBSOCKET' } };
  const turn = toTurn([text, other, call, result]);
  expect(toHitParts(turn, 'websocket')).toEqual([
    ...['text', 'text rest'],
    ...['call', 'call prompt rest'],
    ...['read', 'read prompt rest', 'result result rest'],
  ]);
  expect(toHitParts(turn, 'websocket "b"')).toEqual(['call', 'call prompt rest']);
  expect(toHitParts(toTurn([text], 'context'), 'websocket')).toEqual(['m', 'text', 'text rest']);
});
