export type { RunnableAgent } from '../agents/formats.ts';
export { toToolInputSummary } from '../agents/tool-input-summary.ts';
export { cutText, toOneLine } from '../records/fields.ts';
export type { ConfirmationPrompt, Prompt, Question, QuestionPrompt } from '../records/records.ts';
export { type CheckpointOptions, type CheckpointRegistry, createCheckpointRegistry } from './checkpoints.ts';
export { extractResult, isComplete } from './completion.ts';
export type {
  AgentEvent,
  AgentExit,
  AgentPromptEvent,
  AgentResultEvent,
  AgentWarningEvent,
  CloseEvent,
  LiveEvent,
  ProgressEvent,
  SessionStartEvent,
  StreamOutcome,
  TextEvent,
  ToolEndEvent,
  ToolStartEvent,
  UnknownEvent,
} from './live-event.ts';
export {
  DEFAULT_LARGE_MESSAGE_BYTES,
  DEFAULT_MAX_BUFFER_BYTES,
  type LiveLine,
  LiveLineDecoder,
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
export { toCloseEvent, toStreamOutcome } from './stream-outcome.ts';
export {
  createStreamParser,
  type ErrorEvent,
  type ParserEvent,
  type StreamParser,
  type StreamParserEvents,
  type StreamParserOptions,
  type StreamState,
} from './stream-parser.ts';
export type { StreamSummary } from './stream-summary.ts';
export { MAX_WAIT_MS } from './tool-pairing.ts';
