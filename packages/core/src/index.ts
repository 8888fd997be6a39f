export type { Agent, Format, Platform, SessionPlace } from './agents/agent.ts';
export { AGENTS } from './agents/agents.ts';
export type { IdentifyInput, TranscriptIdentity } from './agents/identify-transcript.ts';
export { IDENTIFY_HEAD_BYTES, identifyTranscript } from './agents/identify-transcript.ts';
export type { KnownFormat, RunnableAgent } from './agents/registry.ts';
export {
  DEFAULT_AGENT_ID,
  findFormat,
  findReadableFormat,
  isStreamFormat,
  READABLE_FORMATS,
  RUNNABLE_AGENTS,
} from './agents/registry.ts';
export type { TranscriptInput } from './input-chunks.ts';
export type { Issue, IssueCode, IssueSeverity } from './issues.ts';
export type { Arrival } from './lines/arrivals.ts';
export { MAX_ACTIVE_GAP_MS } from './messages/active-time.ts';
export type { ParseOptions } from './parse-options.ts';
export { DEFAULT_MAX_INLINE_CONTENT_BYTES } from './parse-options.ts';
export type { LineIssue, ParseResult } from './parse-transcript.ts';
export { parseTranscript } from './parse-transcript.ts';
export { flatDefaultPrices } from './pricing/flat-default-prices.ts';
export type { Price, PriceQuery, PriceTable } from './pricing/price-table.ts';
export { COST_UNITS_PER_USD } from './pricing/price-table.ts';
export { isDayOfMonth } from './records/timestamps.ts';
export { ResumeError } from './resume-error.ts';
export type {
  ApiResponse,
  CostByClass,
  JsonObject,
  JsonValue,
  MessageType,
  ParsedContentBlock,
  PriceBasis,
  PullRequestLink,
  ReportedTotals,
  SessionEvent,
  SessionEventKind,
  ToolCall,
  ToolKind,
  TranscriptMessage,
  TranscriptMetadata,
  TranscriptStats,
  UsageSource,
} from './rows.ts';
export { TOOL_KINDS } from './rows.ts';
export type { TranscriptBatch } from './stream-transcript.ts';
export { streamTranscript } from './stream-transcript.ts';
export type { TranscriptSummary } from './transcript-parser.ts';
export type { Usage } from './usage/usage.ts';
