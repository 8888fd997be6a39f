import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { addHookNote, createSpoolFolder, type SpoolFolder, toBaseFolders, watchFolders } from '@recount/collect';
import { AGENTS } from '@recount/core';
import { takeProcessLock } from '@recount/local-postgres/process-lock';
import { createBackoff } from '@recount/service/retry';
import { requireConnection, toCollectorFolder } from '../connection/connection.ts';
import { type CliContext, note } from '../terminal/cli-context.ts';
import { CliError, toExit } from '../terminal/cli-error.ts';
import { showNotRead } from './connection-plan.ts';
import { toMachine, toSenderCommand } from './this-machine.ts';

/** Files that change within this time are sent together. */
const GATHER_MS = 5000;
/** The interval of the search for newly installed agents. */
const REFRESH_MS = 10 * 60_000;
/** Pauses after a sender could not send everything. */
const PAUSES = { firstMs: 2 * 60_000, longestMs: 10 * 60_000 };
/** Databases do not show the changed session. They are searched at most this often. */
const DATABASE_PAUSE_MS = 60_000;

/** Runs `recount watch` as a separate program. Returns its exit code. */
export async function runWatch(context: CliContext): Promise<number> {
  try {
    await watchSessions(context);
    return 0;
  } catch (error) {
    const { exitCode, message } = await toExit(error, context.environment);
    if (message !== '') note(context, `recount: ${message}`);
    return exitCode;
  }
}

/**
 * Waits for changes of this machine's sessions and starts senders. It holds no file content, so it stays small and
 * idle, and its notes survive it. Resolves when it is interrupted. Throws CliError if another watcher is running.
 */
export async function watchSessions(context: CliContext): Promise<void> {
  await requireConnection(context);
  const folder = toCollectorFolder(context);
  await createSpoolFolder(folder);
  const lock = takeProcessLock(folder.watchLock);
  if (lock === undefined) throw new CliError('Another `recount watch` is running.');
  const signal = context.listenForInterruption();
  const sender = createSenderLoop(context, signal);
  const changes = new GatheredChanges(context, folder, sender);
  const { transcripts, databases } = listWatched(context);
  const onLimit = (): void =>
    note(context, 'The system allows no more file watchers. Changes in some folders are found once a day.');
  const onDenied = (folder: string): void => note(context, `No permission to read ${folder}: nothing in it is sent.`);
  const watches = await Promise.all([
    watchFolders(transcripts, {
      onFile: (path) => changes.addFile(path),
      onLimit,
      onDenied,
    }),
    watchFolders(databases, {
      onFile: () => changes.addDatabase(),
      onLimit,
      onDenied,
    }),
  ]);
  const count = watches.reduce((sum, { folderCount }) => sum + folderCount, 0);
  note(context, `Watching ${count} folders for changes; Ctrl-C ends it.`);
  await showNotRead(context);
  // Finds what changed while no watcher was running.
  sender.run('--sweep');
  const refresh = setInterval(() => {
    for (const watched of watches) void watched.refresh();
  }, REFRESH_MS);
  try {
    if (!signal.aborted) await once(signal, 'abort');
  } finally {
    clearInterval(refresh);
    changes.stop();
    for (const watched of watches) watched.close();
    lock.release();
  }
}

/** Changes that a sender has not been told of yet. */
class GatheredChanges {
  readonly #context: CliContext;
  readonly #folder: SpoolFolder;
  readonly #sender: SenderLoop;
  readonly #files = new Set<string>();
  #hasDatabaseChanged = false;
  #timer: NodeJS.Timeout | undefined;
  #dueAtMs = Number.POSITIVE_INFINITY;

  constructor(context: CliContext, folder: SpoolFolder, sender: SenderLoop) {
    this.#context = context;
    this.#folder = folder;
    this.#sender = sender;
  }

  addFile(path: string): void {
    this.#files.add(path);
    this.#flushWithin(GATHER_MS);
  }

  addDatabase(): void {
    this.#hasDatabaseChanged = true;
    this.#flushWithin(DATABASE_PAUSE_MS);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  /** Further changes do not postpone it, because an agent may write for hours. */
  #flushWithin(delayMs: number): void {
    if (performance.now() + delayMs >= this.#dueAtMs) return;
    this.#dueAtMs = performance.now() + delayMs;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#dueAtMs = Number.POSITIVE_INFINITY;
      void this.#flush().catch((error: Error) => note(this.#context, `recount: ${error.message}`));
    }, delayMs);
  }

  async #flush(): Promise<void> {
    for (const path of this.#files) await addHookNote(this.#folder, 'watch', path);
    this.#files.clear();
    if (this.#hasDatabaseChanged) await addHookNote(this.#folder, 'watch');
    this.#hasDatabaseChanged = false;
    this.#sender.run();
  }
}

interface SenderLoop {
  run(option?: string): void;
}

/** Runs senders, one after another, and again after a while if sessions are still waiting. */
function createSenderLoop({ environment }: CliContext, signal: AbortSignal): SenderLoop {
  const [program, ...commandArguments] = toSenderCommand();
  let isRunning = false;
  let isWanted = false;
  const backoff = createBackoff(PAUSES);
  let pause: NodeJS.Timeout | undefined;
  const run = (option?: string): void => {
    isWanted = isRunning;
    // New notes wait too. Without a network, an agent that writes for hours must not start a sender each time.
    if (isRunning || pause !== undefined || signal.aborted) return;
    isRunning = true;
    const words = option === undefined ? commandArguments : [...commandArguments, option];
    const child = spawn(program, words, { stdio: 'ignore', env: environment, windowsHide: true });
    const end = (hasSentAll: boolean): void => {
      isRunning = false;
      if (hasSentAll) {
        backoff.reset();
        if (isWanted) run();
        return;
      }
      pause = setTimeout(() => {
        pause = undefined;
        run();
      }, backoff.next()).unref();
    };
    child.on('error', () => end(false));
    child.on('exit', (code) => end(code === 0));
  };
  return { run };
}

/**
 * The places of the readable agents' sessions; for databases also the files that SQLite writes beside them, for folders
 * the head.
 */
function listWatched(context: CliContext) {
  const machine = toMachine(context);
  const places = AGENTS.flatMap(({ places = [] }) => places)
    .filter(({ listed }) => listed === undefined)
    .flatMap((place) => toBaseFolders(place, machine).map((folder) => ({ place, folder })));
  const listOf = (kind: string, toPattern: (file: string) => string) =>
    places
      .filter(({ place }) => place.holds === kind)
      .flatMap(({ place, folder }) => place.files.map((file) => ({ folder, pattern: toPattern(file) })));
  return {
    transcripts: [...listOf('transcripts', (file) => file), ...listOf('attachments', (file) => file)],
    databases: [...listOf('database', (file) => `${file}*`), ...listOf('folder', (file) => file)],
  };
}
