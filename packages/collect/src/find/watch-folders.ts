import { type FSWatcher, watch } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isDenial, toNameTest } from './match-files.ts';

/** Files to watch, as a folder and a pattern as for `matchFiles`. */
export interface WatchedPlace {
  folder: string;
  pattern: string;
}

export interface FolderWatch {
  /** Starts watching folders that did not exist before. Cheap if nothing is new. */
  refresh(): Promise<void>;
  /** Folders that are watched. */
  readonly folderCount: number;
  close(): void;
}

interface WatchListener {
  onFile(path: string): void;
  onLimit(): void;
  /** Called once for each folder that may not be read for lack of permission. It is skipped. */
  onDenied(folder: string): void;
}

/** No agent nests deeper, as in `matchFiles`. */
const MAX_DEPTH = 32;

/**
 * Calls `onFile` for each file of the places that is created or written to. Uses one watcher for each folder, none for
 * files, because thousands of sessions are in some hundred folders, and nothing runs until the kernel reports a change.
 * `onLimit` is called once if the kernel refuses more watchers. Changes in some folders then go unnoticed.
 */
export async function watchFolders(places: readonly WatchedPlace[], listener: WatchListener): Promise<FolderWatch> {
  const watch = new PlaceWatch(places, listener);
  await watch.refresh();
  return watch;
}

/** A match to look for: the name of an entry and what is left of the pattern there. */
interface Step {
  folder: string;
  name: string;
  parts: readonly string[];
  isNew: boolean;
  depth: number;
}

class PlaceWatch implements FolderWatch {
  readonly #places: readonly WatchedPlace[];
  readonly #listener: WatchListener;
  /** The pattern parts to match in each watched folder. */
  readonly #folders = new Map<string, { watcher: FSWatcher; parts: Map<string, readonly string[]> }>();
  readonly #denied = new Set<string>();
  #isLimited = false;

  constructor(places: readonly WatchedPlace[], listener: WatchListener) {
    this.#places = places;
    this.#listener = listener;
  }

  get folderCount(): number {
    return this.#folders.size;
  }

  async refresh(): Promise<void> {
    for (const { folder, pattern } of this.#places) await this.#enter(folder, pattern.split('/'), false, 0);
  }

  close(): void {
    for (const folder of [...this.#folders.keys()]) this.#unwatch(folder);
  }

  #unwatch(folder: string): void {
    this.#folders.get(folder)?.watcher.close();
    this.#folders.delete(folder);
  }

  #openWatcher(folder: string): FSWatcher | undefined {
    try {
      const watcher = watch(folder, { persistent: true }, (_event, name) => {
        const known = this.#folders.get(folder);
        if (known === undefined || name === null) return;
        for (const parts of known.parts.values()) void this.#match({ folder, name, parts, isNew: true, depth: 0 });
      });
      watcher.on('error', () => this.#unwatch(folder));
      return watcher;
    } catch (error) {
      this.#reportUnwatched(folder, error);
      return undefined;
    }
  }

  #reportUnwatched(folder: string, error: unknown): void {
    const { code } = error as NodeJS.ErrnoException;
    if (isDenial(error) && !this.#denied.has(folder)) {
      this.#denied.add(folder);
      this.#listener.onDenied(folder);
    }
    if ((code === 'ENOSPC' || code === 'EMFILE') && !this.#isLimited) {
      this.#isLimited = true;
      this.#listener.onLimit();
    }
  }

  /** Watches a folder for matches of a pattern's parts, and all folders below that may lead to some. */
  async #enter(folder: string, parts: readonly string[], isNew: boolean, depth: number): Promise<void> {
    if (depth > MAX_DEPTH) return;
    let known = this.#folders.get(folder);
    const key = parts.join('/');
    if (known?.parts.has(key)) return;
    const watcher = known?.watcher ?? this.#openWatcher(folder);
    if (watcher === undefined) return;
    known ??= { watcher, parts: new Map() };
    this.#folders.set(folder, known);
    known.parts.set(key, parts);
    for (const { name } of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
      await this.#match({ folder, name, parts, isNew, depth });
    }
  }

  async #match(step: Step): Promise<void> {
    const { isNew, depth } = step;
    const [part = '', ...rest] = step.parts;
    const path = join(step.folder, step.name);
    if (part === '**') {
      await this.#match({ ...step, parts: rest });
      const isFolder = (await stat(path).catch(() => undefined))?.isDirectory();
      if (isFolder) await this.#enter(path, step.parts, isNew, depth + 1);
      return;
    }
    if (!toNameTest(part)(step.name)) return;
    if (rest.length === 0 && !isNew) return;
    const stats = await stat(path).catch(() => undefined);
    if (stats === undefined) this.#unwatch(path);
    else if (rest.length === 0 && stats.isFile()) this.#listener.onFile(path);
    else if (rest.length > 0 && stats.isDirectory()) await this.#enter(path, rest, isNew, depth + 1);
  }
}
