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
export async function watchFolders(
  places: readonly WatchedPlace[],
  { onFile, onLimit, onDenied }: WatchListener,
): Promise<FolderWatch> {
  /** The pattern parts to match in each watched folder. */
  const folders = new Map<string, { watcher: FSWatcher; parts: Map<string, readonly string[]> }>();
  const denied = new Set<string>();
  let isLimited = false;

  const unwatch = (folder: string): void => {
    folders.get(folder)?.watcher.close();
    folders.delete(folder);
  };

  const openWatcher = (folder: string): FSWatcher | undefined => {
    try {
      const watcher = watch(folder, { persistent: true }, (_event, name) => {
        const known = folders.get(folder);
        if (known === undefined || name === null) return;
        for (const parts of known.parts.values()) void handle(folder, name, parts, { isNew: true });
      });
      watcher.on('error', () => unwatch(folder));
      return watcher;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (isDenial(error) && !denied.has(folder)) {
        denied.add(folder);
        onDenied(folder);
      }
      if ((code === 'ENOSPC' || code === 'EMFILE') && !isLimited) {
        isLimited = true;
        onLimit();
      }
      return undefined;
    }
  };

  /** Watches a folder for matches of a pattern's parts, and all folders below that may lead to some. */
  const enter = async (folder: string, parts: readonly string[], isNew: boolean, depth = 0): Promise<void> => {
    if (depth > MAX_DEPTH) return;
    let known = folders.get(folder);
    const key = parts.join('/');
    if (known?.parts.has(key)) return;
    const watcher = known?.watcher ?? openWatcher(folder);
    if (watcher === undefined) return;
    known ??= { watcher, parts: new Map() };
    folders.set(folder, known);
    known.parts.set(key, parts);
    for (const { name } of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
      await handle(folder, name, parts, { isNew, depth });
    }
  };

  const handle = async (
    folder: string,
    name: string,
    [part = '', ...rest]: readonly string[],
    { isNew, depth = 0 }: { isNew: boolean; depth?: number },
  ): Promise<void> => {
    const path = join(folder, name);
    if (part === '**') {
      await handle(folder, name, rest, { isNew, depth });
      const isFolder = (await stat(path).catch(() => undefined))?.isDirectory();
      if (isFolder) await enter(path, [part, ...rest], isNew, depth + 1);
      return;
    }
    if (!toNameTest(part)(name)) return;
    if (rest.length === 0 && !isNew) return;
    const stats = await stat(path).catch(() => undefined);
    if (stats === undefined) unwatch(path);
    else if (rest.length === 0 && stats.isFile()) onFile(path);
    else if (rest.length > 0 && stats.isDirectory()) await enter(path, rest, isNew, depth + 1);
  };

  const refresh = async (): Promise<void> => {
    for (const { folder, pattern } of places) await enter(folder, pattern.split('/'), false);
  };
  await refresh();
  return {
    refresh,
    get folderCount() {
      return folders.size;
    },
    close() {
      for (const folder of [...folders.keys()]) unwatch(folder);
    },
  };
}
