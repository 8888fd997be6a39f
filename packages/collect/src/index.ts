export { listMissingFolders, removeEmptyFolders } from './created-folders.ts';
export { type FoundSessions, findSessions, type Machine, toBaseFolders } from './find-sessions.ts';
export { toHookCommand, writeHookProgram } from './hooks/hook-program.ts';
export {
  applyHooks,
  type HookChange,
  type InstalledHooks,
  listHookFiles,
  planHooks,
  removeHooks,
} from './hooks/hook-settings.ts';
export { isInPlace } from './in-place.ts';
export { type MatchedFile, matchFiles, toNameTest } from './match-files.ts';
export { isSessionStore, listNotRead, type NotRead, openSessionStore } from './open-store.ts';
export { isPromptHistory } from './prompt-history.ts';
export { findInStores, type ReadSessionsOptions, readSessions } from './read-sessions.ts';
export { type Disclosure, discloseAttachment, readHead } from './send/send-file.ts';
export {
  type CollectorStatus,
  listChanged,
  listDatabases,
  listLinks,
  type SendDependencies,
  type SendResult,
  sendSessions,
} from './send/send-sessions.ts';
export {
  type AttachmentDelivery,
  type AttachmentReceipt,
  DeliveryError,
  type SessionDelivery,
  type SessionReceipt,
  type SessionTarget,
} from './send/session-target.ts';
export { toUsageOnly } from './send/usage-only.ts';
export { isSessionPart } from './session-folder.ts';
export { openSessionMemory, type SessionMemory } from './session-memory.ts';
export type { SessionStore, StoredSession } from './session-store.ts';
export { openSentLog, type SentFile } from './spool/sent-log.ts';
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
export { type FolderWatch, type WatchedPlace, watchFolders } from './watch-folders.ts';
