import { readFileSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import type { JsonObject, SessionPlace } from '@recount/core';
import { parseForeignJson } from '@recount/core/foreign-json';
import { type MatchedFile, matchFiles } from './match-files.ts';

/** The machine to search. */
export interface Machine {
  /** A value of `process.platform`. */
  platform: string;
  environment: Readonly<Record<string, string | undefined>>;
  homeFolder: string;
}

export interface FoundPlace {
  /** Index of the place. */
  index: number;
  /** The place's base folder, absolute. */
  folder: string;
  files: MatchedFile[];
  /**
   * Folders, and files in them, that may not be read for lack of permission. If these are all, there are no `files`.
   */
  denied: string[];
  /** Symbolic links among them, to files or folders, which are not followed. */
  links: string[];
}

/** The places that hold something on this machine. Knows no agents, so that it loads fast. */
export function findPlaces(machine: Machine, places: readonly SessionPlace[]): FoundPlace[] {
  const seen = new Set<string>();
  return places.flatMap((place, index) =>
    toBaseFolders(place, machine)
      .map((folder) => ({ index, folder, ...listNewFiles(folder, place, seen) }))
      .filter(({ files, denied, links }) => files.length + denied.length + links.length > 0),
  );
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
): Pick<FoundPlace, 'files' | 'denied' | 'links'> {
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
