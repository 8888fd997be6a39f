export { type FoundSessions, findSessions, type Machine, toBaseFolders } from './find-sessions.ts';
export { type MatchedFile, matchFiles } from './match-files.ts';
export { type ReadSessionsOptions, readSessions } from './read-sessions.ts';
export { openSessionMemory, type SessionMemory } from './session-memory.ts';
export { isSqliteFile, openSessionStore, type SessionStore, type StoredSession } from './session-store.ts';
