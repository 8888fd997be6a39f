import { readCheckpoint, writeCheckpoint } from './checkpoint.ts';
import { createUlidSequence } from './ids/ulid-sequence.ts';
import type { Issue, IssueCode, IssueSeverity } from './issues.ts';
import { type DecodedLine, decodeLine } from './lines/decode-line.ts';
import { createLineSplitter, type RawLine } from './lines/line-splitter.ts';
import { parseJsonLine } from './lines/parse-json-line.ts';
import { maySmuggleCharacters, toStorableJson } from './lines/storable-characters.ts';
import { type BlockContext, toContentBlocks } from './messages/content-blocks.ts';
import { toPromptText } from './messages/initial-prompt.ts';
import { type AssemblySink, createMessageAssembler } from './messages/message-assembler.ts';
import { createSessionEventReader } from './messages/session-events.ts';
import { createTranscriptTotals } from './messages/transcript-totals.ts';
import { type ParseOptions, resolveOptions } from './parse-options.ts';
import { createParserState } from './parser-state.ts';
import { toLineKind } from './records/claude-code/line-types.ts';
import { toMessageRecord } from './records/claude-code/message-record.ts';
import { toProgressRecord } from './records/claude-code/progress-record.ts';
import { createSessionFacts } from './records/claude-code/session-facts.ts';
import { createStreamLineReader, isStreamLine } from './records/claude-code/stream-lines.ts';
import { cutCharacters, isJsonObject } from './records/fields.ts';
import type { JsonObject, JsonValue, MessageType, SessionEvent, TranscriptMetadata, TranscriptStats } from './rows.ts';

export interface TranscriptSummary {
  stats: TranscriptStats;
  metadata: TranscriptMetadata;
  /** Time between messages, gaps of more than MAX_ACTIVE_GAP_MS left out; null where only sorting them all would tell. */
  activeMs: number | null;
}

/** Where the rows and issues go, each once. */
export interface RowSink extends AssemblySink {
  addEvent(event: SessionEvent): void;
  addIssue(issue: Issue): void;
}

export interface TranscriptParser {
  /** Parses the lines that the chunk completes; the rows go to the sink before it returns. */
  push(chunk: Uint8Array): void;
  /** Emits the oldest response that a checkpoint would not hold. To be called before `toCheckpoint`, until it is false. */
  closeForCheckpoint(): boolean;
  /**
   * State after the lines read so far, to go on from when more have been added. To be called once, after the last chunk;
   * undefined where the last line has not ended, or where it cannot be told what further lines might change. What is
   * emitted later is emitted again by the parse that goes on.
   */
  toCheckpoint(): Uint8Array | undefined;
  /** Parses a last line that no line feed ended. To be called once, after the last chunk. */
  finish(): void;
  /**
   * Emits the oldest of the responses and tool calls that later lines could have changed. To be called at the end, until
   * it returns false: there are none left.
   */
  closeOldest(): boolean;
  /** Complete once nothing is open. */
  toSummary(): TranscriptSummary;
}

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
const MAX_TYPE_LENGTH_IN_ERROR = 64;

/**
 * The heart of recount: bytes of a Claude Code transcript, or of a recorded stream, in, rows and issues out. Synchronous and pure; memory is
 * bounded by `maxLineBytes`, `maxOpenMessages` and `maxOpenToolCalls`.
 *
 * Throws ResumeError, also from `push`, where `options.resumeFrom` does not do.
 */
