import { homedir } from 'node:os';
import { sep } from 'node:path';
import { type FoundSessions, findSessions, listNotRead, type NotRead, openSessionStore } from '@recount/collect';
import { AGENTS } from '@recount/core';
import { ask } from '../terminal/ask.ts';
import { type CliContext, note, print, printJson } from '../terminal/cli-context.ts';
import { CliError, UsageError } from '../terminal/cli-error.ts';
import { formatBytes, formatCount } from '../terminal/format-values.ts';
import { toPrintWidth } from '../terminal/print-width.ts';
import { formatTable } from '../terminal/table.ts';

const MAX_NAMED_LINKS = 10;

interface FindOptions {
  /** Ids of agents; empty means all. */
  agent: readonly string[];
}

/** The sessions that the agents on this machine have stored. Throws UsageError for an unknown agent. */
export async function findOnMachine(context: CliContext, { agent: ids }: FindOptions): Promise<FoundSessions[]> {
  const unknown = ids.find((id) => !AGENTS.some((agent) => agent.id === id));
  if (unknown !== undefined) {
    throw new UsageError(`No agent ${unknown}: recount knows ${AGENTS.map(({ id }) => id).join(', ')}.`);
  }
  const machine = {
    platform: process.platform,
    environment: context.environment,
    homeFolder: toHomeFolder(context),
  };
  return findSessions(
    machine,
    AGENTS.filter(({ id }) => ids.length === 0 || ids.includes(id)),
  );
}

/** True if the place holds sessions, rather than files beside them. */
function holdsSessions({ place }: FoundSessions): boolean {
  return place.holds !== 'aside';
}

/** Prints the places with their sessions and sizes. */
export async function showFound(context: CliContext, found: readonly FoundSessions[], asJson: boolean): Promise<void> {
  const counted = await Promise.all(
    found.map(async (place) => ({
      ...place,
      sessionCount: await countSessions(place),
      notRead: place.place.holds === 'database' ? await listNotRead(place.files.map(({ path }) => path)) : [],
    })),
  );
  if (asJson) printJson(context, { places: counted.map(toJson) });
  else if (counted.length === 0) note(context, 'No sessions found.');
  else for (const line of toTable(context, counted)) print(context, line);
  for (const path of found.flatMap(({ denied }) => denied)) note(context, `No permission to read ${path}`);
  noteLinks(context, found);
  for (const { path, reason } of counted.flatMap(({ notRead }) => notRead)) {
    note(context, `Not read: ${path} (${reason}).`);
  }
}

/** Names the links that are not followed. */
function noteLinks(context: CliContext, found: readonly FoundSessions[]): void {
  const links = found.flatMap(({ links }) => links);
  for (const path of links.slice(0, MAX_NAMED_LINKS))
    note(context, `Not followed: ${path}, a symbolic link. Name its target with recount backfill FOLDER.`);
  const rest = links.length - MAX_NAMED_LINKS;
  if (rest > 0) note(context, `Not followed: ${formatCount(rest)} more (--list --json names them all).`);
}

interface CountedSessions extends FoundSessions {
  /** Undefined if a database cannot be read. */
  sessionCount: number | undefined;
  /** Databases that are not read, or not completely. */
  notRead: readonly NotRead[];
}

/** Sub-agents with their own files or rows count as sessions. */
async function countSessions({ agent, place, files }: FoundSessions): Promise<number | undefined> {
  if (place.holds === 'aside' || place.holds === 'attachments') return 0;
  if (place.holds === 'transcripts' || place.holds === 'folder') return files.length;
  let count = 0;
  for (const { path } of files) {
    const store = await openSessionStore(path, [agent]).catch(() => undefined);
    if (store === undefined) return undefined;
    count += store.listSessions().length;
    store.close();
  }
  return count;
}

function toJson(found: CountedSessions) {
  const { agent, place, folder, files, denied, links, sessionCount, notRead, sizeBytes } = found;
  return {
    agent: agent.id,
    holds: place.holds,
    ...(place.what !== undefined && { what: place.what }),
    folder,
    sessions: sessionCount ?? null,
    files: files.length,
    bytes: sizeBytes,
    ...(denied.length > 0 && { denied }),
    ...(links.length > 0 && { links }),
    ...(notRead.length > 0 && { not_read: notRead }),
    readable: holdsSessions(found),
  };
}

