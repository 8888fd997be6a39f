import type { Reader, ReaderContext } from '../agents/agent.ts';
import { createTranscriptReader, findFormat } from '../agents/formats.ts';
import { reportUnreadContent } from '../agents/unread-lines.ts';
import type { AssemblySink } from '../assemble/assembly.ts';
import { MessageAssembler } from '../assemble/message-assembler.ts';
import { createSessionEventTracker, createSessionFacts, type SessionFacts } from '../assemble/session-facts.ts';
import { TranscriptTotals } from '../assemble/transcript-totals.ts';
import type { EndedTurn } from '../assemble/turns.ts';
import { createUlidSequence } from '../assemble/ulid-sequence.ts';
import { createDocumentSplitter, toEntryObject } from '../lines/document-splitter.ts';
import { type Issue, type IssueCode, type IssueSeverity, isTranscriptIssue } from '../lines/issues.ts';
import type { JsonValue } from '../lines/json.ts';
import { readJsonLine } from '../lines/json-line.ts';
import { beginNestedJson, countRefusedTexts } from '../lines/json-values.ts';
import type { LineCut } from '../lines/line-cutter.ts';
import {
  createLineSplitter,
  type LineFilter,
  type LinePosition,
  type LineSplitter,
  type RawLine,
} from '../lines/line-splitter.ts';
import { createMarkerFilter } from '../lines/marker-filter.ts';
import { cutCharacters, isJsonObject, MAX_TYPE_LENGTH } from '../records/fields.ts';
import type { EventRecord, ResponseRecord, TranscriptRecord } from '../records/records.ts';
import { type SessionEvent, type TranscriptMetadata, type TranscriptStats, UNKNOWN_MODEL } from '../records/rows.ts';
import { createArrivalClock, type ParseOptions, resolveOptions } from './parse-options.ts';
import { createParserState, type ParserState, readCheckpoint, writeCheckpoint } from './parser-state.ts';

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

/** Different texts of issues about the whole transcript; further ones are counted together. */
const MAX_TRANSCRIPT_ISSUES = 200;
const FURTHER_ISSUES = 'Further types and totals than are listed';
const NO_LINE: RawLine = { lineNumber: 0, byteOffset: 0, byteLength: 0, bytes: undefined, terminated: true };
const LATE_LINE = 'The line belongs to an API response whose usage is final';

/**
 * The core of recount. It takes the bytes of a transcript or of a recorded stream and emits rows and issues. Synchronous
 * and pure; memory is bounded by `maxLineBytes`, `maxOpenMessages` and `maxOpenToolCalls`.
 *
 * Throws ResumeError, also from `push`, if the parse cannot continue from `options.resumeFrom`.
 */
export class TranscriptParser {
  readonly #options: ParseOptions;
  readonly #sink: RowSink;
  readonly #sessionId: string;
  readonly #isSubagent: boolean;
  readonly #maxOpenMessages: number;
  readonly #state: ParserState;
  readonly #totals: TranscriptTotals;
  readonly #facts: SessionFacts;
  readonly #arrivalOf: (endOffset: number) => number | undefined;
  readonly #assembler: MessageAssembler;
  readonly #trackEvent: (record: EventRecord, lineNumber: number) => void;
  readonly #prompts: { initial: string | undefined; sidechain: string | undefined };
  #line: RawLine;
  readonly #issuesOfLine = new Map<string, Issue>();
  readonly #context: ReaderContext;
  readonly #reader: Reader;
  readonly #isDocument: boolean;
  readonly #splitter: LineSplitter;
  #endRecords: readonly TranscriptRecord[] | undefined;