export function createTranscriptParser(sessionId: string, options: ParseOptions, sink: RowSink): TranscriptParser {
  const { maxLineBytes, maxInlineContentBytes, maxOpenMessages, ...resolved } = resolveOptions(options);
  const state = options.resumeFrom === undefined ? createParserState() : readCheckpoint(options.resumeFrom, options);
  const totals = createTranscriptTotals(state.totals);
  const facts = createSessionFacts(state.facts);
  const streamLines = createStreamLineReader(options.arrivals, state.streamResponses);
  const nextId = createUlidSequence(sessionId, state.ids);
  const assemblerOptions = { sessionId, nextId, maxOpenMessages, ...resolved };
  const assembler = createMessageAssembler(assemblerOptions, totals, sink, state.assembler);
  const addEvent = (event: SessionEvent): void => {
    if (event.kind === 'prompt') totals.addPrompt();
    sink.addEvent(event);
  };
  const events = createSessionEventReader(sessionId, addEvent, state.eventKeys);
  const { prompts } = state;

  let line: RawLine = { lineNumber: 0, byteOffset: 0, byteLength: 0, bytes: undefined, terminated: true };
  const issuesOfLine = new Map<string, Issue>();
  const report = (code: IssueCode, severity: IssueSeverity, error: string, count = 1): void => {
    const known = issuesOfLine.get(error);
    if (known !== undefined) {
      known.count += count;
      return;
    }
    const issue = { code, severity, error, lineNumber: line.lineNumber, byteOffset: line.byteOffset, count };
    issuesOfLine.set(error, issue);
    sink.addIssue(issue);
  };
  const warnIdentifierCut = (): void => report('identifier_truncated', 'warning', 'Identifier cut to 512 characters');
  const usageReport = {
    onInvalidUsage: (field: string) => report('invalid_usage', 'warning', `Usage field ${field} is no token count`),
    onWindowExceeded: () => {
      if (state.isWindowExceeded) return;
      state.isWindowExceeded = true;
      report(
        'grouping_window_exceeded',
        'warning',
        `More than ${maxOpenMessages} responses: lines of older ones stay apart`,
      );
    },
  };
  const blockContext: BlockContext = {
    maxInlineContentBytes,
    onNestingTooDeep: () => report('nesting_too_deep', 'warning', 'JSON nested too deep to be stored'),
    onIdentifierCut: warnIdentifierCut,
    onInvalidContent: () => report('invalid_content', 'warning', 'Content element without a type'),
    onTooManyBlocks: (count) => report('too_many_blocks', 'error', 'Too many content blocks on one line', count),
  };

  const readMessage = (value: JsonObject, type: MessageType): void => {
    const record = toMessageRecord(value, type, warnIdentifierCut);
    if (record.timestampMs === undefined && value.timestamp !== undefined && value.timestamp !== null) {
      report('invalid_timestamp', 'warning', 'Timestamp is not ISO 8601');
    }
    if (record.model !== null) facts.observeModel(record.model);
    if (prompts.initial === undefined) {
      if (record.isSidechain) prompts.sidechain ??= toPromptText(record);
      else prompts.initial = toPromptText(record);
    }
    events.observeMessage(record, value, line.lineNumber);
    assembler.add(record, toContentBlocks(record.content, blockContext), line, usageReport);
  };

  const readMetadata = (value: JsonObject, type: string): void => {
    events.observeMetadata(value, type, line.lineNumber);
    const progress = type === 'progress' ? toProgressRecord(value, warnIdentifierCut) : undefined;
    if (progress === undefined) return;
    if (progress.model !== null) facts.observeModel(progress.model);
    assembler.addProgress(progress, toContentBlocks(progress.content, blockContext), line, usageReport);
  };

  const readValue = (source: JsonValue): void => {
    const isStreamed = isJsonObject(source) && isStreamLine(source);
    const { value, isBookkeeping } = isStreamed
      ? streamLines.toTranscriptLine(source, line.byteOffset + line.byteLength)
      : { value: source, isBookkeeping: false };
    const type = isJsonObject(value) ? value.type : undefined;
    if (!isJsonObject(value) || typeof type !== 'string' || type === '') {
      report('missing_type', 'error', 'Missing type field');
      return;
    }
    const kind = isBookkeeping ? 'metadata' : toLineKind(type);
    facts.observe(value, cutCharacters(type, MAX_TYPE_LENGTH_IN_ERROR));
    if (kind === 'unknown') {
      report('unknown_line_type', 'error', `Unknown line type: ${cutCharacters(type, MAX_TYPE_LENGTH_IN_ERROR)}`);
    } else if (kind === 'metadata') {
      readMetadata(value, type);
    } else {
      readMessage(value, kind);
    }
  };

  const readLine = (rawLine: RawLine): void => {
    line = rawLine;
    if (issuesOfLine.size > 0) issuesOfLine.clear();
    if (rawLine.bytes === undefined) {
      report('line_too_long', 'error', 'Line exceeds max size');
      return;
    }
    const { text, isAscii, hasUnicodeEscape } = decodeBytes(rawLine.bytes);
    if (isBlank(text)) return;
    const { values, isBroken } = parseJsonLine(text);
    if (values.length > 1) report('glued_objects', 'warning', 'Several JSON objects on one line', values.length);
    const isSuspect = hasUnicodeEscape && maySmuggleCharacters(text);
    blockContext.isAscii = isAscii && !hasUnicodeEscape;
    for (const value of values) {
      const storable = isSuspect ? toStorableJson(value) : { value, replacedCount: 0 };
      if (storable.replacedCount > 0) {
        report('replaced_characters', 'warning', 'NUL or lone surrogate replaced', storable.replacedCount);
      }
      readValue(storable.value);
    }
    if (isBroken) report(rawLine.terminated ? 'invalid_json' : 'truncated_last_line', 'error', 'Invalid JSON');
    else if (!rawLine.terminated) report('missing_final_newline', 'warning', 'No line feed after the last line');
  };

  const decodeBytes = (lineBytes: Buffer): DecodedLine => {
    let bytes = lineBytes;
    // Not on the first line alone: files with a mark each may have been concatenated.
    if (bytes[0] === BYTE_ORDER_MARK[0] && bytes.subarray(0, 3).equals(BYTE_ORDER_MARK)) {
      report('byte_order_mark', 'warning', 'Byte order mark skipped');
      bytes = bytes.subarray(3);
    }
    const decoded = decodeLine(bytes);
    const { invalidSequenceCount } = decoded;
    if (invalidSequenceCount > 0) report('invalid_utf8', 'warning', 'Invalid UTF-8 replaced', invalidSequenceCount);
    return decoded;
  };

  const splitter = createLineSplitter(maxLineBytes, readLine, state.position);
  const mayHaveCheckpoint = (): boolean => {
    const isWithinLine = splitter.byteCount !== state.position.byteOffset;
    return !isWithinLine && options.arrivals === undefined && !state.isWindowExceeded;
  };
  return {
    push: splitter.push,
    closeForCheckpoint: () => mayHaveCheckpoint() && assembler.closeForCheckpoint(),
    toCheckpoint: () =>
      mayHaveCheckpoint() && assembler.isCheckpointSafe() ? writeCheckpoint(state, options) : undefined,
    finish: splitter.finish,
    closeOldest: assembler.closeOldest,
    toSummary() {
      const durationMs = (facts.lastTimestampMs ?? 0) - (facts.firstTimestampMs ?? 0);
      return {
        stats: totals.toStats(prompts.initial ?? prompts.sidechain ?? null, durationMs),
        metadata: { ...facts.toMetadata(), lineCount: splitter.lineCount, byteLength: splitter.byteCount },
        activeMs: assembler.toActiveMs(),
      };
    },
  };
}

function isBlank(text: string): boolean {
  return !text.startsWith('{') && text.trim() === '';
}
