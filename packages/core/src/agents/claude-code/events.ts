import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { readIdentifier, readObject } from '../../records/fields.ts';
import type { EventRecord } from '../../records/records.ts';
import { MAX_TOOL_DURATION_MS, type SessionEventKind } from '../../records/rows.ts';
import { MAX_TOKENS_PER_FIELD } from '../../records/usage.ts';
import { toSlashCommand } from './initial-prompt.ts';
import type { MessageFields } from './message-fields.ts';
import { toPullRequestLink } from './session-lines.ts';

/** Called for a figure outside its bounds, which is not counted. */
type OnImplausible = (name: string) => void;

/** Upper bounds; larger and negative numbers are faults. */
const MAX_DETAILS = {
  preTokens: MAX_TOKENS_PER_FIELD,
  postTokens: MAX_TOKENS_PER_FIELD,
  retryInMs: MAX_TOOL_DURATION_MS,
  retryAttempt: 1e6,
  maxRetries: 1e6,
};

type EventContent = EventRecord['event'];

/** The events of a message line; most have none. `promptText` is what a person typed. */
export function toMessageEvents(
  message: MessageFields,
  line: JsonObject,
  promptText: string | undefined,
  onImplausible: OnImplausible,
): EventRecord[] {
  const { uuid, timestampMs } = message;
  const isSubagent = message.isSidechain || message.agentId !== null;
  return toMessageEventContents(message, line, promptText, onImplausible).map((event) => ({
    kind: 'event',
    event,
    uuid,
    timestampMs,
    isSubagent,
  }));
}

/** The event of a line that is not a message, if it is one. */
export function toMetadataEvent(
  line: JsonObject,
  type: string,
  timestampMs: number | undefined,
): EventRecord | undefined {
  const event = toMetadataEventContent(line, type);
  if (event === undefined) return undefined;
  // A pull request's line is written again when the pull request changes.
  const identity = event.kind === 'pull_request' ? `pull_request:${event.name}#${event.details.number}` : undefined;
  return { kind: 'event', event, uuid: readIdentifier(line.uuid, ignoreCut), timestampMs, isSubagent: false, identity };
}

function toMetadataEventContent(line: JsonObject, type: string): EventContent | undefined {
  if (type !== 'pr-link') return undefined;
  const { url, number, repository } = toPullRequestLink(line);
  return toEvent('pull_request', url, {
    ...(number !== null && { number }),
    ...(repository !== null && { repository }),
  });
}

function toMessageEventContents(
  record: MessageFields,
  line: JsonObject,
  promptText: string | undefined,
  onImplausible: OnImplausible,
): EventContent[] {
  switch (record.type) {
    case 'user':
      return toUserEvents(record, promptText);
    case 'system':
      return toSystemEvents(record, line, onImplausible);
    case 'assistant':
      return record.metadata.isApiErrorMessage === true
        ? [toEvent('api_error', toName(record.metadata.apiErrorStatus ?? line.error), {})]
        : [];
    default:
      return [];
  }
}

function toUserEvents(record: MessageFields, promptText: string | undefined): EventContent[] {
  const events: EventContent[] = [];
  const command = toSlashCommand(record);
  if (command !== undefined) events.push(toEvent('slash_command', command, {}));
  if (!record.isSidechain && promptText !== undefined) {
    events.push(toEvent('prompt', toName(record.metadata.promptSource), {}));
  }
  return events;
}

function toSystemEvents(record: MessageFields, line: JsonObject, onImplausible: OnImplausible): EventContent[] {
  const { subtype } = record.metadata;
  switch (subtype) {
    case 'compact_boundary':
    case 'microcompact_boundary': {
      const metadata = readObject(line.compactMetadata) ?? readObject(line.microcompactMetadata) ?? {};
      const details = { subtype, ...pickNumbers(metadata, ['preTokens', 'postTokens'], onImplausible) };
      return [toEvent('compaction', toName(metadata.trigger ?? line.trigger), details)];
    }
    case 'api_error':
    case 'api_retry':
      return [toRetryEvent(line, onImplausible)];
    case 'local_command': {
      const command = toSlashCommand(record);
      return command === undefined ? [] : [toEvent('slash_command', command, {})];
    }
    default:
      return [];
  }
}

/** The error as the API client reported it (a status, the API's own error object, or a network error). */
function toRetryEvent(line: JsonObject, onImplausible: OnImplausible): EventContent {
  const error = readObject(line.error);
  const cause = readObject(error?.cause) ?? readObject(line.cause);
  const body = readObject(error?.error);
  const type = toName(readObject(body?.error)?.type ?? body?.type ?? error?.type ?? cause?.code ?? error?.code);
  const details: JsonObject = pickNumbers(line, ['retryInMs', 'retryAttempt', 'maxRetries'], onImplausible);
  if (type !== null) details.type = type;
  return toEvent('api_retry', toName(error?.status ?? line.error_status) ?? type ?? toName(line.error), details);
}

function toEvent(kind: SessionEventKind, name: string | null, details: JsonObject): EventContent {
  return { kind, name, details };
}

/** A text, a number, or the name in an object. */
function toName(value: JsonValue | undefined): string | null {
  const object = readObject(value);
  return readIdentifier(object === undefined ? value : (object.status ?? object.type), ignoreCut);
}

function pickNumbers(
  source: JsonObject,
  fields: readonly (keyof typeof MAX_DETAILS)[],
  onImplausible: OnImplausible,
): JsonObject {
  const details: JsonObject = {};
  for (const field of fields) {
    const value = source[field];
    if (typeof value !== 'number') continue;
    if (value >= 0 && value <= MAX_DETAILS[field]) details[field] = value;
    else onImplausible(field);
  }
  return details;
}

/** The cut is reported when the same field is stored in a row. */
function ignoreCut(): void {}
