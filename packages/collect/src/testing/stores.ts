import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { identifyTranscript, type ParseResult, parseTranscript } from '@recount/core';
import { expect, onTestFinished } from 'vitest';
import { listNotRead } from '../read/open-store.ts';
import { readSessions } from '../read/read-sessions.ts';

/** A folder with databases, removed after the test. */
export async function createStores() {
  const folder = await mkdtemp(join(tmpdir(), 'recount-stores-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return {
    folder,
    async create(name: string, sql: string): Promise<DatabaseSync> {
      const path = join(folder, name);
      await mkdir(dirname(path), { recursive: true });
      const database = new DatabaseSync(path);
      onTestFinished(() => database.close());
      // A test need not survive a power failure.
      database.exec('PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF');
      database.exec(sql);
      return database;
    },
    /** The sessions of the store as they are read, and the reasons for unread parts. */
    async read(name: string) {
      const path = join(folder, name);
      const sessions = new Map<string, ParseResult & { text: string; agent: string }>();
      const failures: string[] = [];
      for await (const item of readSessions([path])) {
        if (item.kind === 'failed') failures.push(item.error.message);
        if (item.kind !== 'transcript') continue;
        const text = (await (await item.open()).toArray()).join('');
        const { agent, format, sessionId = '' } = identifyTranscript({ path: item.path, head: Buffer.from(text) });
        const parsed = await parseTranscript(sessionId, text, { format });
        sessions.set(sessionId, { ...parsed, text, agent: agent ?? '' });
      }
      expect((await listNotRead([path])).map(({ reason }) => reason)).toEqual(failures);
      return { sessions, failures };
    },
  };
}

/** Responses and their tokens. */
export const countTokens = ({ apiResponses: rows }: ParseResult) => ({
  n: rows.length,
  in: rows.reduce((sum, row) => sum + row.tokens_in, 0),
  out: rows.reduce((sum, row) => sum + row.tokens_out, 0),
  read: rows.reduce((sum, row) => sum + row.cache_read, 0),
  written: rows.reduce((sum, row) => sum + row.cache_write, 0),
});

export const listIssues = ({ errors, warnings, notices }: ParseResult): string[] =>
  [...errors, ...warnings, ...notices].map(({ code, error }) => `${code}: ${error}`);
