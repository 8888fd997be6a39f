import type * as FsPromises from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** The fate of unsynced changes when the power fails. */
export type UnsyncedFate =
  /** They are lost. Names are as of the last sync of their folder, content as of the last sync of the file. */
  | 'all lost'
  /** Names exist, because journaling file systems write them early; unsynced content does not. */
  | 'names kept, content lost'
  /** They all survive, because no code may rely on their being lost either. */
  | 'all kept';

interface ModelFile {
  kind: 'file';
  content: Buffer;
  synced: Buffer;
}

interface ModelFolder {
  kind: 'folder';
  entries: Map<string, ModelNode>;
  synced: Map<string, ModelNode>;
}

type ModelNode = ModelFile | ModelFolder;

/** The contents of a disk at one moment, by path. */
export type Survivors = Map<string, Buffer>;

export interface PowerCutModel {
  /** Replaces node:fs/promises. Passes calls through and records what is synced. */
  wrap(real: typeof FsPromises): typeof FsPromises;
  /** Forgets everything, and starts to record changes below `root`, which exists and is durable. */
  watch(root: string, onStep: () => void): void;
  /** The files that would remain below the root if the power failed now. */
  cut(fate: UnsyncedFate): Survivors;
}

const newFolder = (): ModelFolder => ({ kind: 'folder', entries: new Map(), synced: new Map() });

/**
 * A model of a disk with a cache. A file's content is durable once the file is synced, a name once its parent folder
 * is; folders are names as well. Calls `onStep` after every step that changes the disk or what it guarantees.
 */
export function createPowerCutModel(): PowerCutModel {
  let root = '';
  let tree = newFolder();
  let onStep: () => void = () => {};

  const isWatched = (path: string): boolean => root !== '' && (path === root || path.startsWith(`${root}/`));
  const find = (path: string): ModelNode | undefined => {
    let node: ModelNode | undefined = tree;
    for (const name of path.slice(root.length).split('/').filter(Boolean)) {
      node = node?.kind === 'folder' ? node.entries.get(name) : undefined;
    }
    return node;
  };
  const folderOf = (path: string): ModelFolder => {
    const folder = find(dirname(path));
    if (folder?.kind !== 'folder') throw new Error(`The model has no folder of ${path}`);
    return folder;
  };
  const nameOf = (path: string): string => path.slice(dirname(path).length + 1);
  const sync = (node: ModelNode | undefined): void => {
    if (node?.kind === 'file') node.synced = node.content;
    if (node?.kind === 'folder') node.synced = new Map(node.entries);
    onStep();
  };

  function wrapHandle(handle: FsPromises.FileHandle, node: ModelNode): FsPromises.FileHandle {
    const append = (bytes: Uint8Array): void => {
      if (node.kind !== 'file') return;
      node.content = Buffer.concat([node.content, bytes]);
      onStep();
    };
    const overrides: Partial<Record<keyof FsPromises.FileHandle, unknown>> = {
      async writeFile(chunks: Iterable<Uint8Array>) {
        for (const chunk of chunks) {
          await handle.writeFile(chunk);
          append(chunk);
        }
      },
      async sync() {
        await handle.sync();
        sync(node);
      },
      datasync: () => Promise.reject(new Error('The model does not know datasync')),
    };
    return new Proxy(handle, {
      get(target, name) {
        const value = Reflect.get(overrides, name) ?? Reflect.get(target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  }

  function wrap(real: typeof FsPromises): typeof FsPromises {
    const wrapped = {
      ...real,
      async open(path: string, flags: string | number, mode?: number) {
        const handle = await real.open(path, flags, mode);
        if (!isWatched(path)) return handle;
        if (flags === 'wx') {
          folderOf(path).entries.set(nameOf(path), { kind: 'file', content: Buffer.alloc(0), synced: Buffer.alloc(0) });
          onStep();
        }
        const node = find(path);
        return node === undefined ? handle : wrapHandle(handle, node);
      },
      async rename(from: string, to: string) {
        await real.rename(from, to);
        const node = find(from);
        if (node === undefined) return;
        folderOf(from).entries.delete(nameOf(from));
        folderOf(to).entries.set(nameOf(to), node);
        onStep();
      },
      async unlink(path: string) {
        await real.unlink(path);
        if (isWatched(path)) folderOf(path).entries.delete(nameOf(path));
        onStep();
      },
      async rm(path: string, options: object) {
        await real.rm(path, options);
        if (isWatched(path)) folderOf(path).entries.delete(nameOf(path));
        onStep();
      },
      async mkdir(path: string, options: { recursive: true; mode: number }) {
        const first = await real.mkdir(path, options);
        if (!isWatched(path)) return first;
        let folder = tree;
        for (const name of path.slice(root.length).split('/').filter(Boolean)) {
          const next = folder.entries.get(name) ?? newFolder();
          folder.entries.set(name, next);
          if (next.kind === 'folder') folder = next;
        }
        onStep();
        return first;
      },
    };
    return wrapped as unknown as typeof FsPromises;
  }

  function cut(fate: UnsyncedFate): Survivors {
    const survivors: Survivors = new Map();
    const visit = (folder: ModelFolder, path: string): void => {
      for (const [name, node] of fate === 'all lost' ? folder.synced : folder.entries) {
        if (node.kind === 'folder') visit(node, join(path, name));
        else survivors.set(join(path, name), fate === 'all kept' ? node.content : node.synced);
      }
    };
    visit(tree, '');
    return survivors;
  }

  return {
    wrap,
    watch(directory, callback) {
      root = directory;
      tree = newFolder();
      onStep = callback;
    },
    cut,
  };
}
