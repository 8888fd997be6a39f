export { type FoundSessions, findSessions, type Machine, toBaseFolders } from './find-sessions.ts';
export { type MatchedFile, matchFiles } from './match-files.ts';
export { findInStores, type ReadSessionsOptions, readSessions } from './read-sessions.ts';
export { openSessionMemory, type SessionMemory } from './session-memory.ts';
export { isSqliteFile, openSessionStore, type SessionStore, type StoredSession } from './session-store.ts';
export { toHookCommand, writeHookProgram } from './hooks/hook-program.ts';
export {
  applyHooks,
  type HookChange,
  type InstalledHooks,
  listHookFiles,
  planHooks,
  removeHooks,
} from './hooks/hook-settings.ts';
export {
  type CollectorStatus,
  listChanged,
  listDatabases,
  type SendDependencies,
  type SendResult,
  sendSessions,
} from './send/send-sessions.ts';
export { type Disclosure, readHead } from './send/send-file.ts';
export { toUsageOnly } from './send/usage-only.ts';
export {
  DeliveryError,
  type SessionDelivery,
  type SessionReceipt,
  type SessionTarget,
} from './send/session-target.ts';
export { openSentLog, type SentFile } from './spool/sent-log.ts';
export {
  createSpoolFolder,
  listWaiting,
  addHookNote,
  readHookNotes,
  readJson,
  type SpoolFolder,
  toSpoolFolder,
  writeWhole,
} from './spool/spool-folder.ts';
export { type FolderWatch, type WatchedPlace, watchFolders } from './watch-folders.ts';
