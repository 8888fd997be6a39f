import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { cutCharacters, MAX_TYPE_LENGTH, readObject, readText } from '../../records/fields.ts';
import type { MessageRecord, ResponseRecord, TranscriptRecord, UsageRecord } from '../../records/records.ts';
import type { MessageType } from '../../records/rows.ts';
import { parseTimestampMs, toIsoTimestamp } from '../../records/timestamps.ts';
import type { Reader, ReaderContext, ReaderLine, ReadLine } from '../agent.ts';
import { type ApiBlock, type BlockContext, toContentBlocks } from '../anthropic-api/content-blocks.ts';
import { type IterationReports, readIterations, readPausedResponses } from '../anthropic-api/iterations.ts';
import { listUnknownCounts, toUsage } from '../anthropic-api/usage.ts';
import { StatefulReader } from '../stateful-reader.ts';
import { createUnreadLines, newUnknown, omitFields } from '../unread-lines.ts';
import { type AgentVersionState, isFirstTooNew, NEWEST_KNOWN_MAJOR_VERSION } from './agent-version.ts';
import {
  type AttachmentLineState,
  createAttachmentLineState,
  isShown,
  observeMessage,
  toHiddenMessage,
} from './attachment-lines.ts';
import {
  type CountedTotalsState,
  compareStatedTotal,
  createCountedTotalsState,
  observeResponse,
  reportMismatches,
} from './counted-totals.ts';
import { toMessageEvents, toMetadataEvent } from './events.ts';
import { listMissingFlatFields, toEnvelopeLine } from './flat-lines.ts';
import { toPromptText } from './initial-prompt.ts';
import { toMessageType } from './line-types.ts';
import { toLineName, toLiveRecord } from './live-records.ts';
import { findMissingContent, type MessageFields, toMessageFields } from './message-fields.ts';
import { type ProgressFields, toProgressFields } from './progress-fields.ts';
import { toPromptRecords } from './prompts.ts';
import { createSessionLineState, type SessionLineState, toSessionRecord } from './session-lines.ts';
import { isStreamLine, type StreamLineState, toTranscriptLine } from './stream-lines.ts';
import { describeToolBlocks, mayCountSearches } from './tools.ts';
import { ENVELOPE, KNOWN_SUBTYPES, UNREAD_TYPES } from './unread-types.ts';

const TOO_NEW = `Written by a version later than ${NEWEST_KNOWN_MAJOR_VERSION}: update recount`;
/** Model of messages that Claude Code generates itself. */
export const SYNTHETIC_MODEL = '<synthetic>';

export interface ClaudeCodeReaderState {
  session: SessionLineState;
  stream: StreamLineState;
  version: AgentVersionState;
  attachments: AttachmentLineState;
  totals: CountedTotalsState;
}

/** Reads session files of Claude Code and the output of `claude -p --output-format stream-json`, also mixed. */
export function createClaudeCodeReader(context: ReaderContext, state = createState()): Reader {
  return new ClaudeCodeReader(context, state);
}

