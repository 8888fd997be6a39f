import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Which version of each database session was delivered, so that a second run reads only what changed. Only a shortcut.
 * Without it everything is read and compared again.
 */
export interface SessionMemory {
  isUnchanged(location: string, version: string): boolean;
  /** Called before the session is read. */
  expect(location: string, version: string): void;
  /** Called when the expected session was delivered. Other locations are ignored. */
  confirm(location: string): void;
  /** Writes the memory if anything was confirmed. */
  save(): Promise<void>;
}

/** Reads the memory from a file; a missing or damaged file is an empty memory. */
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
    // The file does not exist or cannot be read, so everything is read again.
  }
  return new Map();
}
