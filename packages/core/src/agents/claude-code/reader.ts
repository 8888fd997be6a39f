import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { cutCharacters, MAX_TYPE_LENGTH, readObject, readText } from '../../records/fields.ts';
import type { MessageRecord, ResponseRecord, TranscriptRecord, UsageRecord } from '../../records/records.ts';
import type { MessageType } from '../../records/rows.ts';
import { parseTimestampMs, toIsoTimestamp } from '../../records/timestamps.ts';
import type { Reader, ReaderContext } from '../agent.ts';
import { type ApiBlock, type BlockContext, toContentBlocks } from '../anthropic-api/content-blocks.ts';
import { type IterationReports, readIterations, readPausedResponses } from '../anthropic-api/iterations.ts';
import { listUnknownCounts, toUsage } from '../anthropic-api/usage.ts';
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
const SYNTHETIC_MODEL = '<synthetic>';

export interface ClaudeCodeReaderState {
  session: SessionLineState;
  stream: StreamLineState;
  version: AgentVersionState;
  attachments: AttachmentLineState;
  totals: CountedTotalsState;
}

/** Reads session files of Claude Code and the output of `claude -p --output-format stream-json`, also mixed. */
export function createClaudeCodeReader(context: ReaderContext, state = createState()): Reader {
  const isLive = context.isLive === true;
  const isUsageOnly = context.isUsageOnly === true;
  const onIdentifierCut = (): void =>
    context.report('identifier_truncated', 'warning', 'Identifier cut to 512 characters');
  const onInvalidUsage = (field: string): void =>
    context.report('invalid_usage', 'warning', `Usage field ${field} is no plausible figure`);
  const onImplausible = (name: string): void =>
    context.report('implausible_figure', 'warning', `The figure ${name} is implausible and not counted`);
  const onMissingField = (name: string): void => context.report('missing_field', 'warning', `Missing field ${name}`);
  const unread = createUnreadLines(UNREAD_TYPES, context, ENVELOPE);
  const reports: IterationReports = {
    onInvalid: onInvalidUsage,
    onUnknown: (type) =>
      context.report('unknown_usage', 'notice', `Iteration of unknown type: ${cutCharacters(type, MAX_TYPE_LENGTH)}`),
    onMismatch: (figures) =>
      context.report(
        'total_mismatch',
        'warning',
        `Tokens of a response are ${figures} (input / output / read / write)`,
      ),
  };
  const readTimestampMs = (timestamp: JsonValue | undefined): number | undefined => {
    const timeMs = parseTimestampMs(timestamp);
    if (timeMs === undefined && timestamp !== undefined && timestamp !== null) {
      context.report('invalid_timestamp', 'warning', 'Timestamp names no moment from 1970 to 9999');
    }
    return timeMs;
  };
  const blockContext: BlockContext = {
    maxInlineContentBytes: context.maxInlineContentBytes,
    isUnmeasured: isLive,
    onNestingTooDeep: () => context.report('nesting_too_deep', 'warning', 'JSON nested too deep to be stored'),
    onIdentifierCut,
    ...(!isUsageOnly && { onMissingField }),
    onInvalidContent: () => context.report('invalid_content', 'warning', 'Content element without a type'),
    onUnknownBlock: (type) => context.report('unknown_block_type', 'notice', `Unknown type of content block: ${type}`),
    onTooManyBlocks: (count) =>
      context.report('too_many_blocks', 'error', 'Too many content blocks on one line', count),
  };

  const readUsage = ({
    usage: source,
    pausedResponses,
  }: MessageFields | ProgressFields): Pick<ResponseRecord, 'usage' | 'billedRequests'> => {
    if (source === undefined) return { usage: undefined, billedRequests: [] };
    const usage = toUsage(source, onInvalidUsage);
    for (const field of listUnknownCounts(source)) {
      context.report('unknown_usage', 'notice', `Unknown field of usage: ${field}`);
    }
    const { requests, billedRequests } = readIterations(source, usage, reports);
    billedRequests.push(...readPausedResponses(pausedResponses, onInvalidUsage));
    return { usage: requests === undefined ? usage : { ...usage, requests }, billedRequests };
  };

  const toResponseRecord = (fields: MessageFields | ProgressFields, blocks: readonly ApiBlock[]): ResponseRecord => ({
    responseId: fields.messageId,
    requestId: fields.requestId,
    uuid: fields.uuid,
    timestampMs: fields.timestampMs,
    agentId: fields.agentId,
    model: fields.model,
    isSynthetic: fields.model === SYNTHETIC_MODEL,
    stopReason: fields.stopReason,
    ...readUsage(fields),
    reportedCostUsd: fields.reportedCostUsd,
    gitBranch: fields.gitBranch,
    agentVersion: fields.version,
    isMarkedCopy: fields.isMarkedCopy,
    blocks,
  });

  const readMessage = (value: JsonObject, type: MessageType, timestampMs: number | undefined): MessageReading => {
    const fields = toMessageFields(value, type, timestampMs, onIdentifierCut, onInvalidUsage, !isUsageOnly);
    const promptText = isUsageOnly ? undefined : toPromptText(fields);
    const records: TranscriptRecord[] = isUsageOnly ? [] : toMessageEvents(fields, value, promptText, onImplausible);
    // The length of the output matters only for usage that may be a placeholder.
    if (isUsageOnly) blockContext.isUnmeasured = fields.stopReason !== null;
    const blocks = toContentBlocks(fields.content, blockContext);
    describeToolBlocks(isUsageOnly ? blocks.filter(mayCountSearches) : blocks, fields, blockContext);
    const { parentUuid, parentToolUseId, isSidechain, role, metadata } = fields;
    records.push({
      ...toResponseRecord(fields, blocks),
      kind: 'message',
      type,
      parentUuid,
      parentToolUseId,
      // Rows store the time as text; live records do not need it.
      timestamp: isLive ? null : toIsoTimestamp(timestampMs, value.timestamp),
      isSidechain,
      role,
      metadata,
      promptText,
    } satisfies MessageRecord);
    return { records, blocks, isPrompt: promptText !== undefined };
  };

  const readMetadata = (value: JsonObject, type: string, timestampMs: number | undefined): TranscriptRecord[] => {
    const event = isUsageOnly ? undefined : toMetadataEvent(value, type, timestampMs);
    const progress =
      type === 'progress' ? toProgressFields(value, timestampMs, onIdentifierCut, onInvalidUsage) : undefined;
    if (progress === undefined) return event === undefined ? [] : [event];
    readTimestampMs(readObject(readObject(value.data)?.message)?.timestamp);
    if (isUsageOnly) blockContext.isUnmeasured = progress.stopReason !== null;
    const blocks = toContentBlocks(progress.content, blockContext);
    const { usage, ...response } = toResponseRecord(progress, blocks);
    return usage === undefined ? [] : [{ ...response, kind: 'usage', isSubagent: true, usage } satisfies UsageRecord];
  };

  /** A message that is a line of its own; one that another line has shown adds nothing. */
  const readMessageLine = (value: JsonObject, type: MessageType, timestampMs: number | undefined): MessageReading => {
    if (isShown(value, state.attachments)) return { records: [], blocks: [], isPrompt: false };
    const missing = isUsageOnly ? undefined : findMissingContent(value, type);
    if (missing !== undefined) onMissingField(missing);
    const reading = readMessage(value, type, timestampMs);
    observeMessage(value, reading.isPrompt, state.attachments);
    const subtype = type === 'system' && !isUsageOnly ? value.subtype : undefined;
    if (typeof subtype === 'string' && !KNOWN_SUBTYPES.has(subtype)) {
      reading.records.push(newUnknown(type, omitFields(value, new Set([...ENVELOPE, 'content'])), toLineName(value)));
    }
    return reading;
  };

  const readHiddenMessage = (value: JsonObject, timestampMs: number | undefined): MessageReading | undefined => {
    const hidden = isUsageOnly ? undefined : toHiddenMessage(value, state.attachments);
    const type = hidden && toMessageType(readText(hidden.line.type) ?? '');
    if (hidden === undefined || type === undefined) return undefined;
    const reading = readMessage(hidden.line, type, timestampMs);
    for (const record of reading.records) if (record.kind === 'event') record.uuid = hidden.promptId ?? record.uuid;
    return reading;
  };

  const readOther = (value: JsonObject, type: string, timestampMs: number | undefined): MessageReading => {
    const hidden = readHiddenMessage(value, timestampMs);
    if (hidden !== undefined) return hidden;
    const records = readMetadata(value, type, timestampMs);
    if (!isUsageOnly && type === 'result' && isWithoutSubtype(value)) onMissingField('subtype');
    if (type === 'cost-state' || type === 'result') compareStatedTotal(value, state.totals);
    records.push(...unread.read(type, value, toTypeName(value)));
    return { records, blocks: [], isPrompt: false };
  };

  return {
    state,
    read(source, { arrivalMs }) {
      const envelope = toEnvelopeLine(source);
      if (!isUsageOnly) for (const field of listMissingFlatFields(source)) onMissingField(field);
      if (arrivalMs !== undefined) state.stream.isStream = true;
      const { value, isBookkeeping } = isStreamLine(envelope, state.stream)
        ? toTranscriptLine(envelope, state.stream)
        : { value: envelope, isBookkeeping: false };
      if (typeof value.type !== 'string' || value.type === '')
        return { type: undefined, timestampMs: undefined, records: [] };
      const type = cutCharacters(value.type, MAX_TYPE_LENGTH);
      const timestampMs = readTimestampMs(value.timestamp ?? value.timestamp_ms) ?? arrivalMs;
      if (isFirstTooNew(value, state.version)) context.report('unsupported_version', 'warning', TOO_NEW);
      const session = toSessionRecord(value, type, state.session, onInvalidUsage);
      const messageType = isBookkeeping ? undefined : toMessageType(type);
      const reading =
        messageType === undefined
          ? readOther(value, type, timestampMs)
          : readMessageLine(value, messageType, timestampMs);
      if (value.isUnmetered !== true) {
        for (const record of reading.records) {
          if (record.kind === 'message' || record.kind === 'usage') observeResponse(record, state.totals);
        }
      }
      let records = session === undefined ? reading.records : [session, ...reading.records];
      if (!isLive) return { type, timestampMs, records };
      // A system line is shown with its text, whatever its subtype.
      if (type === 'system') records = records.filter(({ kind }) => kind !== 'unknown');
      records.push(...toPromptRecords(envelope, reading.blocks));
      const isShownAsMessage = envelope.type !== 'stream_event' && records.some(isConversation);
      const isUnknown = type !== 'system' && records.some(({ kind }) => kind === 'unknown');
      const live = isShownAsMessage || isUnknown ? undefined : toLiveRecord(envelope, state.stream.openResponses);
      if (live !== undefined) records.push(live);
      return { type, timestampMs, records };
    },
    finish: () => reportMismatches(state.totals, context),
  };
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
function toTypeName(line: JsonObject): string {
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
