import type { JsonObject } from '../../lines/json.ts';
import { cutCharacters, MAX_TYPE_LENGTH, readText } from '../../records/fields.ts';
import type { ReaderContext } from '../agent.ts';
import { reportUnreadContent } from '../unread-lines.ts';

/** Calls whose events are recognised; the oldest are dropped. */
const MAX_CALL_IDS = 2000;

/** Events that repeat a call of an item by its id. Calls that a script of the model made have no item. */
const CALL_EVENTS: ReadonlySet<string> = new Set([
  'exec_command_end',
  'mcp_tool_call_end',
  'patch_apply_end',
  'dynamic_tool_call_response',
]);

/** Takes in an item that may be a call. `callIds` belong to the latest calls. */
export function observeCall(callIds: Set<string>, item: JsonObject): void {
  const callId = readText(item.call_id);
  if (callId === null) return;
  callIds.add(cutCharacters(callId, MAX_TYPE_LENGTH));
  const [oldest] = callIds;
  if (callIds.size > MAX_CALL_IDS && oldest !== undefined) callIds.delete(oldest);
}

/** Reports an event about a call that is no item, because its content is nowhere else. */
export function observeCallEvent(
  callIds: ReadonlySet<string>,
  event: JsonObject,
  type: string,
  context: Pick<ReaderContext, 'report'>,
): void {
  const callId = readText(event.call_id);
  if (callId === null || !CALL_EVENTS.has(type) || callIds.has(cutCharacters(callId, MAX_TYPE_LENGTH))) return;
  // A separate message repeats a person's command.
  if (event.source !== 'user_shell') reportUnreadContent(`event_msg/${type} without an item`, event, context);
}
