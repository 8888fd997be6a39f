import { execFile } from 'node:child_process';
import { chown, mkdtemp, open, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** A separate disk that can be filled. */
export interface SmallDisk {
  directory: string;
  /** Writes until the disk is full. */
  fill(): Promise<void>;
  /** Restores its size, and removes what `fill` wrote. */
  free(): Promise<void>;
  unmount(): Promise<void>;
}

const run = promisify(execFile);
const BLOCK_BYTES = 64 * 1024;
const SLACK_BYTES = 1024 * 1024;
const SHRINK_ATTEMPTS = 20;

/** Mounts an in-memory file system that belongs to `uid`. Undefined, with a printed note, if mounting is refused. */
export async function mountSmallDisk(sizeBytes: number, uid = 0): Promise<SmallDisk | undefined> {
  const directory = await mkdtemp(join(tmpdir(), 'recount-small-disk-'));
  try {
    await run('mount', ['-t', 'tmpfs', '-o', `size=${sizeBytes},mode=0700`, 'tmpfs', directory]);
  } catch (error) {
    await rm(directory, { recursive: true });
    const { stderr = '' } = error as { stderr?: string };
    console.log(
      `not tested with a disk that is full, as mounting one is refused: ${stderr.trim() || 'no mount command'}`,
    );
    return undefined;
  }
  await chown(directory, uid, uid);
  const ballast = join(directory, 'ballast');
  return {
    directory,
    async fill() {
      await shrink(directory);
      const file = await open(ballast, 'a');
      for (let blockBytes = BLOCK_BYTES; blockBytes >= 512; blockBytes /= 2) {
        while (await append(file, Buffer.alloc(blockBytes)));
      }
      await file.close();
    },
    async free() {
      await resize(directory, sizeBytes);
      await rm(ballast, { force: true });
    },
    async unmount() {
      // Lazily, because a process that is just exiting may still hold a file.
      await run('umount', ['--lazy', directory]);
      await rm(directory, { recursive: true });
    },
  };
}

const resize = async (directory: string, sizeBytes: number): Promise<void> => {
  await run('mount', ['-o', `remount,size=${sizeBytes}`, directory]);
};

/**
 * Shrinks the file system to little free space, because filling a large disk would take as much memory. Refused if more
 * has been written than would remain.
 */
async function shrink(directory: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const { blocks, bfree, bsize } = await statfs(directory);
    const isTooSmall = bfree * bsize <= SLACK_BYTES;
    if (isTooSmall) return;
    try {
      return await resize(directory, (blocks - bfree) * bsize + SLACK_BYTES);
    } catch (error) {
      if (attempt === SHRINK_ATTEMPTS) throw error;
    }
  }
}

async function append(file: Awaited<ReturnType<typeof open>>, bytes: Buffer): Promise<boolean> {
  try {
    await file.writeFile(bytes);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return false;
    throw error;
  }
}
