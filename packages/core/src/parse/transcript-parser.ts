import type { ReaderContext } from '../agents/agent.ts';
import { createTranscriptReader, findFormat } from '../agents/formats.ts';
import { reportUnreadContent } from '../agents/unread-lines.ts';
import type { AssemblySink, MessageAssembler } from '../assemble/assembly.ts';
import { createMessageAssembler } from '../assemble/message-assembler.ts';
import { createSessionEventTracker, createSessionFacts, type SessionFacts } from '../assemble/session-facts.ts';
import { createTranscriptTotals } from '../assemble/transcript-totals.ts';
import { createUlidSequence } from '../assemble/ulid-sequence.ts';
import { createDocumentSplitter, toEntryObject } from '../lines/document-splitter.ts';
import { type Issue, type IssueCode, type IssueSeverity, isTranscriptIssue } from '../lines/issues.ts';
import type { JsonValue } from '../lines/json.ts';
import { readJsonLine } from '../lines/json-line.ts';
import { beginNestedJson, countRefusedTexts } from '../lines/json-values.ts';
import type { LineCut } from '../lines/line-cutter.ts';
import { createLineSplitter, type LineFilter, type LinePosition, type RawLine } from '../lines/line-splitter.ts';
import { createMarkerFilter } from '../lines/marker-filter.ts';
import { cutCharacters, isJsonObject, MAX_TYPE_LENGTH } from '../records/fields.ts';
import type { ResponseRecord, TranscriptRecord } from '../records/records.ts';
import { type SessionEvent, type TranscriptMetadata, type TranscriptStats, UNKNOWN_MODEL } from '../records/rows.ts';
import { createArrivalClock, type ParseOptions, resolveOptions } from './parse-options.ts';
import { createParserState, readCheckpoint, writeCheckpoint } from './parser-state.ts';

export interface TranscriptSummary {
  stats: TranscriptStats;
  /** `stats.cost_estimate_usd` as an exact decimal. */
  exactCostUsd: string | null;
  metadata: TranscriptMetadata;
  /** Time between messages, without gaps of more than MAX_ACTIVE_GAP_MS; null if only sorting them all would tell. */
  activeMs: number | null;
}

/** Receives rows and issues, each once and final. */
export interface RowSink extends AssemblySink {
  addEvent(event: SessionEvent): void;
  addIssue(issue: Issue): void;
}

interface TranscriptParser {
  /** Parses the lines that the chunk completes; their rows go to the sink before it returns. */
  push(chunk: Uint8Array): void;
  /**
   * Emits the oldest message that a checkpoint would not hold. Call it before `toCheckpoint`, until it returns false.
   */
  closeForCheckpoint(): boolean;
  /**
   * State after the lines read so far, from which a longer transcript can be parsed further. To be called once, after
   * the last chunk. Undefined if the last line is incomplete, or if further lines might change what was emitted.
   * Anything emitted later is emitted again by the parse that continues.
   */
  toCheckpoint(): Uint8Array | undefined;
  /** Parses a last line without a line feed. To be called once, after the last chunk. */
  finish(): void;
  /**
   * Emits the oldest of the messages and tool calls that later lines could have changed. Call it at the end until it
   * returns false, when none are left.
   */
  closeOldest(): boolean;
  /** Complete once nothing is open. */
  toSummary(): TranscriptSummary;
}

/** Different texts of issues about the whole transcript; further ones are counted together. */
const MAX_TRANSCRIPT_ISSUES = 200;
const FURTHER_ISSUES = 'Further types and totals than are listed';
const NO_LINE: RawLine = { lineNumber: 0, byteOffset: 0, byteLength: 0, bytes: undefined, terminated: true };
const LATE_LINE = 'The line belongs to an API response whose usage is final';

/**
 * The core of recount: takes the bytes of a transcript or of a recorded stream, emits rows and issues. Synchronous and
 * pure; memory is bounded by `maxLineBytes`, `maxOpenMessages` and `maxOpenToolCalls`.
 *
 * Throws ResumeError, also from `push`, if the parse cannot continue from `options.resumeFrom`.
 */
