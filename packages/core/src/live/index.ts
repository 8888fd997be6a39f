export type {
  AgentEvent,
  AgentPromptEvent,
  AgentResultEvent,
  AgentWarningEvent,
  ProgressEvent,
  SessionStartEvent,
  TextEvent,
  ToolEndEvent,
  ToolStartEvent,
  UnknownEvent,
} from './agents/agent-event.ts';
export { outputFlags, withOutputFlags } from './agents/output-flags.ts';
export type { AgentName, AgentParser, AgentParserOptions } from './agents/parser-for.ts';
export { agentOf, parserFor } from './agents/parser-for.ts';
export type { CheckpointOptions, CheckpointRegistry } from './checkpoints.ts';
export { createCheckpointRegistry } from './checkpoints.ts';
export type { ChatMessage, GenericMessage, LiveMessage, ToolResultMessage, ToolUseMessage } from './classify-line.ts';
export { classifyLine } from './classify-line.ts';
export type { ConfirmationPrompt, Prompt, Question, QuestionPrompt } from './claude/prompts.ts';
export type {
  AssistantEvent,
  GenericEvent,
  InitEvent,
  LineEvent,
  PromptEvent,
  ResultEvent,
  StreamEvent,
  ToolResultEvent,
  ToolUse,
  UserEvent,
  WarningEvent,
} from './claude/stream-event.ts';
export type { FieldReport } from './coerce-fields.ts';
export { extractResult, isComplete } from './completion.ts';
export { cutText, toOneLine } from './cut-text.ts';
export type { LiveLine, LiveLineDecoder, LiveLineDecoderOptions, LiveLineHandlers } from './live-line-decoder.ts';
export { createLiveLineDecoder, DEFAULT_LARGE_MESSAGE_BYTES, DEFAULT_MAX_BUFFER_BYTES } from './live-line-decoder.ts';
export { parseLiveTimestampMs } from './live-timestamp.ts';
export type { LiveWarning, LiveWarningCode } from './live-warning.ts';
export type {
  CloseEvent,
  ErrorEvent,
  ParserEvent,
  StreamParser,
  StreamParserEvents,
  StreamParserOptions,
  StreamState,
} from './stream-parser.ts';
export { createStreamParser } from './stream-parser.ts';
export type { ByteReader } from './stream-reader.ts';
export type { AgentExit, SessionTotals, StreamOutcome, StreamSummary } from './stream-summary.ts';
export { addStreamTotals, toStreamOutcome } from './stream-summary.ts';
export type { TextTail } from './text-tail.ts';
export { createTextTail } from './text-tail.ts';
export type { TokenCounts } from './token-counts.ts';
export { toToolInputSummary } from './tool-input-summary.ts';
