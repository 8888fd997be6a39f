import { createRecentKeys } from '../ids/recent-keys.ts';
import type { MessageRecord } from '../records/claude-code/message-record.ts';
import { toPullRequestLink } from '../records/claude-code/session-facts.ts';
import { parseTimestampMs, readIdentifier, readObject, readText, toIsoTimestamp } from '../records/fields.ts';
import type { JsonObject, JsonValue, SessionEvent, SessionEventKind } from '../rows.ts';
import { toPromptText, toSlashCommand, toTypedText } from './initial-prompt.ts';

/** Events whose copies within the transcript are told from them. */
const MAX_REMEMBERED_EVENTS = 10_000;

export interface SessionEventReader {
  /** The line's events, which are none for most. */
  observeMessage(record: MessageRecord, line: JsonObject, lineNumber: number): void;
  observeMetadata(line: JsonObject, type: string, lineNumber: number): void;
}

type EventContent = Pick<SessionEvent, 'kind' | 'name' | 'details'>;

/** Hands every event on once, also where the transcript holds copies of its line: `known` are those it has handed on. */
export function createSessionEventReader(
  sessionId: string,
  emit: (event: SessionEvent) => void,
  known = new Set<string>(),
): SessionEventReader {
  const knownKeys = createRecentKeys(MAX_REMEMBERED_EVENTS, known);

  const add = (
    { kind, name, details }: EventContent,
    origin: { uuid: string | null; timestampMs: number | undefined; isSubagent: boolean; lineNumber: number },
    identity?: string,
  ): void => {
    const eventKey = `${kind}:${origin.uuid ?? `${sessionId}:${origin.lineNumber}`}`;
    if (!knownKeys.add(identity ?? eventKey)) return;
    emit({
      event_key: eventKey,
      kind,
      session_id: sessionId,
      timestamp: toIsoTimestamp(origin.timestampMs),
      is_subagent: origin.isSubagent,
      name,
      details,
      line_number: origin.lineNumber,
    });
  };

  return {
    observeMessage(record, line, lineNumber) {
      const { uuid, timestampMs } = record;
      const isSubagent = record.isSidechain || record.agentId !== null;
      for (const content of toMessageEvents(record, line)) {
        add(content, { uuid, timestampMs, isSubagent, lineNumber });
      }
    },
    observeMetadata(line, type, lineNumber) {
      const content = toMetadataEvent(line, type);
      if (content === undefined) return;
      const uuid = readIdentifier(line.uuid, ignoreCut);
      const origin = { uuid, timestampMs: parseTimestampMs(line.timestamp), isSubagent: false, lineNumber };
      // A pull request is written again as it changes.
      const isPullRequest = content.kind === 'pull_request';
      add(content, origin, isPullRequest ? `pull_request:${content.name}#${content.details.number}` : undefined);
    },
  };
}

function toMetadataEvent(line: JsonObject, type: string): EventContent | undefined {
  if (type === 'pr-link') {
    const { url, number, repository } = toPullRequestLink(line);
    return toEvent('pull_request', url, {
      ...(number !== null && { number }),
      ...(repository !== null && { repository }),
    });
  }
  const isPrompt = type === 'attachment' && line.isSidechain !== true && isQueuedPrompt(line.attachment);
  return isPrompt ? toEvent('prompt', 'queued_command', {}) : undefined;
}

function toMessageEvents(record: MessageRecord, line: JsonObject): EventContent[] {
  switch (record.type) {
    case 'user':
      return toUserEvents(record);
    case 'system':
      return toSystemEvents(record, line);
    case 'assistant':
      return record.metadata.isApiErrorMessage === true
        ? [toEvent('api_error', toName(record.metadata.apiErrorStatus ?? line.error), {})]
        : [];
    default:
      return [];
  }
}

function toUserEvents(record: MessageRecord): EventContent[] {
  const events: EventContent[] = [];
  const command = toSlashCommand(record);
  if (command !== undefined) events.push(toEvent('slash_command', command, {}));
  if (!record.isSidechain && toPromptText(record) !== undefined) {
    events.push(toEvent('prompt', toName(record.metadata.promptSource), {}));
  }
  return events;
}

function toSystemEvents(record: MessageRecord, line: JsonObject): EventContent[] {
  const { subtype } = record.metadata;
  switch (subtype) {
    case 'compact_boundary':
    case 'microcompact_boundary': {
      const metadata = readObject(line.compactMetadata) ?? readObject(line.microcompactMetadata) ?? {};
      const details = { subtype, ...pickNumbers(metadata, ['preTokens', 'postTokens']) };
      return [toEvent('compaction', toName(metadata.trigger ?? line.trigger), details)];
    }
    case 'api_error':
    case 'api_retry':
      return [toRetryEvent(line)];
    case 'local_command': {
      const command = toSlashCommand(record);
      return command === undefined ? [] : [toEvent('slash_command', command, {})];
    }
    default:
      return [];
  }
}

/** The error as the API client threw it: a status, the API's own error within, or what the network said. */
function toRetryEvent(line: JsonObject): EventContent {
  const error = readObject(line.error);
  const cause = readObject(error?.cause) ?? readObject(line.cause);
  const body = readObject(error?.error);
  const type = toName(readObject(body?.error)?.type ?? body?.type ?? error?.type ?? cause?.code ?? error?.code);
  const details: JsonObject = pickNumbers(line, ['retryInMs', 'retryAttempt', 'maxRetries']);
  if (type !== null) details.type = type;
  return toEvent('api_retry', toName(error?.status ?? line.error_status) ?? type ?? toName(line.error), details);
}

function toEvent(kind: SessionEventKind, name: string | null, details: JsonObject): EventContent {
  return { kind, name, details };
}

/** A text, a number, or the one that an object names itself by. */
function toName(value: JsonValue | undefined): string | null {
  const object = readObject(value);
  return readIdentifier(object === undefined ? value : (object.status ?? object.type), ignoreCut);
}

function pickNumbers(source: JsonObject, fields: readonly string[]): JsonObject {
  return Object.fromEntries(
    fields.flatMap((field) => {
      const value = source[field];
      return typeof value === 'number' ? [[field, value] as const] : [];
    }),
  );
}

/** What the user typed while the agent was at work reaches it as an attachment; no user line follows. */
function isQueuedPrompt(value: JsonValue | undefined): boolean {
  const attachment = readObject(value);
  if (attachment?.type !== 'queued_command' || attachment.isMeta === true) return false;
  const { commandMode = 'prompt' } = attachment;
  const origin = readText(readObject(attachment.origin)?.kind) ?? 'human';
  return commandMode === 'prompt' && origin === 'human' && toTypedText(attachment.prompt) !== undefined;
}

/** A cut here is reported where the same field enters a row. */
function ignoreCut(): void {}