  constructor(sessionId: string, options: ParseOptions, sink: RowSink) {
    this.#options = options;
    this.#sink = sink;
    this.#sessionId = sessionId;
    this.#isSubagent = options.isSubagent === true;
    const { format, maxLineBytes, longLines, maxInlineContentBytes, maxOpenMessages, ...resolved } =
      resolveOptions(options);
    this.#maxOpenMessages = maxOpenMessages;
    this.#state = options.resumeFrom === undefined ? createParserState() : readCheckpoint(options.resumeFrom, options);
    this.#totals = new TranscriptTotals(this.#state.totals);
    this.#facts = createSessionFacts(this.#state.facts);
    this.#arrivalOf = createArrivalClock(options.arrivals);
    const nextId = createUlidSequence(sessionId, this.#state.ids);
    const callbacks = {
      onImplausible: this.#onImplausible,
      onLate: this.#onLate,
      onKeyForgotten: this.#onKeyForgotten,
    };
    const assemblerOptions = { sessionId, nextId, maxOpenMessages: this.#maxOpenMessages, ...callbacks, ...resolved };
    this.#assembler = new MessageAssembler(assemblerOptions, this.#totals, sink, this.#state.assembler);
    this.#trackEvent = createSessionEventTracker(sessionId, this.#addEvent, this.#state.eventKeys);
    this.#prompts = this.#state.prompts;
    this.#line = NO_LINE;
    const isSubagent = this.#isSubagent;
    this.#context = {
      sessionId,
      isSubagent,
      maxInlineContentBytes,
      isUsageOnly: resolved.isUsageOnly,
      report: this.#report,
    };
    if (options.resumeFrom === undefined && findFormat(format)?.format.lacksUsage) this.#totals.addUnmetered();
    this.#reader = createTranscriptReader(format, this.#context, this.#state.reader);
    this.#state.reader = this.#reader.state;
    this.#isDocument = findFormat(format)?.format.layout === 'document';
    const isWanted = resolved.isUsageOnly
      ? createUsageFilter(format, { facts: this.#facts, assembler: this.#assembler, position: this.#state.position })
      : undefined;
    this.#splitter = this.#isDocument
      ? createDocumentSplitter(maxLineBytes, this.#readLine, this.#state.position, { longLines })
      : createLineSplitter(maxLineBytes, this.#readLine, this.#state.position, { isWanted, longLines });
  }

  /** Parses the lines that the chunk completes; their rows go to the sink before it returns. */
  push(chunk: Uint8Array): void {
    this.#splitter.push(chunk);
  }

  /**
   * Emits the oldest message that a checkpoint would not hold. Call it before `toCheckpoint`, until it returns false.
   */
  closeForCheckpoint(): boolean {
    return this.#mayHaveCheckpoint() && this.#assembler.closeForCheckpoint();
  }

  /**
   * State after the lines read so far, for continuing the parse of a longer transcript. Call it once, after the last
   * chunk. Undefined if the last line is incomplete, or if further lines might change what was emitted. Anything
   * emitted later is emitted again by the parse that continues.
   */
  toCheckpoint(): Uint8Array | undefined {
    return this.#mayHaveCheckpoint() && this.#assembler.isCheckpointSafe()
      ? writeCheckpoint(this.#state, this.#options)
      : undefined;
  }

  /** Parses a last line without a line feed. To be called once, after the last chunk. */
  finish(): void {
    this.#splitter.finish();
    this.#issuesOfLine.clear();
    for (const record of this.#readEnd()) this.#addRecord(record);
    this.#addTurn(this.#assembler.endTurn());
    // Its issues are now about no line. It has the place of the first, however the transcript was read.
    this.#line = NO_LINE;
    this.#reader.finish?.();
  }

  /**
   * Emits the oldest of the messages and tool calls that later lines could have changed. Call it at the end until it
   * returns false, when none are left.
   */
  closeOldest(): boolean {
    if (this.#assembler.closeOldest()) return true;
    for (const name of this.#totals.listImplausible()) this.#onImplausible(name);
    for (const issue of this.#state.transcriptIssues.values()) this.#sink.addIssue({ ...issue });
    this.#state.transcriptIssues.clear();
    return false;
  }

  /** Complete once nothing is open. */
  toSummary(): TranscriptSummary {
    return {
      stats: this.#totals.toStats(
        this.#prompts.initial ?? this.#prompts.sidechain ?? null,
        this.#facts.toDurationMs(),
        this.#facts.toOutputOnlyCount(),
      ),
      exactCostUsd: this.#totals.toExactCost(),
      metadata: {
        ...this.#facts.toMetadata(),
        lineCount: this.#splitter.lineCount,
        byteLength: this.#splitter.byteCount,
      },
      activeMs: this.#assembler.toActiveMs(),
    };
  }

  #observeModel({ model, isSynthetic }: ResponseRecord): void {
    if (model !== null && model !== UNKNOWN_MODEL && !isSynthetic) this.#facts.observeModel(model);
  }

  #addRecord(record: TranscriptRecord): void {
    switch (record.kind) {
      case 'session':
        this.#facts.observe(record);
        break;
      case 'unknown':
        this.#report(
          'unknown_line_type',
          'notice',
          `Unknown line type: ${cutCharacters(record.name, MAX_TYPE_LENGTH)}`,
        );
        reportUnreadContent(record.name, record.value, this.#context);
        break;
      case 'event':
        this.#trackEvent(record, this.#line.lineNumber);
        break;
      case 'message':
        if (this.#prompts.initial === undefined) {
          if (record.isSidechain) this.#prompts.sidechain ??= record.promptText;
          else this.#prompts.initial = record.promptText;
        }
        this.#observeModel(record);
        this.#assembler.addMessage(record, this.#line);
        break;
      case 'usage':
        this.#observeModel(record);
        this.#assembler.addUsage(record, this.#line);
        break;
      default:
        // Relevant only while the agent runs.
        break;
    }
  }

  #readValue(value: JsonValue): void {
    const { lineNumber, byteOffset, byteLength } = this.#line;
    const arrivalMs = this.#arrivalOf(byteOffset + byteLength);
    const read = isJsonObject(value)
      ? this.#reader.read(value, { lineNumber, byteOffset, byteLength, arrivalMs })
      : undefined;
    if (read?.type === undefined) {
      this.#report('missing_type', 'error', 'Missing type field');
      return;
    }
    this.#facts.observeLine(read.type, read.timestampMs);
    for (const record of read.records) this.#addRecord(record);
  }

  #reportCut(byteLength: number, { textCount, elementCount }: LineCut): void {
    const line = `Line of ${byteLength} bytes`;
    if (textCount > 0) this.#report('line_cut', 'warning', `${line}: long texts cut`, textCount);
    if (elementCount > 0) this.#report('line_cut', 'error', `${line}: elements left out`, elementCount);
  }

  #readEnd() {
    if (this.#endRecords !== undefined) return this.#endRecords;
    beginNestedJson();
    this.#endRecords = this.#reader.readEnd?.() ?? [];
    return this.#endRecords;
  }

  #mayHaveCheckpoint(): boolean {
    const isWithinLine = this.#splitter.byteCount !== this.#state.position.byteOffset;
    // A document is rewritten as a whole, so no later version continues it.
    const isContinued =
      !this.#isDocument && !isWithinLine && this.#options.arrivals === undefined && !this.#state.areKeysForgotten;
    // Blocks that only the end completes would be others in a longer version.
    return isContinued && this.#readEnd().length === 0;
  }

  readonly #onImplausible = (name: string): void =>
    this.#report('implausible_figure', 'warning', `The figure ${name} is implausible and not counted`);

  readonly #onLate = (): void =>
    this.#report('late_line', 'error', `${LATE_LINE}: ${this.#maxOpenMessages} messages have come since`);

  readonly #onKeyForgotten = (): void => {
    if (!this.#state.areKeysForgotten)
      this.#report('grouping_window_exceeded', 'warning', 'Too many responses to recognise all late lines');
    this.#state.areKeysForgotten = true;
  };

  readonly #addEvent = (event: SessionEvent): void => {
    if (event.kind === 'prompt') {
      this.#totals.addPrompt();
      if (!event.is_subagent || this.#isSubagent)
        this.#addTurn(this.#assembler.beginTurn(event.line_number, event.timestamp));
    }
    this.#sink.addEvent(event);
  };

  #addTurn(turn: EndedTurn | undefined): void {
    if (turn === undefined) return;
    const session_id = this.#sessionId;
    const is_subagent = this.#isSubagent;
    this.#sink.addEvent({
      event_key: `turn:${session_id}:${turn.line}`,
      ...{ kind: 'turn', session_id, is_subagent, timestamp: turn.timestamp, name: turn.kind },
      ...{ details: {}, line_number: turn.line },
    });
  }

  readonly #report = (code: IssueCode, severity: IssueSeverity, error: string, count = 1): void => {
    const isOfTranscript = isTranscriptIssue(code);
    const issues = isOfTranscript ? this.#state.transcriptIssues : this.#issuesOfLine;
    const isFull = isOfTranscript && issues.size >= MAX_TRANSCRIPT_ISSUES && !issues.has(error);
    const text = isFull ? FURTHER_ISSUES : error;
    const known = issues.get(text);
    if (known !== undefined) {
      // The same difference of a total, found again, is no second one.
      if (code !== 'total_mismatch') known.count += count;
      return;
    }
    const place = { lineNumber: Math.max(1, this.#line.lineNumber), byteOffset: this.#line.byteOffset };
    const issue = { code, severity, error: text, ...place, count };
    issues.set(text, issue);
    if (!isOfTranscript) this.#sink.addIssue(issue);
  };

  readonly #readLine = (rawLine: RawLine): void => {
    this.#line = rawLine;
    if (this.#issuesOfLine.size > 0) this.#issuesOfLine.clear();
    const reportBroken = (): void =>
      this.#report(rawLine.terminated ? 'invalid_json' : 'truncated_last_line', 'error', 'Invalid JSON');
    if (rawLine.isBroken) {
      reportBroken();
      return;
    }
    if (rawLine.bytes === undefined) {
      this.#report('line_too_long', 'error', 'Line exceeds max size');
      return;
    }
    if (rawLine.cut !== undefined) this.#reportCut(rawLine.byteLength, rawLine.cut);
    const json = readJsonLine(rawLine.bytes, this.#report);
    if (json === undefined) return;
    for (const value of json.values) this.#readValue(toEntryObject(value, rawLine.key));
    const refused = countRefusedTexts();
    if (refused > 0) this.#report('line_cut', 'error', 'JSON of too many values left as text', refused);
    if (json.isBroken) reportBroken();
    else if (!rawLine.terminated) this.#report('missing_final_newline', 'warning', 'No line feed after the last line');
  };
}

/** The first lines are parsed until they have named the session's directory and start time. */
export const MAX_HEAD_LINES = 200;

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
