import { homedir } from 'node:os';
import { findPlaces } from '@recount/collect/find-places';
import type { SessionPlace } from '@recount/core';
import { AGENTS } from '@recount/core/agents';
import type { FoundFile, StoredFile } from '@recount/usage';
import type { CliContext } from '../terminal/cli-context.ts';
import { type Found, type Listing, toDeniedFile, toLinkFile } from './found.ts';
import { toListing } from './remembered-report.ts';

export interface History {
  files: (FoundFile | StoredFile)[];
  listing: Listing | undefined;
}

/**
 * The transcripts below the paths, or those that the agents of this machine keep, and the sessions in agents'
 * databases. Throws UsageError for a path that does not exist.
 */
export async function findHistory(context: CliContext, paths: readonly string[]): Promise<History> {
  const found = await (paths.length > 0 ? findBelow(context, paths) : findOnMachine(context));
  const { listing } = found;
  const links = found.links.map(toLinkFile);
  if (found.databases.length === 0) return { files: [...found.transcripts, ...links], listing };
  const { addStored } = await import('./add-stored.ts');
  return { files: [...(await addStored(found)), ...links], listing };
}

/** Loads modules that most calls do not need. */
async function findBelow(context: CliContext, paths: readonly string[]): Promise<Found> {
  const { findBelow } = await import('./find-below.ts');
  return await findBelow(context, paths);
}

function findOnMachine({ environment }: CliContext): Found {
  const listedAtMs = Date.now();
  const machine = { platform: process.platform, environment, homeFolder: environment.HOME || homedir() };
  const places = AGENTS.flatMap((agent) => (agent.places ?? []).filter(mayHoldUsage));
  const foundPlaces = findPlaces(machine, places);
  const found = foundPlaces.map(({ index, ...each }) => ({ ...each, holds: places[index]?.holds }));
  const listOf = (kind: string) => found.filter(({ holds }) => holds === kind).flatMap(({ files }) => files);
  const transcripts = listOf('transcripts').map((file) => ({ ...file, isInPlace: true }));
  const denied = found.filter(({ holds }) => holds !== 'aside').flatMap((place) => place.denied);
  const text = toListing(foundPlaces, places, listedAtMs);
  return {
    transcripts: [...transcripts, ...denied.map(toDeniedFile)],
    databases: [...listOf('database'), ...listOf('folder')],
    links: found.filter(({ holds }) => holds !== 'aside').flatMap((place) => place.links),
    ...(text !== undefined && { listing: { places, text } }),
  };
}

/** Files that are `aside` hold none and are not transcripts, even if they match the pattern of one. */
const mayHoldUsage = ({ holds }: SessionPlace): boolean => holds !== 'attachments' && holds !== 'prompts';
