import type { Reader } from '../agents/agent.ts';
import type { RunnableAgent } from '../agents/formats.ts';
import { toToolInputSummary } from '../agents/tool-input-summary.ts';
import { isNestedDeeperThan, MAX_STORED_JSON_DEPTH } from '../lines/inline-limit.ts';
import { isTranscriptIssue } from '../lines/issues.ts';
import type { JsonObject, JsonValue } from '../lines/json.ts';
import type {
  BlockContent,
  MessageRecord,
  PieceRecord,
  Prompt,
  RunRecord,
  ToolResult,
  ToolUse,
  TranscriptRecord,
  TurnEndRecord,
} from '../records/records.ts';
import type { AgentEvent, AgentResultEvent, LineEvent, ToolEndEvent } from './live-event.ts';
import type { LiveLine, LiveWarning, LiveWarningCode } from './live-line-decoder.ts';
import { createPartialTexts, toOutputText } from './live-text.ts';
import { roundCost, StreamFigures, type StreamSummary } from './stream-summary.ts';
import { createToolPairing } from './tool-pairing.ts';

/** Different warnings of a line, and of the whole stream; further ones are not given. */
const MAX_WARNINGS = 200;
/** Tool uses that have raised their prompt; the oldest are forgotten. */
const MAX_PROMPTED_TOOL_USES = 1000;

/**
 * Turns the records of an agent's reader (the same one that reads its transcripts) into events and figures. Synchronous
 * and bounded; never throws on bad input.
 */
export class LiveReader {
  readonly #agentId: string;
  readonly #now: () => number;
  readonly #reader: Reader;
  readonly #figures;
  readonly #pairing = createToolPairing();
  readonly #partials = createPartialTexts();
  readonly #promptedToolUses = new Set<string>();
  readonly #warningsOfLine = new Set<string>();
  readonly #warningsOfStream = new Set<string>();
  #events: AgentEvent[] = [];
  #eventCount = 0;
  #line: LineEvent = { timestampMs: 0, lineNumber: 0, isLarge: false };
  #byteOffset = 0;
  #receivedMs = 0;
  #value: JsonObject = {};
  /** The turn that the line ends. */
  #result: AgentResultEvent | undefined;
  #runSessionId: string | undefined;
  #lastCostUsd = 0;

