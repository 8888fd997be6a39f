export type { ConfirmationPrompt, Prompt, Question, QuestionPrompt } from '../agents/records.ts';
export type { RunnableAgent } from '../agents/registry.ts';
export { toToolInputSummary } from '../agents/tool-input-summary.ts';
export { cutText, toOneLine } from '../records/cut-text.ts';
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
} from './agent-event.ts';
export type { CheckpointOptions, CheckpointRegistry } from './checkpoints.ts';
export { createCheckpointRegistry } from './checkpoints.ts';
export { extractResult, isComplete } from './completion.ts';
export type { LiveLine, LiveLineDecoder, LiveLineDecoderOptions, LiveLineHandlers } from './live-line-decoder.ts';
export { createLiveLineDecoder, DEFAULT_LARGE_MESSAGE_BYTES, DEFAULT_MAX_BUFFER_BYTES } from './live-line-decoder.ts';
export type { LiveWarning, LiveWarningCode } from './live-warning.ts';
export { outputFlags, withOutputFlags } from './output-flags.ts';
export type { AgentParser, AgentParserOptions } from './parser-for.ts';
export { agentOf, parserFor } from './parser-for.ts';
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
export { MAX_WAIT_MS } from './tool-pairing.ts';
