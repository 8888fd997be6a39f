import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Which version of each session of a database was brought, so that a second run reads only what changed. It is a shortcut and no
 * truth: without it everything is read and compared again.
 */
export interface SessionMemory {
  isUnchanged(location: string, version: string): boolean;
  /** The session is about to be read. */
  expect(location: string, version: string): void;
  /** What was expected has arrived. Other locations are left alone. */
  confirm(location: string): void;
  /** Writes it down, if anything was confirmed. */
  save(): Promise<void>;
}

/** Reads what a file remembers; one that is not there, or is damaged, remembers nothing. */
export async function openSessionMemory(file: string): Promise<SessionMemory> {
  const known = await readKnown(file);
  const expected = new Map<string, string>();
  let hasChanged = false;
  return {
    isUnchanged: (location, version) => known.get(location) === version,
    expect: (location, version) => void expected.set(location, version),
    confirm(location) {
      const version = expected.get(location);
      if (version === undefined) return;
      expected.delete(location);
      known.set(location, version);
      hasChanged = true;
    },
    async save() {
      if (!hasChanged) return;
      await mkdir(dirname(file), { recursive: true, mode: 0o700 });
      const temporary = `${file}.${process.pid}.tmp`;
      await writeFile(temporary, JSON.stringify({ version: 1, sessions: Object.fromEntries(known) }), { mode: 0o600 });
      await rename(temporary, file);
      hasChanged = false;
    },
  };
}

async function readKnown(file: string): Promise<Map<string, string>> {
  try {
    const { version, sessions } = JSON.parse(await readFile(file, 'utf8')) as { version?: number; sessions?: object };
    if (version === 1 && typeof sessions === 'object') return new Map(Object.entries(sessions));
  } catch {
    // Nothing was remembered yet, or it cannot be read: everything is read again.
  }
  return new Map();
}
