import { AGENTS, type Agent } from '@recount/core';
import { SourceError } from '@recount/storage/sources';
import { openPromptHistory } from './prompt-history.ts';
import { isSessionHead, openSessionFolder } from './session-folder.ts';
import { isSqliteFile, openSqliteStore, type SessionStore } from './session-store.ts';

/**
 * True if the path's sessions are not read as a transcript. It is a database, or the head of a session in many files.
 */
export async function isSessionStore(path: string): Promise<boolean> {
  return isSessionHead(path) || (await isSqliteFile(path));
}

/** Rejects with a SourceError if the path is no agent's store, or cannot be read. */
export async function openSessionStore(path: string, agents: readonly Agent[] = AGENTS): Promise<SessionStore> {
  return (
    openSessionFolder(path, agents) ?? (await openPromptHistory(path, agents)) ?? (await openSqliteStore(path, agents))
  );
}

/** A database that is not read, or not completely, or a link that is not followed. */
export interface NotRead {
  path: string;
  reason: string;
}

/** Which of the agents' stores are not read completely, or not at all. */
export async function listNotRead(paths: readonly string[]): Promise<NotRead[]> {
  const found: NotRead[] = [];
  for (const path of paths) {
    const error = await openSessionStore(path).then(
      (store) => {
        store.close();
        return store.notRead;
      },
      (error: unknown) => {
        if (error instanceof SourceError) return error;
        throw error;
      },
    );
    if (error !== undefined) found.push({ path, reason: error.message });
  }
  return found;
}
