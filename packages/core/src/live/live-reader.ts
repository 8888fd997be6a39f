import type { Reader, ReaderContext } from '../agents/agent.ts';
import { isNestedDeeperThan, MAX_STORED_JSON_DEPTH } from '../lines/inline-limit.ts';
import { isTranscriptIssue } from '../lines/issues.ts';
import type { JsonObject } from '../lines/json.ts';
import type {
  BlockContent,
  MessageRecord,
  PieceRecord,
  Prompt,
  RunRecord,
  ToolResult,
  TranscriptRecord,
  TurnEndRecord,
} from '../records/records.ts';
import type { LiveLine, LiveWarning, LiveWarningCode } from './live-line-decoder.ts';
import { createPartialTexts, toOutputText } from './live-text.ts';
import type { AssistantEvent, LineEvent, StreamEvent, ToolResultEvent } from './stream-event.ts';
import type { StreamReader } from './stream-reader.ts';
import { createStreamFigures, toTokenCounts } from './stream-summary.ts';
import { createToolPairing } from './tool-pairing.ts';

/** The parts of an agent's program that a stream reader needs. */
interface LiveAgent {
  createReader(context: ReaderContext): Reader;
  countsWholeSession?: boolean;
}

/** Different warnings of a line, and of the whole stream; further ones are not given. */
const MAX_WARNINGS = 200;
/** Tool uses that have raised their prompt; the oldest are forgotten. */
const MAX_PROMPTED_TOOL_USES = 1000;

/**
 * Turns the records of an agent's reader (the same one that reads its transcripts) into events and figures. Synchronous
 * and bounded; never throws on bad input.
 */
