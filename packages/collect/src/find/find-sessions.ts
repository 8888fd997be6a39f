import { readFileSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import { type Agent, type JsonObject, parseForeignJson, type SessionPlace } from '@recount/core';
import { AGENTS } from '@recount/core/agents';
import { type MatchedFile, matchFiles } from './match-files.ts';

/** The machine to search. */
export interface Machine {
  /** A value of `process.platform`. */
  platform: string;
  environment: Readonly<Record<string, string | undefined>>;
  homeFolder: string;
}

/** Sessions of one agent in one of its places. */
export interface FoundSessions {
  agent: Agent;
  place: SessionPlace;
  /** The place's base folder, absolute. */
  folder: string;
  files: MatchedFile[];
  /**
   * Folders, and files in them, that may not be read for lack of permission. If these are all, there are no `files`.
   */
  denied: string[];
  /** Symbolic links among them, to files or folders, which are not followed. */
  links: string[];
  sizeBytes: number;
}

/**
 * The places of agents that hold sessions on this machine, in the order of the agents. A file that matches several
 * patterns or bases is found once. Opens no files.
 */
export function findSessions(machine: Machine, agents: readonly Agent[] = AGENTS): FoundSessions[] {
  const found: FoundSessions[] = [];
  const seen = new Set<string>();
  for (const agent of agents) {
    for (const place of agent.places ?? []) {
      for (const folder of toBaseFolders(place, machine)) {
        const { files, denied, links } = listNewFiles(folder, place, seen);
        const sizeBytes = files.reduce((sum, file) => sum + file.sizeBytes, 0);
        if (files.length + denied.length + links.length > 0)
          found.push({ agent, place, folder, files, denied, links, sizeBytes });
      }
    }
  }
  return found;
}

/** The folders that a place's patterns start from on this machine; they may not exist. */
export function toBaseFolders(place: SessionPlace, { platform, environment, homeFolder }: Machine): string[] {
  const [known = 'linux'] = (['darwin', 'win32'] as const).filter((name) => name === platform);
  if (place.platforms !== undefined && !place.platforms.includes(known)) return [];
  const named = place.variable === undefined ? '' : (environment[place.variable] ?? '');
  const folders = named
    .split(',')
    .map((folder) => folder.trim())
    .filter((folder) => folder !== '')
    .map((folder) => resolve(homeFolder, folder.replace(/^~(?=$|[\\/])/, homeFolder)));
  return folders.length > 0 ? folders : place.bases.map((base) => join(homeFolder, base));
}

function listNewFiles(
  folder: string,
  place: SessionPlace,
  seen: Set<string>,
): Pick<FoundSessions, 'files' | 'denied' | 'links'> {
  const files: MatchedFile[] = [];
  const denied: string[] = [];
  const links: string[] = [];
  const addTo = (paths: string[]) => (path: string) => {
    if (!seen.has(path)) paths.push(path);
    seen.add(path);
  };
  const listener = { onDenied: addTo(denied), onLink: addTo(links) };
  for (const pattern of place.files) {
    for (const matched of matchFiles(folder, pattern, listener)) {
      for (const file of toFiles(matched, place)) {
        if (seen.has(file.path)) continue;
        seen.add(file.path);
        files.push(file);
      }
    }
  }
  return { files, denied, links };
}

/** The file itself, or the files in the folders that it lists. */
function toFiles(file: MatchedFile, { listed }: SessionPlace): MatchedFile[] {
  if (listed === undefined) return [file];
  const files: MatchedFile[] = [];
  for (const folder of readListedFolders(file.path, listed)) {
    for (const found of matchFiles(folder, listed.file)) files.push(found);
  }
  return files;
}

function readListedFolders(path: string, { list, folder }: { list: string; folder: string }): string[] {
  try {
    const elements = (parseForeignJson(readFileSync(path, 'utf8')) as JsonObject | null)?.[list];
    const folders = Array.isArray(elements) ? elements.map((element) => (element as JsonObject | null)?.[folder]) : [];
    return folders.filter((name): name is string => typeof name === 'string' && isAbsolute(name));
  } catch {
    // An unreadable list lists nothing.
    return [];
  }
}