  constructor({ id, program }: Pick<RunnableAgent, 'id' | 'program'>, now: () => number) {
    this.#agentId = id;
    this.#now = now;
    this.#figures = new StreamFigures(program.countsWholeSession === true ? 'session' : 'stream');
    this.#reader = program.createReader({
      // The decoder bounds whole lines.
      maxInlineContentBytes: Number.MAX_SAFE_INTEGER,
      isLive: true,
      report: (code, _severity, error) => this.#report(code, error),
    });
  }

  read(source: LiveLine): void {
    this.#receivedMs = this.#now();
    this.#figures.startLine(this.#receivedMs);
    const { lineNumber, byteOffset, byteLength, isLarge, value } = source;
    this.#byteOffset = byteOffset;
    this.#value = value;
    this.#line = { timestampMs: this.#receivedMs, lineNumber, isLarge };
    if (this.#warningsOfLine.size > 0) this.#warningsOfLine.clear();
    const read = this.#reader.read(value, { lineNumber, byteOffset, byteLength, arrivalMs: this.#receivedMs });
    if (read.type === undefined) this.#report('missing_type', 'Missing type field');
    this.#line.timestampMs = read.timestampMs ?? this.#receivedMs;
    for (const record of read.records) this.#readRecord(record);
    // Further records of the line may have added to them.
    if (this.#result !== undefined) this.#result.tokens = this.#figures.toSummary().tokens;
    this.#result = undefined;
    this.#emitOverdue(this.#receivedMs);
  }

  /** Takes in a warning of the line decoder. */
  warn(warning: LiveWarning): void {
    const timestampMs = this.#now();
    this.#figures.touch(timestampMs);
    this.#emitWarning(warning, timestampMs);
  }

  /** Emits results that have waited long enough for their calls. */
  poll(): void {
    this.#emitOverdue(this.#now());
  }

  finish(): void {
    this.#reader.finish?.();
    this.#emitWaiting();
  }

  /** The events since the last call. */
  takeEvents(): AgentEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  toSummary(): StreamSummary {
    return this.#figures.toSummary();
  }

  #emit(event: AgentEvent): void {
    this.#events.push(event);
    this.#eventCount++;
  }

  #emitWarning(warning: LiveWarning, timestampMs: number): void {
    this.#figures.countWarning();
    this.#emit({ type: 'warning', timestampMs, warning });
  }

  #report(code: LiveWarningCode, message: string): void {
    const given = isTranscriptIssue(code) ? this.#warningsOfStream : this.#warningsOfLine;
    if (given.has(message) || given.size >= MAX_WARNINGS) return;
    given.add(message);
    const { lineNumber } = this.#line;
    this.#emitWarning({ code, message, lineNumber, byteOffset: this.#byteOffset }, this.#receivedMs);
  }

  #readRecord(record: TranscriptRecord): void {
    switch (record.kind) {
      case 'message':
        if (record.type === 'assistant') this.#readAnswer(record);
        else if (record.type === 'user') this.#readUser(record);
        break;
      case 'usage':
        this.#figures.addResponse(record);
        break;
      case 'session':
        this.#figures.addSession(record);
        break;
      case 'run':
        this.#readRun(record);
        break;
      case 'piece':
        this.#readPiece(record);
        break;
      case 'turn-end':
        this.#readTurnEnd(record);
        break;
      case 'prompt':
        if (!this.#isTooDeep()) this.#readPrompt(record.prompt);
        break;
      case 'notice': {
        const { name, text, isError } = record;
        if (!this.#isTooDeep()) this.#emit({ ...this.#line, type: 'progress', name, text, isError });
        break;
      }
      case 'unknown':
        if (!this.#isTooDeep()) {
          this.#emit({ ...this.#line, type: 'unknown', name: record.name, original: this.#value });
        }
        break;
      case 'event':
        // Its usage is part of the message's or notice's event.
        break;
    }
  }

  #readRun({ kind: _kind, ...run }: RunRecord): void {
    this.#figures.addRun(run);
    // A process that takes several turns repeats it for each turn.
    if (run.sessionId !== '' && run.sessionId === this.#runSessionId) return;
    this.#runSessionId = run.sessionId;
    this.#emit({ ...this.#line, type: 'session-start', agent: this.#agentId, ...run });
  }

  #readUser(record: MessageRecord): void {
    const { uuid } = record;
    const texts: string[] = [];
    for (const block of record.blocks) {
      if (block.block_type === 'text') texts.push(block.content_text ?? '');
      else this.#readBlock(block, record);
    }
    if (texts.length === 0) return;
    const checkpoint = uuid !== null && isCheckpointMessage(record) ? { checkpoint: uuid } : {};
    this.#emitProgress('user', texts.join('\n'), record.parentToolUseId, checkpoint);
  }

  #readAnswer(record: MessageRecord): void {
    this.#figures.addResponse(record);
    for (const block of record.blocks) this.#readBlock(block, record);
  }

  #readBlock(block: BlockContent, { uuid, responseId, parentToolUseId }: MessageRecord): void {
    const { block_type: blockType, content_text: text, thinking_text: thinking } = block;
    if (block.toolUse !== undefined) this.#readToolUse(block, block.toolUse, parentToolUseId);
    else if (block.toolResult !== undefined) this.#readToolResult(block, block.toolResult, parentToolUseId);
    else if (blockType === 'text' && text) {
      const wasStreamed = this.#partials.takeWhole(parentToolUseId, responseId, text);
      this.#emitText(text, wasStreamed, parentToolUseId, uuid);
    } else if (blockType === 'thinking' && thinking) this.#emitProgress('thinking', thinking, parentToolUseId);
  }

  #readToolUse(block: BlockContent, { facts, summary }: ToolUse, parentToolUseId: string | null): void {
    const toolId = block.tool_use_id ?? '';
    const toolName = block.tool_name ?? '';
    const input = block.tool_input ?? toOtherInput(block);
    const toolInput = summary ?? toToolInputSummary(toolName, input);
    const call = { toolName, toolKind: facts.tool_kind, toolId, toolInput, input };
    this.#emit({ ...this.#line, ...toParent(parentToolUseId), type: 'tool-start', ...call });
    const result = toolId === '' ? undefined : this.#pairing.start(toolId, toolName, this.#line);
    if (result !== undefined) this.#emit(result);
  }

  #readToolResult(block: BlockContent, result: ToolResult, parentToolUseId: string | null): void {
    const toolOutput = toOutputText(block);
    const event: ToolEndEvent = {
      ...this.#line,
      ...toParent(parentToolUseId),
      type: 'tool-end',
      toolName: null,
      toolId: block.tool_result_id ?? '',
      toolOutput,
      toolError: result.isError ? (result.error ?? toolOutput) : null,
      durationMs: null,
    };
    const moment = { eventCount: this.#eventCount, timeMs: this.#receivedMs };
    for (const due of this.#pairing.end(event, moment)) this.#emit(due);
  }

  #readPiece({ responseId, parentToolUseId, piece }: PieceRecord): void {
    if (piece === undefined) {
      for (const streamed of this.#partials.start(parentToolUseId, responseId)) {
        this.#emitText(streamed.text, true, streamed.parentToolUseId);
      }
    } else if (this.#partials.append(parentToolUseId, responseId, piece)) {
      this.#emitProgress('text', piece.text, parentToolUseId);
    }
  }

  #readTurnEnd(record: TurnEndRecord): void {
    this.#emitWaiting();
    const { success, text, durationMs } = record;
    const costUsd = this.#figures.endTurn(record);
    const costDeltaUsd = costUsd === null ? null : Math.max(0, roundCost(costUsd - this.#lastCostUsd));
    this.#lastCostUsd = costUsd ?? this.#lastCostUsd;
    const error = success ? null : (text ?? record.errorCode ?? record.subtype ?? 'error');
    const { tokens } = this.#figures.toSummary();
    const ending = { isComplete: true, success, text: success ? text : null, error, durationMs } as const;
    this.#result = { ...this.#line, type: 'result', ...ending, tokens, costUsd, costDeltaUsd };
    this.#emit(this.#result);
  }

  #readPrompt(prompt: Prompt): void {
    const { toolUseId } = prompt;
    if (toolUseId !== null) {
      if (this.#promptedToolUses.has(toolUseId)) return;
      this.#promptedToolUses.add(toolUseId);
      const [oldest] = this.#promptedToolUses;
      if (this.#promptedToolUses.size > MAX_PROMPTED_TOOL_USES && oldest !== undefined) {
        this.#promptedToolUses.delete(oldest);
      }
    }
    this.#emit({ ...this.#line, type: 'prompt', prompt });
  }

  #emitText(text: string, wasStreamed: boolean, parentToolUseId: string | null, uuid: string | null = null): void {
    const place = { ...this.#line, ...toParent(parentToolUseId) };
    this.#emit({ ...place, type: 'text', text, wasStreamed, ...(uuid !== null && { uuid }) });
  }

  #emitProgress(name: string, text: string, parentToolUseId: string | null, more: { checkpoint?: string } = {}): void {
    this.#emit({ ...this.#line, ...toParent(parentToolUseId), type: 'progress', name, text, isError: false, ...more });
  }

  /** Emits texts that came only in pieces, and results whose tool use never came. */
  #emitWaiting(): void {
    for (const { text, parentToolUseId } of this.#partials.release()) this.#emitText(text, true, parentToolUseId);
    for (const result of this.#pairing.release()) this.#emit(result);
  }

  #emitOverdue(timeMs: number): void {
    for (const result of this.#pairing.takeOverdue({ eventCount: this.#eventCount, timeMs })) this.#emit(result);
  }

  /** Consumers write events as JSON, which would overflow the stack. */
  #isTooDeep(): boolean {
    const isDeep = isNestedDeeperThan(this.#value, MAX_STORED_JSON_DEPTH);
    if (isDeep) this.#report('nesting_too_deep', `Nested deeper than ${MAX_STORED_JSON_DEPTH} levels`);
    return isDeep;
  }
}

const toParent = (parentToolUseId: string | null) => (parentToolUseId === null ? {} : { parentToolUseId });

/** True if the session can be rewound to the message. */
function isCheckpointMessage({ parentToolUseId, isSidechain, metadata }: MessageRecord): boolean {
  return parentToolUseId === null && !isSidechain && metadata.isMeta !== true && metadata.isCompactSummary !== true;
}

/** The input of a tool that the API or an MCP server runs. */
function toOtherInput({ metadata: { content } }: BlockContent): JsonValue {
  return typeof content === 'object' && content !== null && !Array.isArray(content) ? (content.input ?? {}) : null;
}