export function createLiveReader(agent: LiveAgent, now: () => number): StreamReader<StreamEvent> {
  const figures = createStreamFigures(agent.countsWholeSession === true ? 'session' : 'stream');
  const pairing = createToolPairing();
  const partials = createPartialTexts();
  const promptedToolUses = new Set<string>();
  let events: StreamEvent[] = [];
  let eventCount = 0;
  let line: LineEvent = { timestampMs: 0, lineNumber: 0, isLarge: false };
  let byteOffset = 0;
  let receivedMs = 0;
  let value: JsonObject = {};
  let runSessionId: string | undefined;
  const warningsOfLine = new Set<string>();
  const warningsOfStream = new Set<string>();

  const give = (event: StreamEvent): void => {
    events.push(event);
    eventCount++;
  };
  const warn = (warning: LiveWarning): StreamEvent => {
    figures.countWarning();
    return { type: 'warning', warning };
  };
  const report = (code: LiveWarningCode, message: string): void => {
    const given = isTranscriptIssue(code) ? warningsOfStream : warningsOfLine;
    if (given.has(message) || given.size >= MAX_WARNINGS) return;
    given.add(message);
    give(warn({ code, message, lineNumber: line.lineNumber, byteOffset }));
  };
  const reader = agent.createReader({
    // The decoder bounds whole lines.
    maxInlineContentBytes: Number.MAX_SAFE_INTEGER,
    isLive: true,
    report: (code, _severity, error) => report(code, error),
  });

  const giveToolResult = (block: BlockContent, result: ToolResult, parentToolUseId: string | null): void => {
    const content = toOutputText(block);
    const error = result.isError ? (result.error ?? content) : null;
    const event: ToolResultEvent = {
      ...line,
      type: 'tool_result',
      toolUseId: block.tool_result_id ?? '',
      toolName: null,
      content,
      isError: result.isError,
      error,
      durationMs: null,
      parentToolUseId,
      isUnpaired: true,
    };
    for (const known of pairing.end(event, { eventCount, timeMs: receivedMs })) give(known);
  };

  const giveBlock = (block: BlockContent, base: AssistantEvent): boolean => {
    const { parentToolUseId, messageId } = base;
    if (block.toolUse !== undefined) {
      const id = block.tool_use_id ?? '';
      const name = block.tool_name ?? '';
      const { summary: inputSummary } = block.toolUse;
      const input = block.tool_input ?? toOtherInput(block);
      give({ ...base, toolUse: { id, name, input, ...(inputSummary !== undefined && { summary: inputSummary }) } });
      const result = id === '' ? undefined : pairing.start(id, name, line);
      if (result !== undefined) give(result);
      return true;
    }
    if (block.toolResult !== undefined) giveToolResult(block, block.toolResult, parentToolUseId);
    else if (block.block_type === 'text' && block.content_text) {
      const wasStreamed = partials.takeWhole(parentToolUseId, messageId, block.content_text);
      give({ ...base, content: block.content_text, wasStreamed });
      return true;
    } else if (block.block_type === 'thinking' && block.thinking_text) {
      give({ ...base, thinking: block.thinking_text });
      return true;
    }
    return false;
  };

  const giveUser = (record: MessageRecord): void => {
    const { uuid, parentToolUseId } = record;
    const texts: string[] = [];
    for (const block of record.blocks) {
      if (block.block_type === 'text') texts.push(block.content_text ?? '');
      else giveBlock(block, toAssistantEvent(line, { messageId: null, parentToolUseId, uuid }));
    }
    if (texts.length === 0) return;
    const isCheckpoint = isCheckpointMessage(record);
    give({ ...line, type: 'user', uuid, content: texts.join('\n'), parentToolUseId, isCheckpoint });
  };

  const giveAssistant = (record: MessageRecord): void => {
    const { uuid, responseId: messageId, parentToolUseId } = record;
    const base = toAssistantEvent(line, { messageId, parentToolUseId, uuid });
    const counts = figures.addResponse(record);
    let next: AssistantEvent = counts === undefined ? base : { ...base, tokens: counts };
    for (const block of record.blocks) if (giveBlock(block, next)) next = base;
  };

  const readPiece = ({ responseId: messageId, parentToolUseId, piece }: PieceRecord): void => {
    if (piece === undefined) {
      for (const streamed of partials.start(parentToolUseId, messageId)) giveStreamed(streamed);
    } else if (partials.append(parentToolUseId, messageId, piece)) {
      give({ ...toAssistantEvent(line, { messageId, parentToolUseId }), content: piece.text, isPartial: true });
    }
  };

  const giveStreamed = (streamed: { messageId: string | null; parentToolUseId: string | null; text: string }): void =>
    give({ ...toAssistantEvent(line, streamed), content: streamed.text, wasStreamed: true });

  /** Texts of which only pieces came, and results whose tool use never came. */
  const giveWaiting = (): void => {
    for (const streamed of partials.release()) giveStreamed(streamed);
    for (const result of pairing.release()) give(result);
  };
  const giveOverdue = (timeMs: number): void => {
    for (const result of pairing.takeOverdue({ eventCount, timeMs })) give(result);
  };

  const readRun = (record: RunRecord): void => {
    figures.addRun(record);
    const { kind: _kind, ...run } = record;
    // A process that takes several turns repeats it for each of them.
    if (run.sessionId !== '' && run.sessionId === runSessionId) return;
    runSessionId = run.sessionId;
    give({ ...line, type: 'init', ...run });
  };

  const readTurnEnd = (record: TurnEndRecord): void => {
    giveWaiting();
    const costUsd = figures.endTurn(record);
    const { success, subtype, text, durationMs, usage } = record;
    const turnTokens = usage === undefined ? null : toTokenCounts(usage);
    give({ ...line, type: 'result', success, subtype, text, durationMs, tokens: turnTokens, costUsd });
  };

  const readPrompt = (prompt: Prompt): void => {
    if (prompt.toolUseId !== null) {
      if (promptedToolUses.has(prompt.toolUseId)) return;
      promptedToolUses.add(prompt.toolUseId);
      const [oldest] = promptedToolUses;
      if (promptedToolUses.size > MAX_PROMPTED_TOOL_USES && oldest !== undefined) promptedToolUses.delete(oldest);
    }
    give({ ...line, type: 'prompt', prompt });
  };

  const giveGeneric = (name: string, isKnown: boolean, text: string, isError: boolean): void =>
    give({ ...line, type: 'generic', name, isKnown, text, isError, message: { type: 'generic', original: value } });

  /** Consumers write events as JSON, which would overflow the stack. */
  const isTooDeep = (): boolean => {
    const isDeep = isNestedDeeperThan(value, MAX_STORED_JSON_DEPTH);
    if (isDeep) report('nesting_too_deep', `Nested deeper than ${MAX_STORED_JSON_DEPTH} levels`);
    return isDeep;
  };

  const readRecord = (record: TranscriptRecord): void => {
    switch (record.kind) {
      case 'message':
        if (record.type === 'assistant') giveAssistant(record);
        else if (record.type === 'user') giveUser(record);
        break;
      case 'usage':
        figures.addResponse(record);
        break;
      case 'session':
        figures.addSession(record);
        break;
      case 'run':
        readRun(record);
        break;
      case 'piece':
        readPiece(record);
        break;
      case 'turn-end':
        readTurnEnd(record);
        break;
      case 'prompt':
        if (!isTooDeep()) readPrompt(record.prompt);
        break;
      case 'notice':
        if (!isTooDeep()) giveGeneric(record.name, true, record.text, record.isError);
        break;
      case 'unknown':
        if (!isTooDeep()) giveGeneric(record.name, false, '', false);
        break;
      case 'event':
        // Its usage is part of the message's or notice's event.
        break;
    }
  };

  const takeEvents = (): StreamEvent[] => {
    const taken = events;
    events = [];
    return taken;
  };

  return {
    read(source: LiveLine) {
      receivedMs = now();
      figures.startLine(receivedMs);
      ({ byteOffset, value } = source);
      const { lineNumber, isLarge, byteLength } = source;
      line = { timestampMs: receivedMs, lineNumber, isLarge };
      if (warningsOfLine.size > 0) warningsOfLine.clear();
      const read = reader.read(value, { lineNumber, byteOffset, byteLength, arrivalMs: receivedMs });
      if (read.type === undefined) report('missing_type', 'Missing type field');
      line.timestampMs = read.timestampMs ?? receivedMs;
      for (const record of read.records) readRecord(record);
      giveOverdue(receivedMs);
      return takeEvents();
    },
    warn(warning) {
      figures.touch(now());
      return warn(warning);
    },
    poll() {
      giveOverdue(now());
      return takeEvents();
    },
    finish() {
      reader.finish?.();
      giveWaiting();
      return takeEvents();
    },
    toSummary: figures.toSummary,
  };
}

/** Whether the session can be rewound to the message. */
function isCheckpointMessage({ uuid, parentToolUseId, isSidechain, metadata }: MessageRecord): boolean {
  return (
    uuid !== null &&
    parentToolUseId === null &&
    !isSidechain &&
    metadata.isMeta !== true &&
    metadata.isCompactSummary !== true
  );
}

function toAssistantEvent(
  line: LineEvent,
  ids: { uuid?: string | null; messageId: string | null; parentToolUseId: string | null },
): AssistantEvent {
  const { uuid = null, messageId, parentToolUseId } = ids;
  return { ...line, type: 'assistant', uuid, messageId, parentToolUseId, isPartial: false, wasStreamed: false };
}

/** The input of a tool that the API or an MCP server runs. */
function toOtherInput({ metadata: { content } }: BlockContent) {
  return typeof content === 'object' && content !== null && !Array.isArray(content) ? (content.input ?? {}) : null;
}
