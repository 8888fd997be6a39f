import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  openSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { hostname } from 'node:os';

/**
 * Another process may already be running where only one is allowed, or the file system has no locks. The message says
 * what to do.
 */
export class ProcessLockError extends Error {
  override readonly name = 'ProcessLockError';
}

/** Identifies the process that took a lock. */
export interface LockHolder {
  /** Valid only in its PID namespace. */
  pid: number;
  hostName: string;
  /** Identifies this boot of the kernel. Linux only. */
  bootId?: string;
  /** Such as `pid:[4026531836]`. Linux only. */
  pidNamespace?: string;
}

export interface ProcessLock {
  /**
   * Child processes that inherit this descriptor hold the lock as well, and so do their children. The lock is free when
   * the last of them is gone, however it ended. Windows does not pass descriptors on. There only this process holds it.
   */
  fd: number;
  /** Closes this process's descriptor. Idempotent. */
  release(): void;
  /** Deletes the file, then releases the lock. */
  remove(): void;
}

/** Locks part of a file without waiting; by default, or with length 0, the whole file. Throws an error with a code. */
interface FileLocks {
  tryLock(fd: number, offset: number, lengthBytes: number, options: { shared: boolean }): boolean;
}

/**
 * On Windows, locked bytes cannot be read, not even to see who holds the lock, so a byte after the note is locked.
 */
const LOCKED_PART =
  process.platform === 'win32' ? { offset: 1024 * 1024, lengthBytes: 1 } : { offset: 0, lengthBytes: 0 };

/** For file systems without locks, such as some network mounts and FUSE file systems. */
const unsupportedCodes = ['ENOLCK', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EINVAL'];

/** Loaded on demand. It is native code that most commands never need. It has no types . */
function loadFileLocks(): FileLocks {
  try {
    return createRequire(import.meta.url)('fs-native-extensions') as FileLocks;
  } catch (cause) {
    const platform = `${process.platform}-${process.arch}`;
    throw new ProcessLockError(
      `File locks are not available, because fs-native-extensions does not load on ${platform}.`,
      {
        cause,
      },
    );
  }
}

function tryLock(fileLocks: FileLocks, fd: number, path: string, options = { shared: false }): boolean {
  try {
    return fileLocks.tryLock(fd, LOCKED_PART.offset, LOCKED_PART.lengthBytes, options);
  } catch (cause) {
    const { code = '' } = cause as NodeJS.ErrnoException;
    if (!unsupportedCodes.includes(code)) throw cause;
    throw new ProcessLockError(
      `The file system of ${path} has no file locks (${code}), without which two servers could write the same data. ` +
        'Put RECOUNT_DATA_DIR on a local disk.',
      { cause },
    );
  }
}

function readIfThere(read: () => string): string | undefined {
  try {
    return read();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'EACCES') return undefined;
    throw error;
  }
}

/** This process. */
export function describeSelf(): LockHolder {
  if (process.platform !== 'linux') return { pid: process.pid, hostName: hostname() };
  const bootId = readIfThere(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim());
  const pidNamespace = readIfThere(() => readlinkSync('/proc/self/ns/pid'));
  return {
    pid: process.pid,
    hostName: hostname(),
    ...(bootId !== undefined && { bootId }),
    ...(pidNamespace !== undefined && { pidNamespace }),
  };
}

/**
 * Locks a file, which is created if it does not exist, and writes a note in it about the holder. Undefined if it is
 * locked. The kernel keeps the lock across PID namespaces and containers, and only as long as the processes that hold
 * it.
 * @throws ProcessLockError if the file system has no locks
 */
export function takeProcessLock(path: string, fileLocks = loadFileLocks()): ProcessLock | undefined {
  const fd = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600);
  try {
    if (!tryLock(fileLocks, fd, path) || !isStillThere(path, fd)) {
      closeSync(fd);
      return undefined;
    }
    // Truncated after writing, because on a full disk, the existing block is reused.
    const lengthBytes = writeSync(fd, `${JSON.stringify(describeSelf())}\n`, 0);
    ftruncateSync(fd, lengthBytes);
  } catch (error) {
    closeSync(fd);
    throw error;
  }
  let isOpen = true;
  const release = () => {
    if (isOpen) closeSync(fd);
    isOpen = false;
  };
  const remove = () => {
    rmSync(path, { force: true });
    release();
  };
  return { fd, release, remove };
}

/** True if the file has not just been deleted by its holder. Others would then lock another file. */
function isStillThere(path: string, fd: number): boolean {
  const [there, open] = [statSync(path, { throwIfNoEntry: false }), fstatSync(fd)];
  return there?.ino === open.ino && there.dev === open.dev;
}

/**
 * True if any process holds the lock. Checking takes a shared lock for a moment, so code that takes the lock itself
 * must retry.
 */
export function isProcessLockHeld(path: string): boolean {
  const fd = openIfThere(path);
  if (fd === undefined) return false;
  try {
    return !tryLock(loadFileLocks(), fd, path, { shared: true });
  } finally {
    closeSync(fd);
  }
}

function openIfThere(path: string): number | undefined {
  try {
    return openSync(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * The last holder of the lock, whether or not it still holds it. Undefined if there was none, or the holder is just
 * taking it.
 */
export function readLockHolder(path: string): LockHolder | undefined {
  try {
    const value = JSON.parse(readIfThere(() => readFileSync(path, 'utf8')) ?? '') as Partial<LockHolder> | null;
    return Number.isSafeInteger(value?.pid) && typeof value?.hostName === 'string' ? (value as LockHolder) : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** True if this process can see the holder, i.e. its process id means the same process here. */
export function isVisible(holder: LockHolder, self = describeSelf()): boolean {
  const isSameKernel = self.bootId === undefined ? holder.hostName === self.hostName : holder.bootId === self.bootId;
  return isSameKernel && holder.pidNamespace === self.pidNamespace;
}

/** Tells people where to find the holder. */
export function describeHolder(holder: LockHolder | undefined): string {
  if (holder === undefined) return 'a process that left no note of itself';
  const { pid, hostName, bootId, pidNamespace } = holder;
  const details = [bootId && `boot ${bootId}`, pidNamespace && `PID namespace ${pidNamespace}`].filter(Boolean);
  return `process ${pid} on host ${hostName}${details.length === 0 ? '' : ` (${details.join(', ')})`}`;
}
