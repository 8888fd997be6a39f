import { AGENTS, type Agent } from '@recount/core';
import { openPromptHistory } from './prompt-history.ts';
import { isSessionHead, openSessionFolder } from './session-folder.ts';
import { isSqliteFile, openSqliteStore, type SessionStore } from './session-store.ts';

/** Whether the path's sessions are not read as a transcript: a database, or the head of a session in many files. */
export async function isSessionStore(path: string): Promise<boolean> {
  return isSessionHead(path) || (await isSqliteFile(path));
}

/** Rejects with a SourceError if the path is no agent's store, or cannot be read. */
export async function openSessionStore(path: string, agents: readonly Agent[] = AGENTS): Promise<SessionStore> {
  return (
    openSessionFolder(path, agents) ?? (await openPromptHistory(path, agents)) ?? (await openSqliteStore(path, agents))
  );
}
