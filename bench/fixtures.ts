import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A generated transcript on disk. */
export interface Fixture {
  /** Its size, such as `144MB`. */
  readonly name: string;
  readonly path: string;
  readonly bytes: number;
}

const generator = fileURLToPath(new URL('./generate-transcript.ts', import.meta.url));

/**
 * Generates in a separate process, because a process started later inherits its parent's peak memory in its own
 * measurement.
 * @throws {Error} if the generator fails
 */
export async function writeFixture(folder: string, name: string): Promise<Fixture> {
  const path = join(folder, `${name}.jsonl`);
  const file = await open(path, 'w');
  try {
    const child = spawn(process.execPath, [generator, '--bytes', name, '--seed', '1'], {
      stdio: ['ignore', file.fd, 'inherit'],
    });
    const [exitCode] = await once(child, 'exit');
    if (exitCode !== 0) throw new Error(`the transcript generator ended with exit code ${exitCode}`);
  } finally {
    await file.close();
  }
  return { name, path, bytes: (await stat(path)).size };
}