export function createTranscriptParser(sessionId: string, options: ParseOptions, sink: RowSink): TranscriptParser {
  const { format, maxLineBytes, longLines, maxInlineContentBytes, maxOpenMessages, ...resolved } =
    resolveOptions(options);
  const state = options.resumeFrom === undefined ? createParserState() : readCheckpoint(options.resumeFrom, options);
  const totals = createTranscriptTotals(state.totals);
  const facts = createSessionFacts(state.facts);
  const arrivalOf = createArrivalClock(options.arrivals);
  const nextId = createUlidSequence(sessionId, state.ids);
  const onImplausible = (name: string): void =>
    report('implausible_figure', 'warning', `The figure ${name} is implausible and not counted`);
  const onLate = (): void => report('late_line', 'error', `${LATE_LINE}: ${maxOpenMessages} messages have come since`);
  const onKeyForgotten = (): void => {
    if (!state.areKeysForgotten)
      report('grouping_window_exceeded', 'warning', 'Too many responses to recognise all late lines');
    state.areKeysForgotten = true;
  };
  const callbacks = { onImplausible, onLate, onKeyForgotten };
  const assemblerOptions = { sessionId, nextId, maxOpenMessages, ...callbacks, ...resolved };
  const assembler = createMessageAssembler(assemblerOptions, totals, sink, state.assembler);
  const addEvent = (event: SessionEvent): void => {
    if (event.kind === 'prompt') totals.addPrompt();
    sink.addEvent(event);
  };
  const trackEvent = createSessionEventTracker(sessionId, addEvent, state.eventKeys);
  const { prompts } = state;

  let line = NO_LINE;
  const issuesOfLine = new Map<string, Issue>();
  const report = (code: IssueCode, severity: IssueSeverity, error: string, count = 1): void => {
    const isOfTranscript = isTranscriptIssue(code);
    const issues = isOfTranscript ? state.transcriptIssues : issuesOfLine;
    const isFull = isOfTranscript && issues.size >= MAX_TRANSCRIPT_ISSUES && !issues.has(error);
    const text = isFull ? FURTHER_ISSUES : error;
    const known = issues.get(text);
    if (known !== undefined) {
      // The same difference of a total, found again, is no second one.
      if (code !== 'total_mismatch') known.count += count;
      return;
    }
    const place = { lineNumber: Math.max(1, line.lineNumber), byteOffset: line.byteOffset };
    const issue = { code, severity, error: text, ...place, count };
    issues.set(text, issue);
    if (!isOfTranscript) sink.addIssue(issue);
  };
  const isSubagent = options.isSubagent === true;
  const context: ReaderContext = {
    sessionId,
    isSubagent,
    maxInlineContentBytes,
    isUsageOnly: resolved.isUsageOnly,
    report,
  };
  if (options.resumeFrom === undefined && findFormat(format)?.format.lacksUsage) totals.addUnmetered();
  const reader = createTranscriptReader(format, context, state.reader);
  state.reader = reader.state;

  const observeModel = ({ model, isSynthetic }: ResponseRecord): void => {
    if (model !== null && model !== UNKNOWN_MODEL && !isSynthetic) facts.observeModel(model);
  };

  const addRecord = (record: TranscriptRecord): void => {
    switch (record.kind) {
      case 'session':
        facts.observe(record);
        break;
      case 'unknown':
        report('unknown_line_type', 'notice', `Unknown line type: ${cutCharacters(record.name, MAX_TYPE_LENGTH)}`);
        reportUnreadContent(record.name, record.value, context);
        break;
      case 'event':
        trackEvent(record, line.lineNumber);
        break;
      case 'message':
        if (prompts.initial === undefined) {
          if (record.isSidechain) prompts.sidechain ??= record.promptText;
          else prompts.initial = record.promptText;
        }
        observeModel(record);
        assembler.addMessage(record, line);
        break;
      case 'usage':
        observeModel(record);
        assembler.addUsage(record, line);
        break;
      default:
        // Relevant only while the agent runs.
        break;
    }
  };

  const readValue = (value: JsonValue): void => {
    const { lineNumber, byteOffset, byteLength } = line;
    const arrivalMs = arrivalOf(byteOffset + byteLength);
    const read = isJsonObject(value)
      ? reader.read(value, { lineNumber, byteOffset, byteLength, arrivalMs })
      : undefined;
    if (read?.type === undefined) {
      report('missing_type', 'error', 'Missing type field');
      return;
    }
    facts.observeLine(read.type, read.timestampMs);
    for (const record of read.records) addRecord(record);
  };

  const reportCut = (byteLength: number, { textCount, elementCount }: LineCut): void => {
    const line = `Line of ${byteLength} bytes`;
    if (textCount > 0) report('line_cut', 'warning', `${line}: long texts cut`, textCount);
    if (elementCount > 0) report('line_cut', 'error', `${line}: elements left out`, elementCount);
  };

  const readLine = (rawLine: RawLine): void => {
    line = rawLine;
    if (issuesOfLine.size > 0) issuesOfLine.clear();
    const reportBroken = (): void =>
      report(rawLine.terminated ? 'invalid_json' : 'truncated_last_line', 'error', 'Invalid JSON');
    if (rawLine.isBroken) {
      reportBroken();
      return;
    }
    if (rawLine.bytes === undefined) {
      report('line_too_long', 'error', 'Line exceeds max size');
      return;
    }
    if (rawLine.cut !== undefined) reportCut(rawLine.byteLength, rawLine.cut);
    const json = readJsonLine(rawLine.bytes, report);
    if (json === undefined) return;
    for (const value of json.values) readValue(toEntryObject(value, rawLine.key));
    const refused = countRefusedTexts();
    if (refused > 0) report('line_cut', 'error', 'JSON of too many values left as text', refused);
    if (json.isBroken) reportBroken();
    else if (!rawLine.terminated) report('missing_final_newline', 'warning', 'No line feed after the last line');
  };

  const isDocument = findFormat(format)?.format.layout === 'document';
  const isWanted = resolved.isUsageOnly
    ? createUsageFilter(format, { facts, assembler, position: state.position })
    : undefined;
  const splitter = isDocument
    ? createDocumentSplitter(maxLineBytes, readLine, state.position, { longLines })
    : createLineSplitter(maxLineBytes, readLine, state.position, { isWanted, longLines });
  let endRecords: readonly TranscriptRecord[] | undefined;
  const readEnd = () => {
    if (endRecords !== undefined) return endRecords;
    beginNestedJson();
    endRecords = reader.readEnd?.() ?? [];
    return endRecords;
  };
  const mayHaveCheckpoint = (): boolean => {
    const isWithinLine = splitter.byteCount !== state.position.byteOffset;
    // A document is rewritten as a whole, so no later version continues it.
    const isContinued = !isDocument && !isWithinLine && options.arrivals === undefined && !state.areKeysForgotten;
    // Blocks that only the end completes would be others in a longer version.
    return isContinued && readEnd().length === 0;
  };
  return {
    push: splitter.push,
    closeForCheckpoint: () => mayHaveCheckpoint() && assembler.closeForCheckpoint(),
    toCheckpoint: () =>
      mayHaveCheckpoint() && assembler.isCheckpointSafe() ? writeCheckpoint(state, options) : undefined,
    finish() {
      splitter.finish();
      issuesOfLine.clear();
      for (const record of readEnd()) addRecord(record);
      // What it says now is about no line: it has the place of the first, however the transcript was read.
      line = NO_LINE;
      reader.finish?.();
    },
    closeOldest() {
      if (assembler.closeOldest()) return true;
      for (const name of totals.listImplausible()) onImplausible(name);
      for (const issue of state.transcriptIssues.values()) sink.addIssue({ ...issue });
      state.transcriptIssues.clear();
      return false;
    },
    toSummary() {
      return {
        stats: totals.toStats(
          prompts.initial ?? prompts.sidechain ?? null,
          facts.toDurationMs(),
          facts.toOutputOnlyCount(),
        ),
        exactCostUsd: totals.toExactCost(),
        metadata: { ...facts.toMetadata(), lineCount: splitter.lineCount, byteLength: splitter.byteCount },
        activeMs: assembler.toActiveMs(),
      };
    },
  };
}

/** The first lines are parsed until they have named the session's directory and start time. */
const MAX_HEAD_LINES = 200;

interface UsageFilterDeps {
  facts: SessionFacts;
  assembler: MessageAssembler;
  position: LinePosition;
}

/** The lines that can affect usage; undefined, meaning all lines, for a format without markers. */
function createUsageFilter(formatId: string, { facts, assembler, position }: UsageFilterDeps): LineFilter | undefined {
  const markers = findFormat(formatId)?.format.usageMarkers;
  if (markers === undefined) return undefined;
  const hasUsage = createMarkerFilter(markers.usage);
  const hasSearches = createMarkerFilter(markers.searches ?? []);
  const hasAnswer = createMarkerFilter(markers.answers ?? []);
  let isMetered = false;
  return (bytes, start, end) => {
    const affectsUsage = hasUsage(bytes, start, end);
    isMetered ||= affectsUsage;
    return (
      affectsUsage ||
      (!isMetered && hasAnswer(bytes, start, end)) ||
      (assembler.awaitsSearches() && hasSearches(bytes, start, end)) ||
      (position.lineCount <= MAX_HEAD_LINES && !facts.hasOrigin())
    );
  };
}