class ClaudeCodeReader extends StatefulReader<ClaudeCodeReaderState> {
  readonly #isLive = this.context.isLive === true;
  readonly #isUsageOnly = this.context.isUsageOnly === true;
  readonly #unread = createUnreadLines(UNREAD_TYPES, this.context, ENVELOPE);
  readonly #onIdentifierCut = (): void =>
    this.context.report('identifier_truncated', 'warning', 'Identifier cut to 512 characters');
  readonly #onInvalidUsage = (field: string): void =>
    this.context.report('invalid_usage', 'warning', `Usage field ${field} is no plausible figure`);
  readonly #onImplausible = (name: string): void =>
    this.context.report('implausible_figure', 'warning', `The figure ${name} is implausible and not counted`);
  readonly #onMissingField = (name: string): void =>
    this.context.report('missing_field', 'warning', `Missing field ${name}`);
  readonly #reports: IterationReports = {
    onInvalid: this.#onInvalidUsage,
    onUnknown: (type) =>
      this.context.report(
        'unknown_usage',
        'notice',
        `Iteration of unknown type: ${cutCharacters(type, MAX_TYPE_LENGTH)}`,
      ),
    onMismatch: (figures) =>
      this.context.report(
        'total_mismatch',
        'warning',
        `Tokens of a response are ${figures} (input / output / read / write)`,
      ),
  };
  readonly #blockContext: BlockContext = {
    maxInlineContentBytes: this.context.maxInlineContentBytes,
    isUnmeasured: this.#isLive,
    onNestingTooDeep: () => this.context.report('nesting_too_deep', 'warning', 'JSON nested too deep to be stored'),
    onIdentifierCut: this.#onIdentifierCut,
    ...(!this.#isUsageOnly && { onMissingField: this.#onMissingField }),
    onInvalidContent: () => this.context.report('invalid_content', 'warning', 'Content element without a type'),
    onUnknownBlock: (type) =>
      this.context.report('unknown_block_type', 'notice', `Unknown type of content block: ${type}`),
    onTooManyBlocks: (count) =>
      this.context.report('too_many_blocks', 'error', 'Too many content blocks on one line', count),
  };

  read(source: JsonObject, { arrivalMs }: ReaderLine): ReadLine {
    const envelope = toEnvelopeLine(source);
    if (!this.#isUsageOnly) for (const field of listMissingFlatFields(source)) this.#onMissingField(field);
    if (arrivalMs !== undefined) this.state.stream.isStream = true;
    const { value, isBookkeeping } = isStreamLine(envelope, this.state.stream)
      ? toTranscriptLine(envelope, this.state.stream)
      : { value: envelope, isBookkeeping: false };
    if (typeof value.type !== 'string' || value.type === '')
      return { type: undefined, timestampMs: undefined, records: [] };
    const type = cutCharacters(value.type, MAX_TYPE_LENGTH);
    const timestampMs = this.#readTimestampMs(value.timestamp ?? value.timestamp_ms) ?? arrivalMs;
    if (isFirstTooNew(value, this.state.version)) this.context.report('unsupported_version', 'warning', TOO_NEW);
    const session = toSessionRecord(value, type, this.state.session, this.#onInvalidUsage);
    const messageType = isBookkeeping ? undefined : toMessageType(type);
    const reading =
      messageType === undefined
        ? this.#readOther(value, type, timestampMs)
        : this.#readMessageLine(value, messageType, timestampMs);
    if (value.isUnmetered !== true) {
      for (const record of reading.records) {
        if (record.kind === 'message' || record.kind === 'usage') observeResponse(record, this.state.totals);
      }
    }
    let records = session === undefined ? reading.records : [session, ...reading.records];
    if (!this.#isLive) return { type, timestampMs, records };
    // A system line is shown with its text, whatever its subtype.
    if (type === 'system') records = records.filter(({ kind }) => kind !== 'unknown');
    records.push(...toPromptRecords(envelope, reading.blocks));
    const isShownAsMessage = envelope.type !== 'stream_event' && records.some(isConversation);
    const isUnknown = type !== 'system' && records.some(({ kind }) => kind === 'unknown');
    const live = isShownAsMessage || isUnknown ? undefined : toLiveRecord(envelope, this.state.stream.openResponses);
    if (live !== undefined) records.push(live);
    return { type, timestampMs, records };
  }

  finish(): void {
    reportMismatches(this.state.totals, this.context);
  }

  #readTimestampMs(timestamp: JsonValue | undefined): number | undefined {
    const timeMs = parseTimestampMs(timestamp);
    if (timeMs === undefined && timestamp !== undefined && timestamp !== null) {
      this.context.report('invalid_timestamp', 'warning', 'Timestamp names no moment from 1970 to 9999');
    }
    return timeMs;
  }

  #readUsage({
    usage: source,
    pausedResponses,
  }: MessageFields | ProgressFields): Pick<ResponseRecord, 'usage' | 'billedRequests'> {
    if (source === undefined) return { usage: undefined, billedRequests: [] };
    const usage = toUsage(source, this.#onInvalidUsage);
    for (const field of listUnknownCounts(source)) {
      this.context.report('unknown_usage', 'notice', `Unknown field of usage: ${field}`);
    }
    const { requests, billedRequests } = readIterations(source, usage, this.#reports);
    billedRequests.push(...readPausedResponses(pausedResponses, this.#onInvalidUsage));
    return { usage: requests === undefined ? usage : { ...usage, requests }, billedRequests };
  }

  #toResponseRecord(fields: MessageFields | ProgressFields, blocks: readonly ApiBlock[]): ResponseRecord {
    return {
      responseId: fields.messageId,
      requestId: fields.requestId,
      uuid: fields.uuid,
      timestampMs: fields.timestampMs,
      agentId: fields.agentId,
      model: fields.model,
      isSynthetic: fields.model === SYNTHETIC_MODEL,
      stopReason: fields.stopReason,
      ...this.#readUsage(fields),
      reportedCostUsd: fields.reportedCostUsd,
      gitBranch: fields.gitBranch,
      agentVersion: fields.version,
      isMarkedCopy: fields.isMarkedCopy,
      blocks,
    };
  }

  #readMessage(value: JsonObject, type: MessageType, timestampMs: number | undefined): MessageReading {
    const fields = toMessageFields(
      value,
      type,
      timestampMs,
      this.#onIdentifierCut,
      this.#onInvalidUsage,
      !this.#isUsageOnly,
    );
    const promptText = this.#isUsageOnly ? undefined : toPromptText(fields);
    const records: TranscriptRecord[] = this.#isUsageOnly
      ? []
      : toMessageEvents(fields, value, promptText, this.#onImplausible);
    // The length of the output matters only for usage that may be a placeholder.
    if (this.#isUsageOnly) this.#blockContext.isUnmeasured = fields.stopReason !== null;
    const blocks = toContentBlocks(fields.content, this.#blockContext);
    describeToolBlocks(this.#isUsageOnly ? blocks.filter(mayCountSearches) : blocks, fields, this.#blockContext);
    const { parentUuid, parentToolUseId, isSidechain, role, metadata } = fields;
    records.push({
      ...this.#toResponseRecord(fields, blocks),
      kind: 'message',
      type,
      parentUuid,
      parentToolUseId,
      // Rows store the time as text; live records do not need it.
      timestamp: this.#isLive ? null : toIsoTimestamp(timestampMs, value.timestamp),
      isSidechain,
      role,
      metadata,
      promptText,
    } satisfies MessageRecord);
    return { records, blocks, isPrompt: promptText !== undefined };
  }

  #readMetadata(value: JsonObject, type: string, timestampMs: number | undefined): TranscriptRecord[] {
    const event = this.#isUsageOnly ? undefined : toMetadataEvent(value, type, timestampMs);
    const progress =
      type === 'progress'
        ? toProgressFields(value, timestampMs, this.#onIdentifierCut, this.#onInvalidUsage)
        : undefined;
    if (progress === undefined) return event === undefined ? [] : [event];
    this.#readTimestampMs(readObject(readObject(value.data)?.message)?.timestamp);
    if (this.#isUsageOnly) this.#blockContext.isUnmeasured = progress.stopReason !== null;
    const blocks = toContentBlocks(progress.content, this.#blockContext);
    const { usage, ...response } = this.#toResponseRecord(progress, blocks);
    return usage === undefined ? [] : [{ ...response, kind: 'usage', isSubagent: true, usage } satisfies UsageRecord];
  }

  /** A message that is a separate line; one that another line has shown adds nothing. */
  #readMessageLine(value: JsonObject, type: MessageType, timestampMs: number | undefined): MessageReading {
    if (isShown(value, this.state.attachments)) return { records: [], blocks: [], isPrompt: false };
    const missing = this.#isUsageOnly ? undefined : findMissingContent(value, type);
    if (missing !== undefined) this.#onMissingField(missing);
    const reading = this.#readMessage(value, type, timestampMs);
    observeMessage(value, reading.isPrompt, this.state.attachments);
    const subtype = type === 'system' && !this.#isUsageOnly ? value.subtype : undefined;
    if (typeof subtype === 'string' && !KNOWN_SUBTYPES.has(subtype)) {
      reading.records.push(newUnknown(type, omitFields(value, new Set([...ENVELOPE, 'content'])), toLineName(value)));
    }
    return reading;
  }

  #readHiddenMessage(value: JsonObject, timestampMs: number | undefined): MessageReading | undefined {
    const hidden = this.#isUsageOnly ? undefined : toHiddenMessage(value, this.state.attachments);
    const type = hidden && toMessageType(readText(hidden.line.type) ?? '');
    if (hidden === undefined || type === undefined) return undefined;
    const reading = this.#readMessage(hidden.line, type, timestampMs);
    for (const record of reading.records) if (record.kind === 'event') record.uuid = hidden.promptId ?? record.uuid;
    return reading;
  }

  #readOther(value: JsonObject, type: string, timestampMs: number | undefined): MessageReading {
    const hidden = this.#readHiddenMessage(value, timestampMs);
    if (hidden !== undefined) return hidden;
    const records = this.#readMetadata(value, type, timestampMs);
    if (!this.#isUsageOnly && type === 'result' && isWithoutSubtype(value)) this.#onMissingField('subtype');
    if (type === 'cost-state' || type === 'result') compareStatedTotal(value, this.state.totals);
    records.push(...this.#unread.read(type, value, toTypeName(value)));
    return { records, blocks: [], isPrompt: false };
  }
}

interface MessageReading {
  records: TranscriptRecord[];
  blocks: readonly ApiBlock[];
  isPrompt: boolean;
}

/** A result with a `key` is a line of a workflow's journal, not the end of a turn. */
const isWithoutSubtype = ({ subtype, key }: JsonObject): boolean => readText(subtype) === null && key === undefined;

const isConversation = (record: TranscriptRecord): boolean =>
  record.kind === 'message' && (record.type === 'user' || record.type === 'assistant');

/** The type, with the type of what the line holds. */
export function toTypeName(line: JsonObject): string {
  if (line.type !== 'attachment' && line.type !== 'progress') return toLineName(line);
  const part = readObject(line.type === 'attachment' ? line.attachment : line.data);
  return `${line.type}/${readText(part?.type) ?? 'none'}`;
}

function createState(): ClaudeCodeReaderState {
  return {
    session: createSessionLineState(),
    stream: { isStream: false, openResponses: new Map() },
    version: { version: undefined, isTooNew: false },
    attachments: createAttachmentLineState(),
    totals: createCountedTotalsState(),
  };
}
