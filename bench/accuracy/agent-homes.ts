import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** A transcript of the corpus, or of a conformance vector. */
export interface AgentFile {
  /** Relative to the archive, or to the home. */
  path: string;
  bytes: Buffer;
}

/** Writes an agent's transcripts to their usual places below a home. */
export type LayOut = (home: string, files: readonly AgentFile[]) => Promise<void>;

export const layOutClaudeCode: LayOut = async (home, files) => {
  for (const [index, { path, bytes }] of files.entries()) {
    const name = `${path.replaceAll(/[^\w-]/g, '_')}.jsonl`;
    await write(join(home, '.claude/projects', `project-${index}`, name), bytes);
  }
};

export const layOutCodex: LayOut = async (home, files) => {
  for (const [index, { path, bytes }] of files.entries()) {
    const name = path.split('/').at(-1) ?? '';
    await write(join(home, '.codex/sessions/2026/01/01', String(index), name), bytes);
  }
};

export const layOutCopilot: LayOut = async (home, files) => {
  for (const [index, { bytes }] of files.entries()) {
    await write(join(home, '.copilot/session-state', `session-${index}`, 'events.jsonl'), bytes);
  }
};

/** Conformance vectors have the paths of their agents. */
export const layOutAsNamed: LayOut = async (home, files) => {
  for (const { path, bytes } of files) await write(join(home, path), bytes);
};

interface OpencodeExport {
  info: { id: string; directory?: string; title?: string; time: { created: number; updated: number } };
  messages: { info: { id: string; sessionID: string; time: { created: number } } }[];
}

/**
 * `opencode export` has the content of the database. An id that the publisher blanked is replaced, because ids are keys
 * there.
 */
export const layOutOpencode: LayOut = async (home, files) => {
  const folder = join(home, '.local/share/opencode');
  await mkdir(folder, { recursive: true });
  const database = new DatabaseSync(join(folder, 'opencode.db'));
  database.exec(`
    CREATE TABLE session (id TEXT PRIMARY KEY, directory TEXT, title TEXT, time_created INTEGER, time_updated INTEGER);
    CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT);`);
  const addSession = database.prepare('INSERT INTO session VALUES (?, ?, ?, ?, ?)');
  const addMessage = database.prepare('INSERT INTO message VALUES (?, ?, ?, ?, ?)');
  for (const { bytes } of files) {
    const { info, messages }: OpencodeExport = JSON.parse(bytes.toString());
    addSession.run(info.id, info.directory ?? '', info.title ?? '', info.time.created, info.time.updated);
    for (const [index, message] of messages.entries()) {
      const { id, sessionID, ...data } = message.info;
      const key = id === 'REDACTED' ? `${info.id}-${index}` : id;
      const { created } = data.time;
      addMessage.run(key, info.id, created, created, JSON.stringify(data));
    }
  }
  database.close();
};

/** The files of a conformance vector. */
export async function readVector(id: string): Promise<AgentFile[]> {
  const path = resolve(import.meta.dirname, '../../docs/conformance', `${id}.json`);
  const { files }: { files: { path: string; lines?: unknown[]; document?: unknown }[] } = JSON.parse(
    await readFile(path, 'utf8'),
  );
  return files.map(({ path, lines, document }) => ({
    path,
    bytes: Buffer.from(lines?.map((line) => `${JSON.stringify(line)}\n`).join('') ?? JSON.stringify(document)),
  }));
}

async function write(path: string, bytes: Buffer): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, bytes);
}
