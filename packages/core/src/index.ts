export type { Agent, Format } from './agents/agent.ts';
export {
  ATTACHMENT_KINDS,
  type AttachmentKind,
  type AttachmentReference,
} from './agents/agent.ts';
export { AGENTS } from './agents/agents.ts';
export {
  findAttachmentReference,
  identifyAttachment,
  type KnownAttachment,
  toAttachmentKind,
} from './agents/attachments.ts';
export type { CanonicalHeader } from './agents/canonical-lines.ts';
export {
  describeRefusal,
  IDENTIFY_HEAD_BYTES,
  type IdentifyInput,
  identifyTranscript,
  type Refusal,
  type TranscriptIdentity,
} from './agents/identify-transcript.ts';
export {
  DEFAULT_AGENT_ID,
  FORMATS_WITHOUT_USAGE,
  findAgentFormat,
  findFormat,
  isRewrittenFormat,
  isStreamFormat,
  type KnownFormat,
  outranks,
  RUNNABLE_AGENTS,
  type RunnableAgent,
} from './agents/registry.ts';
export { isNewSessionId, isSessionId, MAX_SESSION_ID_LENGTH, SESSION_ID_RULE } from './agents/session-id.ts';
export type {
  Platform,
  PromptHistory,
  SessionBlobs,
  SessionDatabase,
  SessionFolder,
  SessionHeadTable,
  SessionPlace,
  SessionTable,
} from './agents/session-places.ts';
export type { TranscriptInput } from './input-chunks.ts';
export { type Issue, type IssueCode, type IssueSeverity, isTranscriptIssue, NOTICE_CODES } from './issues.ts';
export { readUncutLength } from './lines/cut-mark.ts';
export { parseForeignJson } from './lines/json-line.ts';
export { hasMoreValues, MAX_LINE_VALUES } from './lines/json-values.ts';
export { createLineSplitter } from './lines/line-splitter.ts';
export { MAX_ACTIVE_GAP_MS } from './messages/active-time.ts';
export { type Arrival, DEFAULT_MAX_INLINE_CONTENT_BYTES, type ParseOptions } from './parse-options.ts';
export { type LineIssue, type ParseResult, parseTranscript } from './parse-transcript.ts';
export {
  COST_UNITS_PER_USD,
  flatDefaultPrices,
  type Price,
  type PriceQuery,
  type PriceTable,
} from './pricing/price-table.ts';
export { isDayOfMonth } from './records/timestamps.ts';
export { ResumeError } from './resume-error.ts';
export {
  type ApiResponse,
  type CostByClass,
  type JsonObject,
  type JsonValue,
  type MessageType,
  type ParsedContentBlock,
  type PriceBasis,
  type PullRequestLink,
  type ReportedTotals,
  type RequestTokens,
  type SessionEvent,
  type SessionEventKind,
  TOOL_KINDS,
  type ToolCall,
  type ToolKind,
  type TranscriptMessage,
  type TranscriptMetadata,
  type TranscriptStats,
  UNKNOWN_MODEL,
  type UsageSource,
} from './rows.ts';
export { streamTranscript, type TranscriptBatch } from './stream-transcript.ts';
export { type ClockOffset, createLocalClock, type LocalClock, toLocalClock } from './time-zones/local-clock.ts';
export type { TranscriptSummary } from './transcript-parser.ts';
export {
  CREDIT_ORDER,
  type CreditFact,
  DISAGREEMENT_RULES,
  type DisagreementRule,
  FIGURE_ORDER,
  type FigureFact,
  MAX_COMPLETED_TOKENS_OUT,
  MAX_COPY_TIME_APART_MS,
  MAX_PLACEHOLDER_TOKENS_OUT,
  type OrderKey,
  toComparison,
} from './usage/copy-rules.ts';
export { isTermName, type Usage } from './usage/usage.ts';
export type { UsageScan, UsageScanner, UsageScannerOptions } from './usage/usage-scanner.ts';
export { createUsageScanner } from './usage/usage-scanner.ts';
