export {
  type AttachmentBackfillOptions,
  type AttachmentReport,
  backfillAttachments,
  isAttachmentPath,
} from './backfill/backfill-attachments.ts';
export type { BackfillOutcome, BackfillReport } from './backfill/backfill-report.ts';
export type { BackfillEvent } from './backfill/backfill-tally.ts';
export { type BackfillOptions, runBackfill } from './backfill/run-backfill.ts';
export { DeliveryError } from './deliver/delivery-error.ts';
export type {
  AttachmentDelivery,
  AttachmentReceipt,
  DeliveryTarget,
  StoredTranscript,
  TranscriptDelivery,
  TranscriptReceipt,
} from './deliver/delivery-target.ts';
export { decideAttachment, readHead, type SendDecision } from './deliver/send-file.ts';
export {
  type CollectorStatus,
  listChanged,
  listDatabases,
  listLinks,
  type SendDependencies,
  type SendResult,
  sendSessions,
} from './deliver/send-sessions.ts';
export { toUsageOnly } from './deliver/usage-only.ts';
export { type Machine, toBaseFolders } from './find/find-places.ts';
export { type FoundSessions, findSessions } from './find/find-sessions.ts';
export { isInPlace } from './find/in-place.ts';
export { matchFiles, toNameTest } from './find/match-files.ts';
export { readBeginning } from './find/read-beginning.ts';
export { watchFolders } from './find/watch-folders.ts';
export { listMissingFolders, removeEmptyFolders } from './hooks/created-folders.ts';
export { toBudgetHookCommand, toHookCommand, writeBudgetHookProgram, writeHookProgram } from './hooks/hook-program.ts';
export {
  applyHooks,
  type HookChange,
  type InstalledHooks,
  listHookFiles,
  type PromptHook,
  planHooks,
  removeHooks,
} from './hooks/hook-settings.ts';
export { isSessionStore, listNotRead, type NotRead, openSessionStore } from './read/open-store.ts';
export { isPromptHistory } from './read/prompt-history.ts';
export { findInStores, readSessions } from './read/read-sessions.ts';
export { isSessionPart } from './read/session-folder.ts';
export { openSessionMemory } from './read/session-memory.ts';
export { openSentLog } from './spool/sent-log.ts';
export {
  addHookNote,
  createSpoolFolder,
  listWaiting,
  readHookNotes,
  readJson,
  type SpoolFolder,
  toSpoolFolder,
  writeWhole,
} from './spool/spool-folder.ts';
