export type { Agent, Format } from './agents/agent.ts';
export {
  ATTACHMENT_KINDS,
  type AttachmentKind,
  type AttachmentReference,
} from './agents/agent.ts';
export { AGENTS } from './agents/all-agents.ts';
export {
  findAttachmentReference,
  identifyAttachment,
  type KnownAttachment,
  toAttachmentKind,
} from './agents/attachments.ts';
export type { CanonicalHeader } from './agents/canonical-lines.ts';
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
} from './agents/formats.ts';
export {
  describeRefusal,
  IDENTIFY_HEAD_BYTES,
  type IdentifyInput,
  identifyTranscript,
  type Refusal,
  type TranscriptIdentity,
} from './agents/identify-transcript.ts';
export { readTelemetry } from './agents/read-telemetry.ts';
export { toResumeCommand } from './agents/resume-command.ts';
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
export { type TitleSources, toPromptTitle, toSessionTitle } from './agents/session-title.ts';
export type { TelemetryAttributes, TelemetryRecord, TelemetrySignal } from './agents/telemetry.ts';
export { createTranscriptHead, type TranscriptHead } from './agents/transcript-head.ts';
export { MAX_ACTIVE_GAP_MS, sumActiveGaps } from './assemble/active-time.ts';
export type { ScannedResponse } from './assemble/direct-responses.ts';
export { KINDS_OF_WORK, type KindOfWork } from './assemble/kind-of-work.ts';
export { flatDefaultPrices, type Price, type PriceQuery, type PriceTable } from './assemble/price-table.ts';
export { ResumeError } from './assemble/resume-error.ts';
export { toEarlierIdentities } from './bills/anthropic.ts';
export { BillError, type BillRow, type BillVendor } from './bills/bill.ts';
export { findBillVendor, toBilledModel } from './bills/billed-usage.ts';
export { findRegrouped, requireSameGroups } from './bills/find-regrouped.ts';
export { readBill } from './bills/read-bill.ts';
export { type ComparedCopy, type CopyDisagreement, compareCopies } from './ledger/compare-copies.ts';
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
} from './ledger/copy-rules.ts';
export {
  toKnownCost,
  toUsageFigures,
  toUsd,
  USAGE_SUMS,
  type UsageFigures,
  type UsageSums,
} from './ledger/usage-figures.ts';
export { readUncutLength } from './lines/cut-mark.ts';
export { type Issue, type IssueCode, type IssueSeverity, isTranscriptIssue, NOTICE_CODES } from './lines/issues.ts';
export type { JsonObject, JsonValue } from './lines/json.ts';
export { parseForeignJson } from './lines/json-line.ts';
export { hasMoreValues, MAX_LINE_VALUES } from './lines/json-values.ts';
export { createLineSplitter } from './lines/line-splitter.ts';
export { createDirectUsageScanner, type DirectUsageScanner } from './parse/direct-usage-scanner.ts';
export type { TranscriptInput } from './parse/input-chunks.ts';
export { type Arrival, DEFAULT_MAX_INLINE_CONTENT_BYTES, type ParseOptions } from './parse/parse-options.ts';
export { type LineIssue, type ParseResult, parseTranscript } from './parse/parse-transcript.ts';
export { streamTranscript, type TranscriptBatch } from './parse/stream-transcript.ts';
export type { TranscriptSummary } from './parse/transcript-parser.ts';
export type { UsageScan, UsageScanner, UsageScannerOptions } from './parse/usage-scanner.ts';
export { createUsageScanner } from './parse/usage-scanner.ts';
export { toRepositoryUrl } from './records/repository.ts';
export { foldWorktree, type RepositoryFacts, toRepositoryName } from './records/repository-name.ts';
export {
  type ApiResponse,
  COST_UNITS_PER_USD,
  type CostByClass,
  type MessageType,
  type ParsedContentBlock,
  type PriceBasis,
  type PullRequestLink,
  type ReportedTotals,
  type RequestTokens,
  type SessionEvent,
  type SessionEventKind,
  TOOL_KINDS,
  type TokenSums,
  type ToolCall,
  type ToolKind,
  type TranscriptMessage,
  type TranscriptMetadata,
  type TranscriptStats,
  UNKNOWN_MODEL,
  type UsageSource,
} from './records/rows.ts';
export { isDayOfMonth } from './records/timestamps.ts';
export { isTermName, type Usage } from './records/usage.ts';
export { type ClockOffset, createLocalClock, type LocalClock, toLocalClock } from './time-zones/local-clock.ts';
