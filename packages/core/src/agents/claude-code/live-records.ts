import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { cutCharacters, readObject, readText, toFlag, toNumber } from '../../records/fields.ts';
import type { LiveRecord, NoticeRecord, PieceRecord, RunRecord, TurnEndRecord } from '../../records/records.ts';

/** Fields of bookkeeping lines that are worth showing. */
const TELLING_FIELDS = ['summary', 'message', 'description', 'status', 'content', 'hook_name', 'tool_name'] as const;
const MAX_NOTICE_CHARACTERS = 200;

/** The live record of a line that is neither a user message nor an assistant message. */
export function toLiveRecord(line: JsonObject, openResponses: ReadonlyMap<string, string>): LiveRecord | undefined {
  switch (line.type) {
    case 'result':
      return toTurnEnd(line);
    case 'stream_event':
      return toPiece(line, openResponses);
    case 'system':
      return line.subtype === 'init' ? toRun(line) : toNotice(line);
    default:
      return toNotice(line);
  }
}

/** The type with its subtype, if the line has one. */
export function toLineName({ type, subtype }: JsonObject): string {
  return typeof subtype === 'string' && subtype !== '' ? `${type}/${subtype}` : String(type);
}

function toRun(line: JsonObject): RunRecord {
  const tools = Array.isArray(line.tools) ? line.tools : [line.tools ?? null];
  return {
    kind: 'run',
    sessionId: readText(line.session_id) ?? '',
    model: readText(line.model),
    cwd: readText(line.cwd),
    version: readText(line.claude_code_version),
    tools: tools.flatMap((tool) => readText(tool) ?? []),
  };
}

function toNotice(line: JsonObject): NoticeRecord {
  const text = TELLING_FIELDS.reduce<string | null>((found, field) => found ?? readText(line[field]), null);
  return {
    kind: 'notice',
    name: toLineName(line),
    text: text === null ? '' : cutCharacters(text, MAX_NOTICE_CHARACTERS),
    isError: false,
  };
}

/** Only text is streamed. Tool uses and thinking come with their complete lines. */
function toPiece(line: JsonObject, openResponses: ReadonlyMap<string, string>): PieceRecord | undefined {
  const event = readObject(line.event);
  const parentToolUseId = readText(line.parent_tool_use_id);
  const responseId = openResponses.get(parentToolUseId ?? '') ?? null;
  if (event?.type === 'message_start') return { kind: 'piece', responseId, parentToolUseId, piece: undefined };
  const delta = event?.type === 'content_block_delta' ? readObject(event.delta) : undefined;
  const text = delta?.type === 'text_delta' ? readText(delta.text) : null;
  if (text === null) return undefined;
  return { kind: 'piece', responseId, parentToolUseId, piece: { blockIndex: toNumber(event?.index) ?? 0, text } };
}

function toTurnEnd(line: JsonObject): TurnEndRecord {
  const subtype = readText(line.subtype);
  const success = toFlag(line.is_error) !== true && (subtype === null || subtype === 'success');
  return {
    kind: 'turn-end',
    success,
    subtype,
    errorCode: success ? null : toErrorCode(subtype, line),
    text: readText(line.result) ?? readText(line.error) ?? toErrorsText(line.errors),
    stopReason: readText(line.stop_reason),
    durationMs: toNumber(line.duration_ms) ?? null,
  };
}

/** Some failures have the subtype `success` and state only the API's status. */
function toErrorCode(subtype: string | null, line: JsonObject): string | null {
  if (subtype !== null && subtype !== 'success') return subtype;
  return typeof line.api_error_status === 'number' ? `API error ${line.api_error_status}` : null;
}

function toErrorsText(errors: JsonValue | undefined): string | null {
  const texts = Array.isArray(errors) ? errors.filter((error) => typeof error === 'string') : [];
  return texts.length === 0 ? null : texts.join('\n');
}
