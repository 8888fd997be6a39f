import { existsSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';
import { join } from 'node:path';
import {
  createSpoolFolder,
  type InstalledHooks,
  readJson,
  removeEmptyFolders,
  type SpoolFolder,
  toSpoolFolder,
  writeWhole,
} from '@recount/collect';
import { toDataDirectory } from '../data-directory/data-directory.ts';
import type { CliContext } from '../terminal/cli-context.ts';
import { CliError } from '../terminal/cli-error.ts';

/** The server that this machine sends its sessions to. Readable only by its owner, because it contains the key. */
export interface Connection {
  url: string;
  key: string;
  machine: string;
  person: string | null;
  /** Working directories whose sessions are not sent, including everything below. */
  excludes: string[];
  /** Those for whose sessions only the usage is sent; absent if there are none. */
  usageOnly?: string[];
  /** True if secrets are removed before anything is sent. */
  redacts?: boolean;
  /** Budgets that the agents' users are warned of, or that stop agents, by name; absent if there are none. */
  budgets?: { name: string; action: 'warn' | 'stop' }[];
  /** The changes made to agents' settings. */
  hooks: InstalledHooks[];
  /** The command that those hooks call; null without hooks. */
  hookCommand: string | null;
  /** Folders created for this; absent in connections of 0.3. */
  madeFolders?: string[];
  connectedAt: string;
}

export function toCollectorFolder(context: CliContext): SpoolFolder {
  return toSpoolFolder(join(toDataDirectory(context).path, 'collector'));
}

const toConnectionPath = (folder: SpoolFolder): string => join(folder.path, 'connection.json');

export function hasConnection(context: CliContext): boolean {
  return existsSync(toConnectionPath(toCollectorFolder(context)));
}

export async function readConnection(context: CliContext): Promise<Connection | undefined> {
  return await readJson<Connection>(toConnectionPath(toCollectorFolder(context)));
}

/** Throws CliError if the machine is not connected. */
export async function requireConnection(context: CliContext): Promise<Connection> {
  const connection = await readConnection(context);
  if (connection === undefined) throw new CliError('This machine is not connected. Run `recount connect <url>`.');
  return connection;
}

export async function writeConnection(context: CliContext, connection: Connection): Promise<void> {
  const folder = toCollectorFolder(context);
  await createSpoolFolder(folder);
  await writeWhole(toConnectionPath(folder), `${JSON.stringify(connection, null, 2)}\n`);
}

/**
 * Removes the connection, everything the collector keeps, and the folders created for it that are empty now. Files that
 * recount did not make stay.
 */
export async function deleteCollector(context: CliContext, { madeFolders = [] }: Connection): Promise<void> {
  const { deleteOwnFiles, isCollectorFile } = await import('../data-directory/own-files.ts');
  await deleteOwnFiles({ path: toCollectorFolder(context).path, isOwn: isCollectorFile });
  await removeEmptyFolders(madeFolders);
}

/** The operating system's names for the machine and the user. */
export function suggestNames(): { machine: string; person: string } {
  return { machine: hostname().replace(/\.(local|lan)$/, ''), person: userInfo().username };
}
