export type { RunnableAgent } from '../agents/formats.ts';
export { toToolInputSummary } from '../agents/tool-input-summary.ts';
export { cutText, toOneLine } from '../records/fields.ts';
export type { ConfirmationPrompt, Prompt, Question, QuestionPrompt } from '../records/records.ts';
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
} from './agent-events.ts';
export { type CheckpointOptions, type CheckpointRegistry, createCheckpointRegistry } from './checkpoints.ts';
export { extractResult, isComplete } from './completion.ts';
export {
  createLiveLineDecoder,
  DEFAULT_LARGE_MESSAGE_BYTES,
  DEFAULT_MAX_BUFFER_BYTES,
  type LiveLine,
  type LiveLineDecoder,
  type LiveLineDecoderOptions,
  type LiveLineHandlers,
  type LiveWarning,
  type LiveWarningCode,
} from './live-line-decoder.ts';
export { createTextTail, type TextTail } from './live-text.ts';
export {
  type AgentParser,
  type AgentParserOptions,
  agentOf,
  outputFlags,
  parserFor,
  withOutputFlags,
} from './parser-for.ts';
export type {
  AssistantEvent,
  GenericEvent,
  GenericMessage,
  InitEvent,
  LineEvent,
  PromptEvent,
  ResultEvent,
  StreamEvent,
  ToolResultEvent,
  ToolUse,
  UserEvent,
  WarningEvent,
} from './stream-event.ts';
export {
  type CloseEvent,
  createStreamParser,
  type ErrorEvent,
  type ParserEvent,
  type StreamParser,
  type StreamParserEvents,
  type StreamParserOptions,
  type StreamState,
} from './stream-parser.ts';
export type { ByteReader } from './stream-reader.ts';
export {
  type AgentExit,
  addStreamTotals,
  type SessionTotals,
  type StreamOutcome,
  type StreamSummary,
  type TokenCounts,
  toStreamOutcome,
} from './stream-summary.ts';
export { MAX_WAIT_MS } from './tool-pairing.ts';