function toTable(context: CliContext, found: readonly CountedSessions[]): string[] {
  const columns = [
    { header: 'AGENT' },
    { header: 'SESSIONS', align: 'right' },
    { header: 'SIZE', align: 'right' },
    { header: 'WHERE', minWidth: 20, keeps: 'end' },
  ] as const;
  const rows = found.map((place) => [
    place.agent.label,
    place.sessionCount === undefined ? '?' : formatCount(place.sessionCount),
    formatBytes(place.sizeBytes),
    toShownFolder(context, place) + toRemark(place),
  ]);
  return formatTable(columns, rows, toPrintWidth(context));
}

/**
 * The readable files, once the user has agreed, by prompt or `--yes`. Undefined if the user declines. Throws CliError
 * if there is nothing, UsageError if there is no terminal for the prompt.
 */
export async function confirmFound(
  context: CliContext,
  found: readonly FoundSessions[],
  { isConfirmed, asJson }: { isConfirmed: boolean; asJson: boolean },
): Promise<string[] | undefined> {
  const paths = toImportedPaths(found);
  if (isConfirmed || asJson) noteLinks(context, found.filter(holdsSessions));
  if (paths.length === 0) {
    if (!isConfirmed && !asJson) noteLinks(context, found.filter(holdsSessions));
    throw new CliError(`${NOTHING_FOUND} Name files or folders.`);
  }
  if (isConfirmed) return paths;
  if (!asJson) await showFound(context, found, false);
  if (!canAsk(context)) {
    throw new UsageError('To import all of them, run `recount backfill --yes`, or name files and folders.');
  }
  if (await askToImport(context, found, { isDefault: false })) return paths;
  note(context, 'Nothing was ingested.');
  return undefined;
}

export const NOTHING_FOUND = `No sessions found. recount looked for sessions of ${AGENTS.filter(
  ({ places }) => places !== undefined,
)
  .map(({ label }) => label)
  .join(', ')}.`;

/**
 * The files to import, the last written first. Includes those without permission: they fail when they are read, are
 * then listed and counted, and affect the exit code.
 */
export function toImportedPaths(found: readonly FoundSessions[]): string[] {
  const readable = found.filter(holdsSessions);
  const files = readable.flatMap(({ files }) => files).sort((a, b) => b.modifiedAtMs - a.modifiedAtMs);
  return [...files.map(({ path }) => path), ...readable.flatMap(({ denied }) => denied)];
}

/** True if a person can answer a question. */
export function canAsk({ stdin, stderr }: CliContext): boolean {
  return Boolean(stdin.isTTY && stderr.isTTY);
}

/** True if the person agrees; Enter alone is `isDefault`. Throws an AbortError if interrupted. */
export async function askToImport(
  context: CliContext,
  found: readonly FoundSessions[],
  { isDefault }: { isDefault: boolean },
): Promise<boolean> {
  const readable = found.filter(holdsSessions);
  const count = toImportedPaths(readable).length;
  const files = count === 1 ? 'this file' : `these ${formatCount(count)} files`;
  const size = formatBytes(readable.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0));
  const question = `Import ${files} (${size})? ${isDefault ? '[Y/n]' : '[y/N]'} `;
  const answer = await ask(context, question);
  return answer === '' ? isDefault : /^y(es)?$/i.test(answer ?? '');
}

function toRemark(found: FoundSessions): string {
  if (found.place.holds === 'attachments') return ' (files stored with transcripts)';
  if (holdsSessions(found)) return '';
  return ` (${found.place.what ?? 'beside the sessions'}: not imported)`;
}

function toHomeFolder({ environment }: CliContext): string {
  return environment.HOME || environment.USERPROFILE || homedir();
}

/** The common folder of the place's files, with `~` for the home folder. */
function toShownFolder(context: CliContext, { files, denied, links }: FoundSessions): string {
  const paths = [...files.map(({ path }) => path), ...denied, ...(files.length + denied.length > 0 ? [] : links)].map(
    (path) => path.split(sep),
  );
  const [first = []] = paths;
  const isShared = (index: number): boolean => paths.every((path) => path[index] === first[index]);
  const end = first.findIndex((_part, index) => !isShared(index));
  const shared = first.slice(0, end === -1 ? first.length : end).join(sep);
  const home = toHomeFolder(context);
  return shared === home || shared.startsWith(home + sep) ? `~${shared.slice(home.length)}` : shared;
}
