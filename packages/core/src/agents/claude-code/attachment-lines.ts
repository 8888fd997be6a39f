import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { isJsonObject, readObject, readText } from '../../records/fields.ts';
import { toTypedText } from './initial-prompt.ts';

/** Prompts that may come again as a separate line; the oldest are forgotten. */
const MAX_REMEMBERED_PROMPTS = 256;

/** Prompts that came as attachments, and calls that came before their lines. */
export interface AttachmentLineState {
  /** Ids of the messages that lines may repeat. */
  shownIds: Set<string>;
  /** Texts of queued prompts since the last answer. */
  unanswered: Set<string>;
  /** Ids of the latest prompts that were user lines. */
  promptIds: Set<string>;
}

export function createAttachmentLineState(): AttachmentLineState {
  return { shownIds: new Set(), unanswered: new Set(), promptIds: new Set() };
}

/** A message in the form of a user, assistant or system line. */
interface HiddenMessage {
  line: JsonObject;
  /** The id that a prompt had when it was typed. A user line that repeats it has this one. */
  promptId: string | null;
}

/**
 * The message that an attachment is, in the form of a user or system line; undefined if it is none that a reader of the
 * conversation needs. A prompt that the user types while the agent works is an attachment, and has no user line.
 */
function toAttachmentMessage(line: JsonObject): JsonObject | undefined {
  const attachment = readObject(line.attachment);
  switch (attachment?.type) {
    case 'queued_command':
      return toUserLine(line, attachment.prompt, { isMeta: !isQueuedPrompt(attachment), ...toOrigin(attachment) });
    case 'teammate_mailbox':
      return toUserLine(line, toTexts(attachment.messages, 'text'), { isMeta: true });
    case 'poll_events':
      return toUserLine(line, toTexts(attachment.envelopes), { isMeta: true });
    case 'hook_additional_context':
    case 'hook_system_message':
      return toSystemLine(line, attachment, toTexts(attachment.content));
    case 'hook_blocking_error':
      return toSystemLine(line, attachment, readText(readObject(attachment.blockingError)?.blockingError));
    case 'hook_stopped_continuation':
      return toSystemLine(line, attachment, readText(attachment.message));
    default:
      return undefined;
  }
}

/** True if a user line repeats a prompt or a call that has been shown. */
export function isShown(line: JsonObject, { shownIds, unanswered }: AttachmentLineState): boolean {
  const uuid = toId(line.uuid);
  if (uuid !== null && shownIds.has(uuid)) return true;
  if (line.type !== 'user' || unanswered.size === 0) return false;
  const text = toTypedText(readObject(line.message)?.content);
  return text !== undefined && unanswered.delete(text);
}

/**
 * The message of a line that has another type, such as an attachment, or a call of a script. Undefined if there is
 * none, or if another line has shown it.
 */
export function toHiddenMessage(line: JsonObject, state: AttachmentLineState): HiddenMessage | undefined {
  if (line.type === 'host-row') {
    const call = toScriptCall(line);
    const id = toId(call?.uuid);
    if (call !== undefined && id !== null) addBounded(state.shownIds, id);
    return call && { line: call, promptId: null };
  }
  const message = line.type === 'attachment' ? toAttachmentMessage(line) : undefined;
  if (message?.promptSource !== 'queued_command') return message && { line: message, promptId: null };
  const attachment = readObject(line.attachment);
  const promptId = toId(attachment?.source_uuid);
  if (promptId !== null && state.promptIds.has(promptId)) return undefined;
  if (promptId !== null) addBounded(state.shownIds, promptId);
  const text = toTypedText(attachment?.prompt);
  if (text !== undefined) addBounded(state.unanswered, text);
  return { line: message, promptId };
}

/** Call it for each message that is a separate line. */
export function observeMessage(line: JsonObject, isPrompt: boolean, state: AttachmentLineState): void {
  const id = toId(line.uuid);
  if (isPrompt && id !== null) addBounded(state.promptIds, id);
  if (line.type === 'assistant' && line.isSidechain !== true) state.unanswered.clear();
}

/** Null for a replacement of an id in transcripts that a person has cleaned. */
function toId(value: JsonValue | undefined): string | null {
  const id = readText(value);
  return id === null || /\s/.test(id) ? null : id;
}

function addBounded(values: Set<string>, value: string): void {
  values.delete(value);
  values.add(value);
  const [oldest] = values;
  if (values.size > MAX_REMEMBERED_PROMPTS && oldest !== undefined) values.delete(oldest);
}

/**
 * A call that a script made, or its result: `{"type":"host-row","ranByToolUseId":…,"rowUuid":…,"block":{…}}`. The line
 * of the call, which has the id `rowUuid`, comes when the script has ended, without the text of the result.
 */
function toScriptCall(line: JsonObject): JsonObject | undefined {
  const role = readObject(line.message)?.role;
  if (role === 'user' || role === 'assistant') return { ...line, type: role, uuid: line.rowUuid ?? line.uuid ?? null };
  const block = readObject(line.block);
  const isCall = block?.type === 'tool_use';
  if (block === undefined || (!isCall && block.type !== 'tool_result')) return undefined;
  const type = isCall ? 'assistant' : 'user';
  const message = { role: type, content: [block] };
  return { ...line, type, uuid: line.rowUuid ?? null, sourceToolUseID: line.ranByToolUseId ?? null, message };
}

function isQueuedPrompt(attachment: JsonObject): boolean {
  if (attachment.isMeta === true) return false;
  const { commandMode = 'prompt' } = attachment;
  const origin = readText(readObject(attachment.origin)?.kind) ?? 'human';
  return commandMode === 'prompt' && origin === 'human';
}

function toOrigin({ origin }: JsonObject): JsonObject {
  return { promptSource: 'queued_command', ...(isJsonObject(origin) && { origin }) };
}

function toUserLine(line: JsonObject, content: JsonValue | undefined, fields: JsonObject): JsonObject | undefined {
  if (content === undefined || content === null || content === '') return undefined;
  return { ...line, ...fields, type: 'user', message: { role: 'user', content } };
}

function toSystemLine(line: JsonObject, attachment: JsonObject, content: string | null): JsonObject | undefined {
  if (content === null || content === '') return undefined;
  const { type = null, toolUseID = null } = attachment;
  return { ...line, type: 'system', subtype: type, toolUseID, content };
}

/** The texts of a list, or of a field of its objects, in paragraphs. */
function toTexts(value: JsonValue | undefined, field = 'text'): string | null {
  const texts = (Array.isArray(value) ? value : [value]).flatMap((element) => {
    const text = readText(readObject(element)?.[field]) ?? readText(element);
    return text === null || text.trim() === '' ? [] : [text];
  });
  return texts.length === 0 ? null : texts.join('\n\n');
}
